// Attention, computed in f32: one workgroup's queries over all keys, in blocks of KEYS keys. Arrays are f32, f16 or bf16.
//
// The scores of a block stay in the cache. The weighted sum of the values so far is kept in the result, or on the
// stack if that is narrow (KEPT). Each query has its highest score and its sum of weights (Milakov and Gimelshein, Online
// normalizer calculation for softmax, 2018).
// Queries are cut into tiles of ROWS, and a workgroup has TILES tiles. The keys of a block are copied so that WIDE keys
// are contiguous. With DOT they are read in place and multiplied along the depth, which is best for a few queries.
//
// All sizes are macros, so that the compiler sees constants:
//   QUERIES, KEYS_IN_ALL      number of queries and of keys
//   DEPTH, VALUES             elements of a query or key, and of a value
//   SCALE                     the factor of the scores, times log2(e)
//   CAP                       if it is given, the soft cap of scores, times log2(e); SCALE has a factor of 2 more
//   CAUSAL, AFTER             whether a query sees at most AFTER keys after its own position
//   BATCHES, SIZES            number of batch loops, and their sizes
//   Q_STEPS, K_STEPS, V_STEPS, OUT_STEPS   strides of the batch loops in each array, in elements
//   INPUTS                    the parameters that are read: as many as there are arrays, for queries, keys and values
//   Q_INPUT, Q_START, K_INPUT, K_START, V_INPUT, V_START   of these, which one has them, and where they begin in it
//   Q_ROW, Q_COLUMN, K_ROW, K_COLUMN, V_ROW, V_COLUMN, OUT_ROW   strides of rows and of columns, in elements
//   EARLIER                   keys in these arrays; if it is less than all, the others are in K_LATER_INPUT and
//                             V_LATER_INPUT, with the same macros as K and V
//   Q_TYPE, K_TYPE, V_TYPE, RESULT   types of elements: float, f16, bf16
//   ROWS, VECTORS, LANES, KEYS, TILES, PACK_VALUES, DOT, KEPT

#include "vectors_f32.h"
#include "workgroups.h"

#define WIDE (VECTORS * LANES)
#define ROWS_LEFT (QUERIES % ROWS)
#define ALL_TILES ((QUERIES + ROWS - 1) / ROWS)
#define ACROSS ((VALUES + LANES - 1) / LANES)           /* vectors of a value */
#define PART (VALUES % LANES ? VALUES % LANES : LANES)  /* elements of the last vector */
#define COLUMNS 4                                       /* with DOT, the keys at once */

// What tiles read: packed arrays are f32.
#if DOT
typedef K_TYPE of_keys;
#else
typedef float of_keys;
#endif
#if PACK_VALUES
typedef float of_values;
#else
typedef V_TYPE of_values;
#endif
#if KEPT
#define SUMS_ROW (ACROSS * LANES) /* stride of rows of the sums so far */
#else
#define SUMS_ROW OUT_ROW
#endif

static const index sizes[BATCHES] = {SIZES};
static const index q_steps[BATCHES] = {Q_STEPS}, k_steps[BATCHES] = {K_STEPS};
static const index v_steps[BATCHES] = {V_STEPS}, out_steps[BATCHES] = {OUT_STEPS};
#if EARLIER < KEYS_IN_ALL
static const index late_k_steps[BATCHES] = {K_LATER_STEPS}, late_v_steps[BATCHES] = {V_LATER_STEPS};
#endif

// 2^x for x <= 0; 0 below -126.5. The polynomial is from Cephes (exp2f.c, S. Moshier, 1992).
ALWAYS vector power(vector x) {
  x = larger(all(-127), x);
  const vector round = all(12582912.0f), whole = x + round; // 1.5 * 2^23: adding it rounds to an integer
  const vector left = x - (whole - round);
  vector found = all(1.535336188319500e-4f) * left + 1.339887440266574e-3f;
  found = found * left + 9.618437357674640e-3f;
  found = found * left + 5.550332471162809e-2f;
  found = found * left + 2.402264791363012e-1f;
  found = found * left + 6.931472028550421e-1f;
  found = found * left + 1.0f;
  const mask exponent = (mask)whole - (mask)round + 127;
  return found * (vector)(exponent << 23);
}

