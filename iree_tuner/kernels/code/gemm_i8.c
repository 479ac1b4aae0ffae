// Products and convolutions of 8-bit integers with 32-bit sums, and a formula on the sums: one workgroup's part.
//
// Rows of the result are cut into tiles of ROWS, columns into tiles of VECTORS vectors. First, a tile's rows of the left
// operand are copied to the stack for the whole depth, as unsigned bytes, with zeros up to a multiple of four. This also
// gathers the rows of a convolution, and adds the padding of its image. A signed left operand is shifted by 128 to be
// unsigned, and 128 times the sum of a column is then subtracted. The right operand is read as tiles of columns, with four
// elements of the depth together. It is PACKED so when the program is made, or else here, into scratch memory.
//
// All sizes are macros, so that the compiler sees constants: the macros of gemm_f32.c, and
//   RUN                              contiguous bytes of the left operand at one position of the window
//   DEPTH, DEPTH4                    bytes of a row, and this number rounded up to a multiple of four
//   SIGNED                           whether the left operand is signed
//   PADDED, ABOVE, BEFORE, AROUND    padding: lines above, pixels before a line, and the value of its bytes
//   HIGH, ACROSS, DOWN, RIGHT        with PADDED: lines and pixels of an image; strides of the convolution along both
//   PLACE_LINES, PLACE_PIXELS        with PADDED: lines and pixels of the window's positions
//   ROWS, VECTORS, LANES, TILES, COLUMNS, UNROLL, PACKED
//   EXTRAS, FORMULA, RESULT          see steps_i8.h

#include "vectors_f32.h"
#include "workgroups.h"
#include "steps_i8.h"

#define WIDE (VECTORS * LANES)
#define TAIL (FILTERS % WIDE)
#define TAIL_VECTORS ((TAIL + LANES - 1) / LANES)
#define PART (FILTERS % LANES ? FILTERS % LANES : LANES) /* columns of the last vector */
#define ALL_ROWS (LINES * WIDTH)
#define ALL_TILES ((ALL_ROWS + ROWS - 1) / ROWS)
#define ROWS_LEFT (ALL_ROWS % ROWS)
#define ROW ((DEPTH4 + 63) / 64 * 64 + 64) /* bytes of a packed row, rounded up to whole cache lines, and one more */
#define FLIP (SIGNED ? 128 : 0)
#define PANEL (WIDE * DEPTH4)

static const index offsets[PLACES] = {PLACE_OFFSETS};
#if PADDED
static const index place_lines[PLACES] = {PLACE_LINES}, place_pixels[PLACES] = {PLACE_PIXELS};
#endif

ALWAYS void copy(unsigned char *to, const unsigned char *from) {
  index k = 0;
#ifdef __AVX512BW__
  const __m512i flip = _mm512_set1_epi8((char)FLIP);
  for (; k + 64 <= RUN; k += 64) _mm512_storeu_si512(to + k, _mm512_xor_si512(_mm512_loadu_si512(from + k), flip));
  if (RUN % 64) {
    const __mmask64 which = ((__mmask64)1 << RUN % 64) - 1;
    _mm512_mask_storeu_epi8(to + k, which, _mm512_xor_si512(_mm512_maskz_loadu_epi8(which, from + k), flip));
  }
#else
  for (; k + LANES * 4 <= RUN; k += LANES * 4) *(bytes *)(to + k) = *(const bytes *)(from + k) ^ (unsigned char)FLIP;
  for (; k < RUN; k++) to[k] = from[k] ^ FLIP;
#endif
}

ALWAYS void pack_left(const unsigned char *left, unsigned char *packed, index begin, const int rows) {
  for (index row = begin; row < begin + rows; row++, packed += ROW) {
    const index line = row / WIDTH, pixel = row % WIDTH;
    const unsigned char *from = left + line / LINES_OF_IMAGE * IMAGE + line % LINES_OF_IMAGE * LINE + pixel * PIXEL;
    for (int p = 0; p < PLACES; p++) {
#if PADDED
      const index y = line % LINES_OF_IMAGE * DOWN - ABOVE + place_lines[p], x = pixel * RIGHT - BEFORE + place_pixels[p];
      if (y < 0 || y >= HIGH || x < 0 || x >= ACROSS) {
        for (index k = 0; k < RUN; k++) packed[p * RUN + k] = (unsigned char)(AROUND) ^ FLIP;
        continue;
      }
#endif
      copy(packed + p * RUN, from + offsets[p]);
    }
    for (int k = DEPTH; k < DEPTH4; k++) packed[k] = 0;
  }
}

