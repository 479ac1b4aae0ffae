// Matrix multiplication and convolution (nhwc, hwcf) of f32, one workgroup's part.
//
// A convolution is a matrix multiplication whose rows are gathered: a row of the left operand is a pixel's
// window. Rows of the result are cut into tiles of ROWS pixels of one line (of an image, or of all rows of a
// matrix), columns into tiles of VECTORS vectors. A workgroup takes TILES tiles of rows and all columns of a
// block of COLUMNS; it packs up to DEPTH rows of the right operand for a tile of columns, and runs them against its rows.
//
// All sizes are macros, so that the compiler sees constants:
//   LINES, WIDTH, LINES_OF_IMAGE     lines altogether, pixels of a line, lines of one image
//   IMAGE, LINE, PIXEL               elements from one image, line and pixel to the next in the left operand
//   FILTERS, CHANNELS                columns of the result; depth at one place of the window
//   PLACES, PLACE_OFFSETS            places of the window, and where their pixels are relative to the first
//   RIGHT_ROW, RIGHT_COLUMN          elements from one row and column to the next in the right operand
//   ROWS, VECTORS, COLUMNS, TILES, DEPTH, LANES
//   BIAS, RELU                       1 where a number is added to each column; where negative results become 0

typedef float vector __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int mask __attribute__((vector_size(LANES * 4)));
typedef long index;

#define WIDE (VECTORS * LANES)
#define ACROSS ((WIDTH + ROWS - 1) / ROWS)
#define ALL_TILES (LINES * ACROSS)
#define TOGETHER (CHANNELS < DEPTH ? DEPTH / CHANNELS : 1) /* places whose rows are packed at once */
#define ALWAYS static inline __attribute__((always_inline))
#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

static const index offsets[PLACES] = {PLACE_OFFSETS};

ALWAYS const float *pixel_at(const float *left, index line, index pixel) {
  return left + line / LINES_OF_IMAGE * IMAGE + line % LINES_OF_IMAGE * LINE + pixel * PIXEL;
}

ALWAYS vector start_of(const float *bias, int v) {
#if BIAS
  return ((const vector *)bias)[v];
#else
  return (vector){0};
#endif
}

// Of a NaN both comparisons are false, and it stays.
ALWAYS vector finished(vector sum, int last) {
  return RELU && last ? (vector)((mask)sum & ~(mask)(sum <= (vector){0})) : sum;
}

ALWAYS void tile(const float *left, const float *packed, const float *bias, float *result, index place,
                 index places, index depth, const int rows, int first, int last) {
  vector sums[ROWS][VECTORS];
  UNROLL for (int r = 0; r < rows; r++) {
    UNROLL for (int v = 0; v < VECTORS; v++)
      sums[r][v] = first ? start_of(bias, v) : *(const vector *)(result + r * FILTERS + v * LANES);
  }
  for (index p = place; p < place + places; p++) {
    const float *from = left + offsets[p];
    for (index k = 0; k < depth; k++, packed += WIDE) {
      UNROLL for (int r = 0; r < rows; r++) {
        const float one = from[r * PIXEL + k];
        UNROLL for (int v = 0; v < VECTORS; v++) sums[r][v] += one * ((const vector *)packed)[v];
      }
    }
  }
  UNROLL for (int r = 0; r < rows; r++) {
    UNROLL for (int v = 0; v < VECTORS; v++) *(vector *)(result + r * FILTERS + v * LANES) = finished(sums[r][v], last);
  }
}

ALWAYS void pack(const float *right, float *packed, index depth) {
  for (index k = 0; k < depth; k++)
    for (int c = 0; c < WIDE; c++) packed[k * WIDE + c] = right[k * RIGHT_ROW + c * RIGHT_COLUMN];
}

#if BIAS
void ENTRY(const float *left, const float *right, const float *bias, float *result, index x, index y, index z) {
#else
void ENTRY(const float *left, const float *right, float *result, index x, index y, index z) {
  const float *const bias = right; // not read
#endif
  float packed[DEPTH * WIDE] __attribute__((aligned(64)));
  const index begin = y * TILES, end = begin + TILES < ALL_TILES ? begin + TILES : ALL_TILES;
  (void)z;
  for (index column = x * COLUMNS; column < (x + 1) * COLUMNS; column += WIDE)
    for (index place = 0; place < PLACES; place += TOGETHER)
      for (index k = 0; k < CHANNELS; k += DEPTH) {
        const index places = PLACES - place < TOGETHER ? PLACES - place : TOGETHER;
        const index depth = CHANNELS - k < DEPTH ? CHANNELS - k : DEPTH;
        const int first = place == 0 && k == 0, last = place + TOGETHER >= PLACES && k + DEPTH >= CHANNELS;
        for (index p = 0; p < places; p++)
          pack(right + ((place + p) * CHANNELS + k) * RIGHT_ROW + column * RIGHT_COLUMN, packed + p * depth * WIDE,
               depth);
        for (index t = begin; t < end; t++) {
          const index line = t / ACROSS, pixel = t % ACROSS * ROWS;
          const float *from = pixel_at(left, line, pixel) + k;
          float *to = result + (line * WIDTH + pixel) * FILTERS + column;
          if (WIDTH % ROWS == 0 || pixel + ROWS <= WIDTH)
            tile(from, packed, bias + column, to, place, places, depth, ROWS, first, last);
          else
            tile(from, packed, bias + column, to, place, places, depth, WIDTH % ROWS, first, last);
        }
      }
}