// Pack the keys of a block: groups of WIDE keys, each transposed, with zeros after the last key.
ALWAYS void pack_keys(const K_TYPE *keys, const index row, const index column, float *packed, index count) {
  for (index first = 0; first < count; first += WIDE, packed += DEPTH * WIDE) {
    const K_TYPE *from = keys + first * row;
    const index columns = count - first < WIDE ? count - first : WIDE;
    index c = 0;
    if (column == 1) {
      for (; c + 4 <= columns; c += 4) {
        index k = 0;
        for (; k + 4 <= DEPTH; k += 4) turn(from + c * row + k, row, packed + k * WIDE + c, WIDE);
        for (; k < DEPTH; k++)
          for (index each = c; each < c + 4; each++) packed[k * WIDE + each] = value(from + each * row + k);
      }
    } else if (row == 1) {
      for (; c + LANES <= columns; c += LANES)
        for (index k = 0; k < DEPTH; k++) *(vector *)(packed + k * WIDE + c) = load(from + k * column + c, LANES);
    }
    for (index k = 0; k < DEPTH; k++) {
      for (index each = c; each < columns; each++) packed[k * WIDE + each] = value(from + each * row + k * column);
      for (index each = columns; each < WIDE; each++) packed[k * WIDE + each] = 0;
    }
  }
}

ALWAYS void pack_values(const V_TYPE *values, const index row, const index column, float *packed, index count) {
  for (index k = 0; k < count; k++, packed += ACROSS * LANES) {
    const V_TYPE *from = values + k * row;
    ALL for (int v = 0; v < ACROSS; v++) {
      if (column == 1) {
        *(vector *)(packed + v * LANES) = load(from + v * LANES, v + 1 < ACROSS ? LANES : PART);
        continue;
      }
      for (int i = 0; i < LANES; i++)
        packed[v * LANES + i] = v * LANES + i < VALUES ? value(from + (v * LANES + i) * column) : 0;
    }
  }
}

// Products of a tile of queries with the packed keys of a block.
ALWAYS void products(const Q_TYPE *queries, const float *keys, float *scores, index count, const int rows) {
  for (index c = 0; c < count; c += WIDE) {
    vector sums[ROWS][VECTORS];
    ALL for (int r = 0; r < rows; r++)
      ALL for (int v = 0; v < VECTORS; v++) sums[r][v] = all(0);
    for (index k = 0; k < DEPTH; k++, keys += WIDE)
      ALL for (int r = 0; r < rows; r++) {
        const vector one = all(value(queries + r * Q_ROW + k * Q_COLUMN));
        ALL for (int v = 0; v < VECTORS; v++) sums[r][v] += one * *(const vector *)(keys + v * LANES);
      }
    ALL for (int r = 0; r < rows; r++)
      ALL for (int v = 0; v < VECTORS; v++) *(vector *)(scores + r * KEYS + c + v * LANES) = sums[r][v] * SCALE;
  }
}

// The same products along the depth, which must be contiguous in both arrays.
ALWAYS void dots(const Q_TYPE *queries, const K_TYPE *keys, const index key_row, float *scores, const int rows,
                 const int columns) {
  vector sums[ROWS][COLUMNS];
  ALL for (int r = 0; r < rows; r++)
    ALL for (int c = 0; c < columns; c++) sums[r][c] = all(0);
#define STEP_OF_DOTS(count)                                           \
  ALL for (int c = 0; c < columns; c++) {                             \
    const vector one = load(keys + c * key_row + k, count);             \
    ALL for (int r = 0; r < rows; r++)                                \
      sums[r][c] += load(queries + r * Q_ROW + k, count) * one;       \
  }
  index k = 0;
  for (; k + LANES <= DEPTH; k += LANES) { STEP_OF_DOTS(LANES) }
  if (DEPTH % LANES) { STEP_OF_DOTS(DEPTH % LANES) }
  ALL for (int r = 0; r < rows; r++)
    ALL for (int c = 0; c < columns; c++) scores[r * KEYS + c] = total(sums[r][c]) * SCALE;
}

#ifdef CAP
// CAP * tanh of half of a score.
ALWAYS vector capped(vector x) {
  const vector small = power(choose(x < all(0), x, -x)), found = CAP * (1 - small) / (1 + small);
  return choose(x < all(0), -found, found);
}
#endif

