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
//   EXTRAS                           operands of the epilogue in their order: EXTRA(bias), EXTRA(residual)
//   STEPS                            what is done with each sum, in order: STEP(bias), STEP(residual), STEP(relu),
//                                    STEP(gelu), STEP(gelu_tanh)

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

// Operands of the epilogue; those that it has not are null.
typedef struct {
  const float *bias, *residual;
} extras;

// Comparisons with a NaN are false, and it stays.
ALWAYS vector choose(mask which, vector one, vector other) { return (vector)((which & (mask)one) | (~which & (mask)other)); }
ALWAYS vector all(float value) { return (vector){0} + value; }
ALWAYS vector within(vector x, float limit) {
  x = choose(x > all(limit), all(limit), x);
  return choose(x < all(-limit), all(-limit), x);
}

// erf and tanh as an odd polynomial over an even one, with the coefficients that XLA has from Eigen (Apache-2.0:
// xla/mlir_hlo, chlo_legalize_to_hlo, MaterializeErfApproximationF32; xla/service/llvm_ir/math_ops.cc, EmitFastTanh).
// Off by 3.6e-7 at most, three epsilons (test/unit/kernels/test_c_epilogues.py); 1 where that is the nearest float.
ALWAYS vector erf_of(vector x) {
  const vector t = within(x, 4), u = t * t;
  vector over = all(-2.72614225801306e-10f) * u + 2.77068142495902e-08f;
  over = over * u - 2.10102402082508e-06f;
  over = over * u - 5.69250639462346e-05f;
  over = over * u - 7.34990630326855e-04f;
  over = over * u - 2.95459980854025e-03f;
  over = over * u - 1.60960333262415e-02f;
  vector under = all(-1.45660718464996e-05f) * u - 2.13374055278905e-04f;
  under = under * u - 1.68282697438203e-03f;
  under = under * u - 7.37332916720468e-03f;
  under = under * u - 1.42647390514189e-02f;
  const vector found = within(t * over / under, 1);
  return choose(x > all(3.92f), all(1), choose(x < all(-3.92f), all(-1), found));
}

ALWAYS vector tanh_of(vector x) {
  const vector t = within(x, 7.90531110763549805f), u = t * t;
  vector over = all(-2.76076847742355e-16f) * u + 2.00018790482477e-13f;
  over = over * u - 8.60467152213735e-11f;
  over = over * u + 5.12229709037114e-08f;
  over = over * u + 1.48572235717979e-05f;
  over = over * u + 6.37261928875436e-04f;
  over = over * u + 4.89352455891786e-03f;
  vector under = all(1.19825839466702e-06f) * u + 1.18534705686654e-04f;
  under = under * u + 2.26843463243900e-03f;
  under = under * u + 4.89352518554385e-03f;
  const vector found = within(t * over / under, 1);
  return choose(x > all(9.02f), all(1), choose(x < all(-9.02f), all(-1), found));
}

// The steps of an epilogue, of a vector at a place in the result and its column.
#define STEP_OF(name) ALWAYS vector name##_of(vector x, extras given, index place, index column)
STEP_OF(bias) { return x + *(const vector *)(given.bias + column); }
STEP_OF(residual) { return x + *(const vector *)(given.residual + place); }
STEP_OF(relu) { return choose(x <= all(0), all(0), x); }
STEP_OF(gelu) { return x * 0.5f * (erf_of(x * 0.70710678f) + 1); }
STEP_OF(gelu_tanh) { return x * 0.5f * (tanh_of(0.79788456f * (x + 0.044715f * x * x * x)) + 1); }

#define STEP(name) sum = name##_of(sum, given, place, column);
ALWAYS vector finished(vector sum, extras given, index place, index column) {
  STEPS
  return sum;
}

// One tile, whose first number is at `start` in the result, in the column `column`.
ALWAYS void tile(const float *left, const float *packed, extras given, float *result, index start, index column,
                 index place, index places, index depth, const int rows, int first, int last) {
  vector sums[ROWS][VECTORS];
  UNROLL for (int r = 0; r < rows; r++) {
    UNROLL for (int v = 0; v < VECTORS; v++)
      sums[r][v] = first ? all(0) : *(const vector *)(result + start + r * FILTERS + v * LANES);
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
    UNROLL for (int v = 0; v < VECTORS; v++) {
      const index at = start + r * FILTERS + v * LANES;
      *(vector *)(result + at) = last ? finished(sums[r][v], given, at, column + v * LANES) : sums[r][v];
    }
  }
}

ALWAYS void pack(const float *right, float *packed, index depth) {
  for (index k = 0; k < depth; k++)
    for (int c = 0; c < WIDE; c++) packed[k * WIDE + c] = right[k * RIGHT_ROW + c * RIGHT_COLUMN];
}

#define EXTRA(name) const float *name,
void ENTRY(const float *left, const float *right, EXTRAS float *result, index x, index y, index z) {
#undef EXTRA
#define EXTRA(name) .name = name,
  const extras given = {EXTRAS};
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
          const index start = (line * WIDTH + pixel) * FILTERS + column;
          if (WIDTH % ROWS == 0 || pixel + ROWS <= WIDTH)
            tile(from, packed, given, result, start, column, place, places, depth, ROWS, first, last);
          else
            tile(from, packed, given, result, start, column, place, places, depth, WIDTH % ROWS, first, last);
        }
      }
}
