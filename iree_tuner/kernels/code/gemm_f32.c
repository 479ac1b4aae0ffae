// Matrix multiplication and convolution with f32 sums: one workgroup's part. Operands and result are f32, f16 or bf16.
//
// A convolution with channels last is a matrix multiplication with gathered rows: a row of the left operand is a pixel's
// window. With channels first, the filters are the left operand, and the columns of the right one are windows (WINDOWS).
// Rows of the result are cut into tiles of ROWS, columns into tiles of VECTORS vectors, and the depth into parts of DEPTH.
// A tile of sums stays in registers for a part. A workgroup computes TILES tiles of rows by COLUMNS columns.
//
// PACK_LEFT copies the workgroup's rows, a part of the depth at a time, into scratch memory. Tiles may then cross lines of
// an image, and rows whose distance is a power of two do not evict each other. Without it, a tile is within one line.
// PACK_RIGHT copies a part of the right operand, one tile wide, to the stack. It stays in the L1 cache for all rows of the
// workgroup. Without it, the right operand is read in place.
//
// PACKED is for a right operand that was packed when the program was made, into consecutive tiles of WIDE columns. A tile
// has all rows of the depth. Missing columns of the last tile are zeros. While rows are computed with one tile, the next one
// is fetched into the cache, a line in each step: weights of a model come from memory.
//
// DOT sums along the depth in the lanes of a vector, and adds the lanes at the end. It is best for a few rows if the depth
// of the right operand is contiguous. A tile is then VECTORS columns wide, and nothing is packed.
//
// STREAM is for a few rows by a right operand that is larger than the caches and whose rows are contiguous. UNROLL of them
// are read at once, as many columns as the workgroup has, in place: memory delivers long runs faster than narrow tiles,
// and nothing has to be packed. The sums stay in the result, which is in the L1 cache.
//
// KEPT is for a narrow result whose sums take several parts of the depth: they stay in scratch memory until the last one.
//
// All sizes are macros, so that the compiler sees constants:
//   LINES, WIDTH, LINES_OF_IMAGE     lines of all images, pixels of a line, lines of one image
//   IMAGE, LINE, PIXEL               distances in the left operand for the next image, line and pixel, in elements
//   FILTERS, CHANNELS                columns of the result; depth at one position of the window
//   PLACES, PLACE_OFFSETS            positions of the window, and their offsets from the first one
//   RIGHT_ROW, RIGHT_COLUMN          strides of the right operand's rows and columns, in elements; one of them is 1
//   RESULT_ROW                       stride of the result's rows, in elements
//   BATCH_LEFT, BATCH_RIGHT, BATCH_RESULT   strides of products, in elements; a workgroup's z is its product
//   SWAPPED                          whether the first operand is the right one
//   WINDOW_WIDTH, WINDOW_LINE, WINDOW_PIXEL, WINDOW_CHANNEL, WINDOW_PLACES, WINDOW_OFFSETS   with WINDOWS: pixels of a
//                                    line of columns; distances in the right operand for the next line, pixel and channel,
//                                    in elements; positions of the window and their offsets
//   ROWS, VECTORS, COLUMNS, TILES, DEPTH, LANES, PACK_LEFT, PACK_RIGHT, PACKED, DOT, STREAM, UNROLL
//   STRIDE                           distance of the packed left operand's rows, in elements
//   KEPT_FROM                        with KEPT: where sums begin in the scratch memory, in elements
//   LEFT, RIGHT, RESULT              types of elements: float, f16, bf16
//   EXTRAS, STEPS                    see steps_f32.h

#include "vectors_f32.h"
#include "workgroups.h"
#include "steps_f32.h"

#if DOT
#define WIDE VECTORS
#define TAIL (FILTERS % WIDE)       /* columns of the last tile, if it is narrower */
#define TAIL_VECTORS TAIL
#define PART LANES
#else
#define WIDE (VECTORS * LANES)
#define TAIL (FILTERS % WIDE)
#define TAIL_VECTORS ((TAIL + LANES - 1) / LANES)
#define PART (FILTERS % LANES ? FILTERS % LANES : LANES) /* columns of the last vector */
#endif
#if PACK_LEFT
#define ALL_TILES ((LINES * WIDTH + ROWS - 1) / ROWS)
#define ROWS_LEFT (LINES * WIDTH % ROWS)
#define APART STRIDE
#else
#define ACROSS ((WIDTH + ROWS - 1) / ROWS)
#define ALL_TILES (LINES * ACROSS)
#define ROWS_LEFT (WIDTH % ROWS)
#define APART PIXEL
#endif
#define LINE_OF_CACHE (64 / (index)sizeof(RIGHT)) /* elements of the right operand */
#define TOGETHER (CHANNELS < DEPTH ? DEPTH / CHANNELS : 1) /* positions of the window in one part of the depth */

