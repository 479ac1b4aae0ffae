// Depthwise convolution with channels last and f32 sums: one workgroup's lines of the result. Arrays are f32, f16 or bf16.
//
// A tile of sums has PIXELS pixels of a line and VECTORS vectors of channels. It stays in registers for all positions of
// the window. Channels are the outer loop over a line, so that their part of the filter stays in the cache.
//
// All sizes are macros, so that the compiler sees constants:
//   LINES, WIDTH, LINES_OF_IMAGE     lines of all images of the result, pixels of a line, lines of one image
//   IMAGE, LINE, PIXEL               distances in the input for the result's next image, line and pixel, in elements
//   CHANNELS, PLACES, PLACE_OFFSETS  channels; positions of the window, and their offsets from the first one
//   PADDED                           whether windows reach into zeros around the image. Then also:
//   HIGH, ACROSS, ABOVE, BEFORE      lines and pixels of an image without the zeros; lines and pixels of zeros before it
//   WINDOW_W, STRIDE_H, STRIDE_W, DILATION_H, DILATION_W   positions of the window along a line, and distances of windows
//                                    and of positions, in lines and pixels
//   PIXELS, VECTORS, LANES, PART     a tile; lines of a workgroup
//   LEFT, RIGHT, RESULT              types of elements of the image, the filter and the result: float, f16, bf16
//   EXTRAS, STEPS                    see steps_f32.h

#include "vectors_f32.h"
#include "workgroups.h"
#include "steps_f32.h"

#define WIDE (VECTORS * LANES)
#define TAIL (CHANNELS % WIDE)
#define TAIL_VECTORS ((TAIL + LANES - 1) / LANES)
#define LAST (CHANNELS % LANES ? CHANNELS % LANES : LANES) /* channels of the last vector */

static const index offsets[PLACES] = {PLACE_OFFSETS};

#if PADDED
static const LEFT zeros[WIDE];
#define INSIDE(line, pixel) ((line) >= 0 && (line) < HIGH && (pixel) >= 0 && (pixel) < ACROSS)
#define WINDOW_H (PLACES / WINDOW_W)
#endif

// One tile. Its first window begins at `image`, which is the image's line `y` and pixel `across`. At an `edge`, windows
// reach into the zeros around the image.
ALWAYS void tile(const LEFT *image, const RIGHT *filter, extras given, RESULT *result, index start, index channel, index y,
                 index across, const int edge, const int pixels, const int vectors, const int part) {
  vector sums[PIXELS][VECTORS];
  ALL for (int x = 0; x < pixels; x++)
    ALL for (int v = 0; v < vectors; v++) sums[x][v] = all(0);
  for (int p = 0; p < PLACES; p++) {
    const LEFT *from = image + offsets[p];
    ALL for (int v = 0; v < vectors; v++) {
      const int count = v + 1 < vectors ? LANES : part;
      const vector weight = load(filter + p * CHANNELS + v * LANES, count);
      ALL for (int x = 0; x < pixels; x++) {
        const LEFT *at = from + x * PIXEL;
#if PADDED
        if (edge && !INSIDE(y + p / WINDOW_W * DILATION_H, across + x * STRIDE_W + p % WINDOW_W * DILATION_W)) at = zeros;
#endif
        sums[x][v] += load(at + v * LANES, count) * weight;
      }
    }
  }
  ALL for (int x = 0; x < pixels; x++)
    ALL for (int v = 0; v < vectors; v++) {
      const index at = start + x * CHANNELS + v * LANES;
      const int count = v + 1 < vectors ? LANES : part;
      store(result + at, finished(sums[x][v], given, at, 0, channel + v * LANES, count), count);
    }
}

ALWAYS void tile_at(index x, const LEFT *image, const RIGHT *filter, extras given, RESULT *result, index start,
                    index channel, index y, const int pixels, const int vectors, const int part) {
  image += x * PIXEL;
  start += x * CHANNELS;
#if PADDED
  const index across = x * STRIDE_W - BEFORE;
  const index last = across + (pixels - 1) * STRIDE_W + (WINDOW_W - 1) * DILATION_W;
  if (!INSIDE(y, across) || !INSIDE(y + (WINDOW_H - 1) * DILATION_H, last)) {
    tile(image, filter, given, result, start, channel, y, across, 1, pixels, vectors, part);
    return;
  }
#endif
  tile(image, filter, given, result, start, channel, 0, 0, 0, pixels, vectors, part);
}

ALWAYS void channels(const LEFT *image, const RIGHT *filter, extras given, RESULT *result, index start, index channel,
                     index y, const int vectors, const int part) {
  index x = 0;
  for (; x + PIXELS <= WIDTH; x += PIXELS)
    tile_at(x, image, filter, given, result, start, channel, y, PIXELS, vectors, part);
  if (WIDTH % PIXELS) tile_at(x, image, filter, given, result, start, channel, y, WIDTH % PIXELS, vectors, part);
}

#define EXTRA(name) const type_of_##name *name,
index ENTRY(const LEFT *image, const RIGHT *filter, EXTRAS RESULT *result, index x, index y, index z, unsigned worker) {
  TAKE(result)
#undef EXTRA
#define EXTRA(name) .name = name,
  extras given = {EXTRAS};
  const index begin = x * PART, end = begin + PART < LINES ? begin + PART : LINES;
  for (index line = begin; line < end; line++) {
    const LEFT *from = image + line / LINES_OF_IMAGE * IMAGE + line % LINES_OF_IMAGE * LINE;
    index c = 0, y = 0;
#if PADDED
    y = line % LINES_OF_IMAGE * STRIDE_H - ABOVE;
    from -= (ABOVE * ACROSS + BEFORE) * CHANNELS;
#endif
    for (; c + WIDE <= CHANNELS; c += WIDE)
      channels(from + c, filter + c, given, result, line * WIDTH * CHANNELS + c, c, y, VECTORS, LANES);
    if (TAIL) channels(from + c, filter + c, given, result, line * WIDTH * CHANNELS + c, c, y, TAIL_VECTORS, LAST);
  }
  return 0;
}