// Turn the scores of one query into weights; keys after the visible ones get the weight 0. Returns the factor by which
// the weighted sum so far has to be multiplied.
ALWAYS float weigh(float *scores, index visible, index count, float *highest, float *sum) {
  vector most = all(-__builtin_inff()), found = all(0);
  mask place;
  for (int i = 0; i < LANES; i++) place[i] = i;
  for (index c = 0; c < count; c += LANES) {
    vector x = *(const vector *)(scores + c);
#ifdef CAP
    x = capped(x);
    *(vector *)(scores + c) = x;
#endif
    if (c + LANES > visible) {
      x = choose(place < (int)(visible - c), x, all(-__builtin_inff()));
      *(vector *)(scores + c) = x;
    }
    most = larger(x, most);
  }
  const float before = *highest, now = largest(most) > before ? largest(most) : before;
  TIMES(2) for (index c = 0; c < count; c += LANES) {
    const vector x = power(*(const vector *)(scores + c) - now);
    *(vector *)(scores + c) = x;
    found += x;
  }
  const float factor = power(all(before - now))[0];
  *highest = now;
  *sum = *sum * factor + total(found);
  return factor;
}

// Add the weighted values of a block to some vectors of each row of the result.
ALWAYS void mix(const float *weights, const of_values *values, const index row, RESULT *result, float *sums_at,
                const float *factors, const float *sums, index count, const int rows, const int begin, const int vectors,
                int first, int last) {
  vector mixed[ROWS][VECTORS];
  ALL for (int r = 0; r < rows; r++)
    ALL for (int v = 0; v < vectors; v++) mixed[r][v] = all(0);
  values += begin * LANES;
  for (index k = 0; k < count; k++, values += row) {
    vector across[VECTORS];
    ALL for (int v = 0; v < vectors; v++)
      across[v] = load(values + v * LANES, PACK_VALUES || begin + v + 1 < ACROSS ? LANES : PART);
    ALL for (int r = 0; r < rows; r++) {
      const vector one = all(weights[r * KEYS + k]);
      ALL for (int v = 0; v < vectors; v++) mixed[r][v] += one * across[v];
    }
  }
  ALL for (int r = 0; r < rows; r++) {
    ALL for (int v = 0; v < vectors; v++) {
      const index at = (begin + v) * LANES;
      const int part = begin + v + 1 < ACROSS ? LANES : PART;
      if (!first) mixed[r][v] += load(sums_at + r * SUMS_ROW + at, part) * factors[r];
      if (last)
        store(result + r * OUT_ROW + at, mixed[r][v] / all(sums[r]), part);
      else
        store(sums_at + r * SUMS_ROW + at, mixed[r][v], part);
    }
  }
}

// A tile of queries over a block of keys. `place` is the position of its first query relative to the block's first key.
ALWAYS void tile(const Q_TYPE *queries, const of_keys *keys, const index key_row, const of_values *values,
                 const index value_row, RESULT *result, float *sums_at, float *highest, float *sums, index place,
                 index count, const int rows, int first, int last) {
  float scores[ROWS * KEYS] __attribute__((aligned(64))), factors[ROWS];
#if DOT
  index c = 0;
  for (; c + COLUMNS <= count; c += COLUMNS) dots(queries, keys + c * key_row, key_row, scores + c, rows, COLUMNS);
  for (; c < count; c++) dots(queries, keys + c * key_row, key_row, scores + c, rows, 1);
#else
  products(queries, keys, scores, count, rows);
#endif
  ALL for (int r = 0; r < rows; r++) {
    const index seen = CAUSAL && place + r + AFTER + 1 < count ? place + r + AFTER + 1 : count;
    factors[r] = weigh(scores + r * KEYS, seen, count, highest + r, sums + r);
  }
  ALL for (int v = 0; v < ACROSS; v += VECTORS)
    mix(scores, values, PACK_VALUES ? ACROSS * LANES : value_row, result, sums_at, factors, sums, count, rows, v,
        ACROSS - v < VECTORS ? ACROSS - v : VECTORS, first, last);
}

