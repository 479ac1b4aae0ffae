// Which workgroup a worker computes next. The runtime hands out numbers of workgroups in order, to whichever worker asks
// first, so that a worker rarely reads what it wrote in the dispatch before, and its cache has the wrong part. Here, each
// worker has its own range of the workgroups, the same part in each dispatch, and takes from others when it is done.
// Macros:
//   GROUPS_X, GROUPS_Y, GROUPS_Z   workgroups of a dispatch
//   WORKERS                        ranges; right numbers of workers are faster, but all are correct

#define GROUPS ((unsigned)(GROUPS_X) * (GROUPS_Y) * (GROUPS_Z))
#define RANGES (GROUPS < WORKERS ? GROUPS : WORKERS)
#define OPEN 8 /* dispatches that are kept apart when they run at the same time */

#if defined(__x86_64__) || defined(__i386__)
#define PAUSE __builtin_ia32_pause()
#elif defined(__aarch64__)
#define PAUSE __asm__ volatile("yield")
#else
#define PAUSE
#endif

// A dispatch that has begun, by its result: no two that run at the same time write to the same one.
typedef struct {
  const void *result;
  // Of each range, of all, and a bit for each number of the runtime's. They are volatile, for compilers to set them to 0
  // without a call of memset.
  volatile unsigned taken[WORKERS], all, asked[(GROUPS + 31) / 32];
} dispatch;

static dispatch open[OPEN];
static unsigned char in_order; // from the time when more dispatches ran: new ones keep the runtime's order
static unsigned char locked;

static void forget(dispatch *one) {
  one->all = 0;
  for (unsigned i = 0; i < RANGES; i++) one->taken[i] = 0;
  for (unsigned i = 0; i < (GROUPS + 31) / 32; i++) one->asked[i] = 0;
}

// The workgroup to compute instead of `own`. Each call takes one, and a dispatch makes as many calls as it has workgroups.
static index taken_by(const unsigned worker, const void *result, const index own) {
  index found = own;
  dispatch *mine = 0, *unused = 0;
  while (__atomic_exchange_n(&locked, 1, __ATOMIC_ACQUIRE))
    while (__atomic_load_n(&locked, __ATOMIC_RELAXED)) PAUSE;
  for (int i = 0; i < OPEN; i++) {
    if (open[i].result == result) mine = open + i;
    if (!open[i].result) unused = open + i;
  }
  in_order |= !mine && !unused; // for good: nobody counts whether a dispatch without an entry has ended
  if (!mine && !in_order) {
    mine = unused;
    mine->result = result;
  }
  if (mine) {
    const unsigned bit = 1u << own % 32;
    if (mine->asked[own / 32] & bit) forget(mine); // what is known is of a dispatch that the runtime gave up
    mine->asked[own / 32] |= bit;
    for (unsigned i = 0; i < RANGES; i++) {
      const unsigned range = (worker + i) % RANGES;
      const unsigned begin = (unsigned long)GROUPS * range / RANGES, end = (unsigned long)GROUPS * (range + 1) / RANGES;
      if (begin + mine->taken[range] < end) {
        found = begin + mine->taken[range]++;
        break;
      }
    }
    if (++mine->all == GROUPS) {
      mine->result = 0;
      forget(mine);
    }
  }
  __atomic_store_n(&locked, 0, __ATOMIC_RELEASE);
  return found;
}

#define TAKE(result)                                                                     \
  if (GROUPS > 1) {                                                                      \
    const index taken = taken_by(worker, result, x + (GROUPS_X) * (y + (GROUPS_Y) * z)); \
    x = taken % (GROUPS_X), y = taken / (GROUPS_X) % (GROUPS_Y), z = taken / ((index)(GROUPS_X) * (GROUPS_Y)); \
  }