// What tiles read: packed operands are f32.
#if PACK_LEFT
typedef float of_left;
#else
typedef LEFT of_left;
#endif
#if PACK_RIGHT
typedef float of_right;
#else
typedef RIGHT of_right;
#endif

static const index offsets[PLACES] = {PLACE_OFFSETS};

ALWAYS index pixel_at(index line, index pixel) {
  return line / LINES_OF_IMAGE * IMAGE + line % LINES_OF_IMAGE * LINE + pixel * PIXEL;
}

// One tile. Its first element is at the offset `start` of the result, in the column `column`. Its last vector has `part`
// columns. With PACKED, the lines from `ahead` on are fetched. `sums_at` has the sums of the parts of the depth before.
ALWAYS void tile(const of_left *left, const of_right *right, const index right_row, extras given, RESULT *result,
                 float *sums_at, index start, index row, index column, index place, index places, index depth,
                 const int rows, const int vectors, const int part, int first, int last, const of_right *ahead) {
  vector sums[ROWS][VECTORS];
  ALL for (int r = 0; r < rows; r++) {
    __builtin_prefetch(result + start + r * RESULT_ROW, 1);
    ALL for (int v = 0; v < vectors; v++) sums[r][v] = all(0);
  }
  for (index p = place; p < place + places; p++) {
    const of_left *from = left + (PACK_LEFT ? (p - place) * depth : offsets[p]);
    TIMES(UNROLL) for (index k = 0; k < depth; k++) {
      vector across[VECTORS];
#if PACKED
      __builtin_prefetch(ahead, 0, 2);
      ahead += LINE_OF_CACHE;
#endif
      ALL for (int v = 0; v < vectors; v++)
        across[v] = load(right + v * LANES, PACK_RIGHT || PACKED || v + 1 < vectors ? LANES : part);
      ALL for (int r = 0; r < rows; r++) {
        const vector one = all(value(from + r * APART + k));
        ALL for (int v = 0; v < vectors; v++) sums[r][v] += one * across[v];
      }
      right += right_row;
    }
  }
  ALL for (int r = 0; r < rows; r++) {
    ALL for (int v = 0; v < vectors; v++) {
      const index at = start + r * RESULT_ROW + v * LANES;
      const int count = v + 1 < vectors ? LANES : part;
      vector sum = sums[r][v];
      if (!first) sum += load(sums_at + at, count);
      if (last)
        store(result + at, finished(sum, given, at, row + r, column + v * LANES, count), count);
      else
        store(sums_at + at, sum, count);
    }
  }
}

// One tile of DOT: `columns` rows of the transposed right operand.
ALWAYS void dots(const of_left *left, const of_right *right, extras given, RESULT *result, index start, index row,
                 index column, const int rows, const int columns) {
  vector sums[ROWS][VECTORS];
  ALL for (int r = 0; r < rows; r++)
    ALL for (int c = 0; c < columns; c++) sums[r][c] = all(0);
#define STEP_OF_DOTS(count)                                                             \
  vector down[ROWS];                                                                    \
  ALL for (int r = 0; r < rows; r++) down[r] = load(left + r * APART + k, count);       \
  ALL for (int c = 0; c < columns; c++) {                                               \
    const vector one = load(right + c * RIGHT_COLUMN + k, count);                       \
    ALL for (int r = 0; r < rows; r++) sums[r][c] += down[r] * one;                     \
  }
  index k = 0;
  TIMES(UNROLL) for (; k + LANES <= CHANNELS; k += LANES) { STEP_OF_DOTS(LANES) }
  if (CHANNELS % LANES) { STEP_OF_DOTS(CHANNELS % LANES) }
  ALL for (int r = 0; r < rows; r++) {
    const index at = start + r * RESULT_ROW;
    vector found = all(0);
    ALL for (int c = 0; c < columns; c++) found[c] = total(sums[r][c]);
    store(result + at, finished(found, given, at, row + r, column, columns), columns);
  }
}

