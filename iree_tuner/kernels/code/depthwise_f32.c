// f32 depthwise convolution with channels last: one workgroup's lines of the result.
//
// A tile of sums has PIXELS pixels of a line and VECTORS vectors of channels. It stays in registers for all positions of
// the window. Channels are the outer loop over a line, so that their part of the filter stays in the cache.
//
// All sizes are macros, so that the compiler sees constants:
//   LINES, WIDTH, LINES_OF_IMAGE     lines of all images of the result, pixels of a line, lines of one image
//   IMAGE, LINE, PIXEL               distances in the input for the result's next image, line and pixel, in elements
//   CHANNELS, PLACES, PLACE_OFFSETS  channels; positions of the window, and their offsets from the first one
//   PIXELS, VECTORS, LANES, PART     a tile; lines of a workgroup
//   EXTRAS, STEPS                    see steps_f32.h

#include "vectors_f32.h"
#include "steps_f32.h"

#define WIDE (VECTORS * LANES)
#define TAIL (CHANNELS % WIDE)
#define TAIL_VECTORS ((TAIL + LANES - 1) / LANES)
#define LAST (CHANNELS % LANES ? CHANNELS % LANES : LANES) /* channels of the last vector */

static const index offsets[PLACES] = {PLACE_OFFSETS};

ALWAYS void tile(const float *image, const float *filter, extras given, float *result, index start, index channel,
                 const int pixels, const int vectors, const int part) {
  vector sums[PIXELS][VECTORS];
  ALL for (int x = 0; x < pixels; x++)
    ALL for (int v = 0; v < vectors; v++) sums[x][v] = all(0);
  for (int p = 0; p < PLACES; p++) {
    const float *from = image + offsets[p];
    ALL for (int v = 0; v < vectors; v++) {
      const int count = v + 1 < vectors ? LANES : part;
      const vector weight = load(filter + p * CHANNELS + v * LANES, count);
      ALL for (int x = 0; x < pixels; x++) sums[x][v] += load(from + x * PIXEL + v * LANES, count) * weight;
    }
  }
  ALL for (int x = 0; x < pixels; x++)
    ALL for (int v = 0; v < vectors; v++) {
      const index at = start + x * CHANNELS + v * LANES;
      const int count = v + 1 < vectors ? LANES : part;
      store(result + at, finished(sums[x][v], given, at, 0, channel + v * LANES, count), count);
    }
}

ALWAYS void channels(const float *image, const float *filter, extras given, float *result, index start, index channel,
                     const int vectors, const int part) {
  index x = 0;
  for (; x + PIXELS <= WIDTH; x += PIXELS)
    tile(image + x * PIXEL, filter, given, result, start + x * CHANNELS, channel, PIXELS, vectors, part);
  if (WIDTH % PIXELS)
    tile(image + x * PIXEL, filter, given, result, start + x * CHANNELS, channel, WIDTH % PIXELS, vectors, part);
}

#define EXTRA(name) const float *name,
void ENTRY(const float *image, const float *filter, EXTRAS float *result, index number, index y, index z) {
#undef EXTRA
#define EXTRA(name) .name = name,
  extras given = {EXTRAS};
  const index begin = number * PART, end = begin + PART < LINES ? begin + PART : LINES;
  for (index line = begin; line < end; line++) {
    const float *from = image + line / LINES_OF_IMAGE * IMAGE + line % LINES_OF_IMAGE * LINE;
    index c = 0;
    for (; c + WIDE <= CHANNELS; c += WIDE)
      channels(from + c, filter + c, given, result, line * WIDTH * CHANNELS + c, c, VECTORS, LANES);
    if (TAIL) channels(from + c, filter + c, given, result, line * WIDTH * CHANNELS + c, c, TAIL_VECTORS, LAST);
  }
}