index ENTRY(INPUTS, RESULT *result, index x, index y, index z, unsigned worker) {
  const Q_TYPE *queries = Q_INPUT + Q_START;
  const K_TYPE *keys = K_INPUT + K_START;
  const V_TYPE *values = V_INPUT + V_START;
#if EARLIER < KEYS_IN_ALL
  const K_TYPE *late_keys = K_LATER_INPUT + K_LATER_START;
  const V_TYPE *late_values = V_LATER_INPUT + V_LATER_START;
#endif
  TAKE(result)
  for (int b = BATCHES - 1; b >= 0; b--) {
    const index at = y % sizes[b];
    y /= sizes[b];
    queries += at * q_steps[b];
    keys += at * k_steps[b];
    values += at * v_steps[b];
#if EARLIER < KEYS_IN_ALL
    late_keys += at * late_k_steps[b];
    late_values += at * late_v_steps[b];
#endif
    result += at * out_steps[b];
  }
  const index begin = x * TILES, end = begin + TILES < ALL_TILES ? begin + TILES : ALL_TILES;
  float highest[TILES * ROWS], sums[TILES * ROWS];
  for (int each = 0; each < TILES * ROWS; each++) highest[each] = -__builtin_inff(), sums[each] = 0;
#define REACH(row) (CAUSAL && (row) + AFTER < KEYS_IN_ALL ? (row) + AFTER : KEYS_IN_ALL) /* keys that queries before `row` see */
  const index reach = REACH(end * ROWS < QUERIES ? end * ROWS : QUERIES);
#if !DOT
  float packed_keys[DEPTH * KEYS] __attribute__((aligned(64)));
#endif
#if KEPT
  float kept[TILES * ROWS * SUMS_ROW] __attribute__((aligned(64)));
#endif
#if PACK_VALUES
  float packed_values[KEYS * ACROSS * LANES] __attribute__((aligned(64)));
#endif
  for (index block = 0, next; block < reach; block = next) {
    const K_TYPE *keys_here = keys + block * K_ROW;
    const V_TYPE *values_here = values + block * V_ROW;
    index k_row = K_ROW, v_row = V_ROW, k_column = K_COLUMN, v_column = V_COLUMN, part = KEYS_IN_ALL;
#if EARLIER < KEYS_IN_ALL
    if (block >= EARLIER) {
      keys_here = late_keys + (block - EARLIER) * K_LATER_ROW, k_row = K_LATER_ROW, k_column = K_LATER_COLUMN;
      values_here = late_values + (block - EARLIER) * V_LATER_ROW, v_row = V_LATER_ROW, v_column = V_LATER_COLUMN;
    } else {
      part = EARLIER;
    }
#endif
    next = part - block < KEYS ? part : block + KEYS;
    const index there = (reach < next ? reach : next) - block;
#if DOT
    const K_TYPE *own_keys = keys_here;
#else
    pack_keys(keys_here, k_row, k_column, packed_keys, there);
    const float *own_keys = packed_keys;
#endif
#if PACK_VALUES
    pack_values(values_here, v_row, v_column, packed_values, there);
    const float *own_values = packed_values;
#else
    const V_TYPE *own_values = values_here;
#endif
    for (index t = begin; t < end; t++) {
      const index row = t * ROWS, full = row + ROWS <= QUERIES, reached = REACH(full ? row + ROWS : QUERIES);
      if (reached <= block) continue;
      const index count = (reached < next ? reached : next) - block;
      const int first = block == 0, last = next >= reached;
      float *const most = highest + (t - begin) * ROWS, *const sum = sums + (t - begin) * ROWS;
#if KEPT
      float *const sums_at = kept + (t - begin) * ROWS * SUMS_ROW;
#else
      float *const sums_at = (float *)result + row * OUT_ROW;
#endif
      if (ROWS_LEFT == 0 || full)
        tile(queries + row * Q_ROW, own_keys, k_row, own_values, v_row, result + row * OUT_ROW, sums_at, most, sum,
             row - block, count, ROWS, first, last);
      else
        tile(queries + row * Q_ROW, own_keys, k_row, own_values, v_row, result + row * OUT_ROW, sums_at, most, sum,
             row - block, count, ROWS_LEFT, first, last);
    }
  }
  return 0;
}