#if STREAM
// Add the products of `depth` rows of the right operand to the sums of the columns from `column` to `stop`.
ALWAYS void sweep(const LEFT *left, const RIGHT *right, extras given, RESULT *result, float *sums_at, index column,
                  index stop, const int depth, const int first, const int last) {
#define STEP_OF_SWEEP(vectors, part)                                                                          \
  vector sums[ROWS][VECTORS];                                                                                 \
  ALL for (int v = 0; v < vectors; v++) {                                                                     \
    const int count = v + 1 < vectors ? LANES : part;                                                         \
    ALL for (int r = 0; r < ROWS; r++)                                                                        \
      sums[r][v] = first ? all(0) : load(sums_at + r * RESULT_ROW + column + v * LANES, count);               \
    ALL for (int k = 0; k < depth; k++) {                                                                     \
      const RIGHT *from = right + k * RIGHT_ROW + column + v * LANES;                                         \
      const vector across = load(from, count);                                                                \
      ALL for (int r = 0; r < ROWS; r++) sums[r][v] += all(value(left + r * APART + k)) * across;             \
    }                                                                                                         \
    ALL for (int r = 0; r < ROWS; r++) {                                                                      \
      const index at = r * RESULT_ROW + column + v * LANES;                                                   \
      const vector sum = sums[r][v];                                                                          \
      if (last)                                                                                               \
        store(result + at, finished(sum, given, at, r, column + v * LANES, count), count);                    \
      else                                                                                                    \
        store(sums_at + at, sum, count);                                                                      \
    }                                                                                                         \
  }
  for (; column + WIDE <= stop; column += WIDE) { STEP_OF_SWEEP(VECTORS, LANES) }
  if (TAIL && column < stop) { STEP_OF_SWEEP(TAIL_VECTORS, PART) }
}

// All rows by the columns from `column` to `stop`.
ALWAYS void stream(const LEFT *left, const RIGHT *right, extras given, RESULT *result, float *sums_at, index column,
                   index stop) {
  const int rest = (CHANNELS - 1) % UNROLL + 1;
  if (CHANNELS <= UNROLL) {
    sweep(left, right, given, result, sums_at, column, stop, rest, 1, 1);
    return;
  }
  sweep(left, right, given, result, sums_at, column, stop, UNROLL, 1, 0);
  index k = UNROLL;
  for (; k + UNROLL < CHANNELS; k += UNROLL)
    sweep(left + k, right + k * RIGHT_ROW, given, result, sums_at, column, stop, UNROLL, 0, 0);
  sweep(left + k, right + k * RIGHT_ROW, given, result, sums_at, column, stop, rest, 0, 1);
}
#endif

#if WINDOWS
static const index window_offsets[WINDOW_PLACES] = {WINDOW_OFFSETS};

// Pack rows of the right operand from `k` on, one tile of pixels wide. Pixels of a line are contiguous in a vector.
ALWAYS void pack_windows(const RIGHT *image, float *packed, index column, index k, index depth, const int vectors,
                         const int part) {
  const int wide = vectors * LANES, columns = wide - LANES + part;
  index where[WIDE];
  for (int c = 0; c < columns; c++) {
    const index pixel = column + c;
    where[c] = pixel / WINDOW_WIDTH * WINDOW_LINE + pixel % WINDOW_WIDTH * WINDOW_PIXEL;
  }
#if LANES == 16 && defined(__AVX512F__) && WINDOW_PIXEL == 1 && !NARROW_RIGHT
  // Pieces of vectors within one line: the lanes, and where the first element of the whole vector would be.
  struct { __mmask16 which; int first; index from; } pieces[WIDE];
  int count = 0;
  for (int c = 0; c < columns; c++) {
    if (c % LANES == 0 || where[c] != where[c - 1] + 1) {
      pieces[count].which = 0;
      pieces[count].first = c % LANES == 0;
      pieces[count++].from = where[c] - c % LANES;
    }
    pieces[count - 1].which |= (__mmask16)(1u << c % LANES);
  }
#endif
  index channel = k / WINDOW_PLACES, place = k % WINDOW_PLACES;
  for (index each = 0; each < depth; each++, packed += wide) {
    const RIGHT *from = image + channel * WINDOW_CHANNEL + window_offsets[place];
    if (++place == WINDOW_PLACES) place = 0, channel++;
#if LANES == 16 && defined(__AVX512F__) && WINDOW_PIXEL == 1 && !NARROW_RIGHT
    __m512 found = _mm512_setzero_ps();
    float *to = packed - LANES;
    for (int p = 0; p < count; p++) {
      if (pieces[p].first) {
        found = _mm512_setzero_ps();
        to += LANES;
      }
      found = _mm512_mask_loadu_ps(found, pieces[p].which, from + pieces[p].from);
      _mm512_store_ps(to, found);
    }
#else
    for (int c = 0; c < columns; c++) packed[c] = value(from + where[c]);
    for (int c = columns; c < wide; c++) packed[c] = 0;
#endif
  }
}
#endif

