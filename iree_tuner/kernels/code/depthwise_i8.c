// Depthwise convolution of 8-bit integers with channels last: one workgroup's lines of the result.
//
// For each column of the window, the bytes of up to four lines are combined into one 32-bit element, and multiplied by
// the filter's bytes. A column's elements are used for all pixels whose windows contain it. Signed inputs are shifted by
// 128 to be unsigned, and 128 times the sum of the filter is subtracted.
//
// All sizes are macros, so that the compiler sees constants:
//   LINES, WIDTH, LINES_OF_IMAGE     lines of all images of the result, pixels of a line, lines of one image
//   IMAGE, IMAGE_LINE                strides of images and of lines in the input, in bytes
//   HIGH, ACROSS, CHANNELS           lines, pixels of a line, and channels of an input image
//   WINDOW_H, WINDOW_W, STRIDE_H, STRIDE_W, DILATION_H, DILATION_W
//   SIGNED, PADDED, ABOVE, BEFORE, AROUND   see gemm_i8.c
//   PIXELS, VECTORS, LANES, PART     a tile; lines of a workgroup
//   EXTRAS, FORMULA, RESULT          see steps_i8.h

#include "vectors_f32.h"
#include "workgroups.h"
#include "steps_i8.h"

#define WIDE (VECTORS * LANES)
#define TAIL (CHANNELS % WIDE)
#define TAIL_VECTORS ((TAIL + LANES - 1) / LANES)
#define LAST (CHANNELS % LANES ? CHANNELS % LANES : LANES) /* channels of the last vector */
#define GROUPS ((WINDOW_H + 3) / 4)
#define FLIP (SIGNED ? -128 : 0)

#define TURNED(i) i, i + LANES, i + 2 * LANES, i + 3 * LANES
#define TURNED4(i) TURNED(i), TURNED(i + 1), TURNED(i + 2), TURNED(i + 3)
#if LANES == 16
typedef i8 half __attribute__((vector_size(32)));
#define JOINED 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
#define ORDER TURNED4(0), TURNED4(4), TURNED4(8), TURNED4(12)
#elif LANES == 8
typedef i8 half __attribute__((vector_size(16)));
#define JOINED 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
#define ORDER TURNED4(0), TURNED4(4)
#else
typedef i8 half __attribute__((vector_size(8)));
#define JOINED 0, 1, 2, 3, 4, 5, 6, 7
#define ORDER TURNED4(0)
#endif

// Interleave four vectors of bytes into one vector of 32-bit elements.
ALWAYS ints turned(quarter a, quarter b, quarter c, quarter d) {
  const half one = __builtin_shufflevector(a, b, JOINED), two = __builtin_shufflevector(c, d, JOINED);
  return (ints)__builtin_shufflevector(one, two, ORDER);
}

typedef struct {
  ints of[GROUPS][WINDOW_W][VECTORS], less[VECTORS];
} weights;

ALWAYS void read_filter(const i8 *filter, weights *to, const int vectors, const int part) {
  ALL for (int v = 0; v < vectors; v++) {
    const int count = v + 1 < vectors ? LANES : part;
    ints sum = every(0);
    for (int g = 0; g < GROUPS; g++)
      for (int x = 0; x < WINDOW_W; x++) {
        quarter lines[4] = {{0}, {0}, {0}, {0}};
        ALL for (int i = 0; i < 4; i++)
          if (4 * g + i < WINDOW_H)
            lines[i] = quarter_at(filter + ((4 * g + i) * WINDOW_W + x) * CHANNELS + v * LANES, count);
        to->of[g][x][v] = turned(lines[0], lines[1], lines[2], lines[3]);
        sum = dot(sum, every(0x01010101), to->of[g][x][v]);
      }
    to->less[v] = sum * FLIP;
  }
}

// The elements of one column for a group of up to four lines of the window, which begins at `y` and `x` in the image.
ALWAYS ints column_of(const i8 *image, index y, index x, const int group, const int count) {
  const quarter around = (quarter){0} + (i8)((AROUND) ^ FLIP);
  quarter lines[4] = {{0}, {0}, {0}, {0}};
  ALL for (int i = 0; i < 4; i++)
    if (4 * group + i < WINDOW_H) {
      const index line = y + (4 * group + i) * DILATION_H;
      if (!PADDED || (line >= 0 && line < HIGH && x >= 0 && x < ACROSS))
        lines[i] = quarter_at(image + line * IMAGE_LINE + x * CHANNELS, count) ^ (i8)FLIP;
      else
        lines[i] = around;
    }
  return turned(lines[0], lines[1], lines[2], lines[3]);
}

ALWAYS void tile(const i8 *image, const weights *filter, extras given, RESULT *result, index y, index pixel, index start,
                 index channel, const int pixels, const int vectors, const int part) {
  ALL for (int v = 0; v < vectors; v++) {
    const int count = v + 1 < vectors ? LANES : part;
    ints sums[PIXELS];
    ALL for (int p = 0; p < pixels; p++) sums[p] = filter->less[v];
    ALL for (int g = 0; g < GROUPS; g++)
      ALL for (int c = 0; c < (pixels - 1) * STRIDE_W + (WINDOW_W - 1) * DILATION_W + 1; c++) {
        const ints one = column_of(image + v * LANES, y, pixel * STRIDE_W - BEFORE + c, g, count);
        ALL for (int x = 0; x < WINDOW_W; x++) {
          const int from = c - x * DILATION_W;
          if (from >= 0 && from % STRIDE_W == 0 && from / STRIDE_W < pixels)
            sums[from / STRIDE_W] = dot(sums[from / STRIDE_W], one, filter->of[g][x][v]);
        }
      }
    ALL for (int p = 0; p < pixels; p++)
      finish(sums[p], given, result, start + p * CHANNELS + v * LANES, channel + v * LANES, count);
  }
}

ALWAYS void channels(const i8 *image, const i8 *filter, extras given, RESULT *result, index begin, index end, index channel,
                     const int vectors, const int part) {
  weights read;
  read_filter(filter + channel, &read, vectors, part);
  for (index line = begin; line < end; line++) {
    const i8 *from = image + line / LINES_OF_IMAGE * IMAGE + channel;
    const index y = line % LINES_OF_IMAGE * STRIDE_H - ABOVE, start = line * WIDTH * CHANNELS + channel;
    index x = 0;
    for (; x + PIXELS <= WIDTH; x += PIXELS)
      tile(from, &read, given, result, y, x, start + x * CHANNELS, channel, PIXELS, vectors, part);
    if (WIDTH % PIXELS)
      tile(from, &read, given, result, y, x, start + x * CHANNELS, channel, WIDTH % PIXELS, vectors, part);
  }
}

#define EXTRA(number, type) const type *given##number,
index ENTRY(const i8 *image, const i8 *filter, EXTRAS RESULT *result, index x, index y, index z, unsigned worker) {
  TAKE(result)
#undef EXTRA
#define EXTRA(number, type) .e##number = given##number,
  extras given = {EXTRAS .none = 0};
  const index begin = x * PART, end = begin + PART < LINES ? begin + PART : LINES;
  index c = 0;
  for (; c + WIDE <= CHANNELS; c += WIDE) channels(image, filter, given, result, begin, end, c, VECTORS, LANES);
  if (TAIL) channels(image, filter, given, result, begin, end, c, TAIL_VECTORS, LAST);
  return 0;
}