ALWAYS void pack_right(const i8 *right, i8 *packed, index column, const int columns) {
  for (index k = 0; k < DEPTH4; k += 4)
    for (int c = 0; c < WIDE; c++)
      for (int i = 0; i < 4; i++)
        *packed++ = c < columns && k + i < DEPTH ? right[(k + i) * RIGHT_ROW + (column + c) * RIGHT_COLUMN] : 0;
}

ALWAYS void tile(const unsigned char *left, const i8 *right, const int *less, extras given, RESULT *result, index row,
                 index column, const int rows, const int vectors, const int part) {
  ints sums[ROWS][VECTORS];
  ALL for (int r = 0; r < rows; r++)
    ALL for (int v = 0; v < vectors; v++) sums[r][v] = SIGNED ? *(const ints *)(less + v * LANES) : every(0);
  TIMES(UNROLL) for (index k = 0; k < DEPTH4; k += 4) {
    ints across[VECTORS];
    ALL for (int v = 0; v < vectors; v++) across[v] = *(const ints *)(right + k * WIDE + v * LANES * 4);
    ALL for (int r = 0; r < rows; r++) {
      const ints one = every(*(const int *)(left + r * ROW + k));
      ALL for (int v = 0; v < vectors; v++) sums[r][v] = dot(sums[r][v], one, across[v]);
    }
  }
  ALL for (int r = 0; r < rows; r++)
    ALL for (int v = 0; v < vectors; v++)
      finish(sums[r][v], given, result, (row + r) * RESULT_ROW + column + v * LANES, column + v * LANES,
             v + 1 < vectors ? LANES : part);
}

// The correction of the sums of a tile of columns, for a left operand that is shifted by 128.
ALWAYS void correct(const i8 *right, int *less) {
  ALL for (int v = 0; v < VECTORS; v++) {
    ints sum = every(0);
    for (index k = 0; k < DEPTH4; k += 4) sum = dot(sum, every(0x01010101), *(const ints *)(right + k * WIDE + v * LANES * 4));
    *(ints *)(less + v * LANES) = sum * -128;
  }
}

#define MOST_TILES ((COLUMNS + WIDE - 1) / WIDE)

ALWAYS void row_tile(const unsigned char *left, const i8 *panels, const int *less, extras given, RESULT *result, index row,
                     index begin, index stop, const int rows) {
  unsigned char packed[ROWS * ROW] __attribute__((aligned(64)));
  pack_left(left, packed, row, rows);
  index column = begin;
  for (; column + WIDE <= stop; column += WIDE, panels += PANEL, less += WIDE)
    tile(packed, panels, less, given, result, row, column, rows, VECTORS, LANES);
  if (TAIL && column < stop) tile(packed, panels, less, given, result, row, column, rows, TAIL_VECTORS, PART);
}

#define EXTRA(number, type) const type *given##number,
#if PACKED
#define SCRATCH
#else
#define SCRATCH i8 *scratch,
#endif
index ENTRY(const unsigned char *one, const unsigned char *other, EXTRAS RESULT *result, SCRATCH index x, index y, index z, unsigned worker) {
  TAKE(result)
#undef EXTRA
#define EXTRA(number, type) .e##number = given##number,
  extras given = {EXTRAS .none = 0};
#undef EXTRA
#define EXTRA(number, type) if (ALONG_##number) given.e##number += z * BATCH_RESULT;
  EXTRAS
  const unsigned char *left = (SWAPPED ? other : one) + z * BATCH_LEFT;
  const i8 *right = (const i8 *)(SWAPPED ? one : other) + z * BATCH_RIGHT;
  result += z * BATCH_RESULT;
  const index first = x * COLUMNS, stop = first + COLUMNS < FILTERS ? first + COLUMNS : FILTERS;
#if PACKED
  const i8 *panels = right + first * DEPTH4;
#else
  i8 *panels = scratch + ((z * ((ALL_TILES + TILES - 1) / TILES) + y) * ((FILTERS + COLUMNS - 1) / COLUMNS) + x) * MOST_TILES * PANEL;
  for (index column = first; column < stop; column += WIDE)
    pack_right(right, panels + (column - first) * DEPTH4, column, stop - column < WIDE ? stop - column : WIDE);
#endif
  int less[MOST_TILES * WIDE];
  if (SIGNED)
    for (index column = 0; first + column < stop; column += WIDE) correct(panels + column * DEPTH4, less + column);
  const index begin = y * TILES, end = begin + TILES < ALL_TILES ? begin + TILES : ALL_TILES;
  for (index t = begin; t < end; t++) {
    if (ROWS_LEFT == 0 || t + 1 < ALL_TILES)
      row_tile(left, panels, less, given, result, t * ROWS, first, stop, ROWS);
    else
      row_tile(left, panels, less, given, result, t * ROWS, first, stop, ROWS_LEFT);
  }
  return 0;
}