// Pack `depth` rows of the right operand, one tile wide.
ALWAYS void pack_right(const RIGHT *right, float *packed, index depth, const int vectors, const int part) {
  const int wide = vectors * LANES, columns = wide - LANES + part;
  if (RIGHT_COLUMN == 1) {
    for (index k = 0; k < depth; k++)
      ALL for (int v = 0; v < vectors; v++)
        *(vector *)(packed + k * wide + v * LANES) =
            load(right + k * RIGHT_ROW + v * LANES, v + 1 < vectors ? LANES : part);
    return;
  }
  index k = 0;
  for (; k + 16 <= depth; k += 16)  // a cache line at once
    for (int c = 0; c < columns / 4 * 4; c += 4)
      ALL for (int each = 0; each < 16; each += 4)
        turn(right + c * RIGHT_COLUMN + k + each, RIGHT_COLUMN, packed + (k + each) * wide + c, wide);
  for (int c = columns / 4 * 4; c < columns; c++)
    for (index each = 0; each < k; each++) packed[each * wide + c] = value(right + c * RIGHT_COLUMN + each);
  for (; k < depth; k++)
    for (int c = 0; c < columns; c++) packed[k * wide + c] = value(right + c * RIGHT_COLUMN + k);
  for (index each = 0; each < depth; each++)
    for (int c = columns; c < wide; c++) packed[each * wide + c] = 0;
}

// Pack the rows from `begin` to `end`, at all window positions of a part of the depth.
ALWAYS void pack_left(const LEFT *left, float *packed, index begin, index end, index place, index places, index k,
                      index depth) {
  for (index row = begin; row < end; row++, packed += STRIDE) {
    const LEFT *from = left + pixel_at(row / WIDTH, row % WIDTH) + k;
    float *to = packed;
    for (index p = place; p < place + places; p++, to += depth) {
      const LEFT *part = from + offsets[p];
      index each = 0;
      for (; each + LANES <= depth; each += LANES) *(vector *)(to + each) = load(part + each, LANES);
      for (; each < depth; each++) to[each] = value(part + each);
    }
  }
}

// All tiles of rows against a tile of columns.
ALWAYS void down(const of_left *left, const of_right *right, const index right_row, extras given, RESULT *result,
                 float *sums_at, index begin, index end, index column, index place, index places, index k, index depth,
                 const int vectors, const int part, int first, int last) {
  for (index t = begin; t < end; t++) {
#if PACK_LEFT
    const index row = t * ROWS, full = row + ROWS <= LINES * WIDTH;
    const of_left *from = left + (t - begin) * ROWS * STRIDE;
#else
    const index line = t / ACROSS, pixel = t % ACROSS * ROWS, row = line * WIDTH + pixel, full = pixel + ROWS <= WIDTH;
    const of_left *from = left + pixel_at(line, pixel) + k;
#endif
    const index start = row * RESULT_ROW + column;
#if DOT
    if (ROWS_LEFT == 0 || full)
      dots(from, right, given, result, start, row, column, ROWS, vectors);
    else
      dots(from, right, given, result, start, row, column, ROWS_LEFT, vectors);
#else
    const of_right *ahead = right + (index)WIDE * CHANNELS * PLACES + (t - begin) * places * depth * LINE_OF_CACHE;
    if (ROWS_LEFT == 0 || full)
      tile(from, right, right_row, given, result, sums_at, start, row, column, place, places, depth, ROWS, vectors, part, first,
           last, ahead);
    else
      tile(from, right, right_row, given, result, sums_at, start, row, column, place, places, depth, ROWS_LEFT, vectors, part,
           first, last, ahead);
#endif
  }
}

// A tile of columns, which PACK_RIGHT packs first.
ALWAYS void column_tile(const of_left *left, const RIGHT *right, extras given, RESULT *result, float *sums_at, index begin,
                        index end, index column, index place, index places, index k, index depth, const int vectors,
                        const int part, int first, int last) {
#if PACKED
  const RIGHT *from = right + column * CHANNELS * PLACES + (place * CHANNELS + k) * WIDE;
#else
  const RIGHT *from = right + (place * CHANNELS + k) * RIGHT_ROW + column * RIGHT_COLUMN;
#endif
#if PACK_RIGHT
  float packed[DEPTH * WIDE] __attribute__((aligned(64)));
#if WINDOWS
  pack_windows(right, packed, column, k, depth, vectors, part);
#else
  for (index p = 0; p < places; p++)
    pack_right(from + p * CHANNELS * RIGHT_ROW, packed + p * depth * vectors * LANES, depth, vectors, part);
#endif
  down(left, packed, vectors * LANES, given, result, sums_at, begin, end, column, place, places, k, depth, vectors, part,
       first, last);
#else
  down(left, from, PACKED ? WIDE : RIGHT_ROW, given, result, sums_at, begin, end, column, place, places, k, depth, vectors,
       part, first, last);
#endif
}

#define EXTRA(name) const type_of_##name *name,
#if PACK_LEFT || KEPT
#define SCRATCH float *scratch,
#else
#define SCRATCH
#endif
#if SWAPPED
typedef RIGHT of_one;
typedef LEFT of_other;
#else
typedef LEFT of_one;
typedef RIGHT of_other;
#endif
index ENTRY(const of_one *one, const of_other *other, EXTRAS RESULT *result, SCRATCH index x, index y, index z,
            unsigned worker) {
  TAKE(result)
#undef EXTRA
#define EXTRA(name) .name = name,
  extras given = {EXTRAS};
#if SWAPPED
  const LEFT *left = other + z * BATCH_LEFT;
  const RIGHT *right = one + z * BATCH_RIGHT;
#else
  const LEFT *left = one + z * BATCH_LEFT;
  const RIGHT *right = other + z * BATCH_RIGHT;
#endif
  result += z * BATCH_RESULT;
  if (given.residual) given.residual += z * BATCH_RESULT;
#if KEPT
  float *sums_at = scratch + KEPT_FROM + z * BATCH_RESULT;
#else
  float *sums_at = (float *)result;  // or nothing is stored there, as all of the depth is one part
#endif
  const index begin = y * TILES, end = begin + TILES < ALL_TILES ? begin + TILES : ALL_TILES;
  const index stop = (x + 1) * COLUMNS < FILTERS ? (x + 1) * COLUMNS : FILTERS;
#if STREAM
  stream(left, right, given, result, sums_at, x * COLUMNS, stop);
#else
  for (index place = 0; place < PLACES; place += TOGETHER)
    for (index k = 0; k < CHANNELS; k += DEPTH) {
      const index places = PLACES - place < TOGETHER ? PLACES - place : TOGETHER;
      const index depth = CHANNELS - k < DEPTH ? CHANNELS - k : DEPTH;
      const int first = place == 0 && k == 0, last = place + TOGETHER >= PLACES && k + DEPTH >= CHANNELS;
#if PACK_LEFT
      float *from = scratch + ((z * ((ALL_TILES + TILES - 1) / TILES) + y) * ((FILTERS + COLUMNS - 1) / COLUMNS) + x) * TILES * ROWS * STRIDE;
      const index rows = end * ROWS < LINES * WIDTH ? end * ROWS : LINES * WIDTH;
      pack_left(left, from, begin * ROWS, rows, place, places, k, depth);
#else
      const LEFT *from = left;
#endif
      index column = x * COLUMNS;
      for (; column + WIDE <= stop; column += WIDE)
        column_tile(from, right, given, result, sums_at, begin, end, column, place, places, k, depth, VECTORS, LANES, first,
                    last);
      if (TAIL && column < stop)
        column_tile(from, right, given, result, sums_at, begin, end, column, place, places, k, depth, TAIL_VECTORS, PART,
                    first, last);
    }
#endif
  return 0;
}
