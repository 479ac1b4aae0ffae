// Vectors of LANES f32, and the functions of C kernels on them. LANES is a macro.

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

typedef float vector __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int mask __attribute__((vector_size(LANES * 4)));
typedef float four __attribute__((vector_size(16), aligned(4), may_alias));
typedef long index;

#define ALWAYS static inline __attribute__((always_inline))
#define TEXT(x) _Pragma(#x)
#ifdef __clang__
#define ALL _Pragma("unroll")
#define TIMES(n) TEXT(unroll n)
#else
#define ALL _Pragma("GCC unroll 32")
#define TIMES(n) TEXT(GCC unroll n)
#endif

// Load `count` elements into a vector, with zeros after them.
ALWAYS vector load(const float *from, const int count) {
  if (count == LANES) return *(const vector *)from;
#if LANES == 16 && defined(__AVX512F__)
  return (vector)_mm512_maskz_loadu_ps((__mmask16)((1u << count) - 1), from);
#else
  vector found = {0};
  ALL for (int i = 0; i < count; i++) found[i] = from[i];
  return found;
#endif
}

ALWAYS void store(float *to, vector value, const int count) {
  if (count == LANES) {
    *(vector *)to = value;
    return;
  }
#if LANES == 16 && defined(__AVX512F__)
  _mm512_mask_storeu_ps(to, (__mmask16)((1u << count) - 1), (__m512)value);
#else
  ALL for (int i = 0; i < count; i++) to[i] = value[i];
#endif
}

// `one` where the mask is set, otherwise `other`. Comparisons with a NaN are false.
ALWAYS vector choose(mask which, vector one, vector other) { return (vector)((which & (mask)one) | (~which & (mask)other)); }

// A vector of equal elements. Compilers read it from memory in one instruction, which `(vector){0} + value` is not: gcc
// adds 0 first, because of -0, and the sum takes the place of a product.
#if LANES == 16
#define EQUAL(x) x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x
#elif LANES == 8
#define EQUAL(x) x, x, x, x, x, x, x, x
#else
#define EQUAL(x) x, x, x, x
#endif
ALWAYS vector all(float value) { return (vector){EQUAL(value)}; }

// The larger of two values; the second one if either is a NaN.
ALWAYS vector larger(vector one, vector other) {
#if LANES == 16 && defined(__AVX512F__)
  return (vector)_mm512_max_ps((__m512)one, (__m512)other);
#elif LANES == 8 && defined(__AVX2__)
  return (vector)_mm256_max_ps((__m256)one, (__m256)other);
#else
  return choose(one > other, one, other);
#endif
}
ALWAYS vector sum_of(vector one, vector other) { return one + other; }

// Combine the elements of a vector in pairs.
#if LANES == 16
#define HALVED(x, join)                                                                            \
  x = join(x, __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)); \
  x = join(x, __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11)); \
  x = join(x, __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13));
#elif LANES == 8
#define HALVED(x, join)                                                    \
  x = join(x, __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3));      \
  x = join(x, __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5));
#else
#define HALVED(x, join) x = join(x, __builtin_shufflevector(x, x, 2, 3, 0, 1));
#endif

ALWAYS float total(vector x) {
  HALVED(x, sum_of)
  return x[0] + x[1];
}

ALWAYS float largest(vector x) {
  HALVED(x, larger)
  return x[0] > x[1] ? x[0] : x[1];
}

// Transpose a 4 x 4 matrix: `row` and `to_row` are the distances of rows.
ALWAYS void turn(const float *from, index row, float *to, index to_row) {
  const four a = *(const four *)from, b = *(const four *)(from + row);
  const four c = *(const four *)(from + 2 * row), d = *(const four *)(from + 3 * row);
  const four e = __builtin_shufflevector(a, b, 0, 4, 1, 5), f = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const four g = __builtin_shufflevector(c, d, 0, 4, 1, 5), h = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  *(four *)to = __builtin_shufflevector(e, g, 0, 1, 4, 5);
  *(four *)(to + to_row) = __builtin_shufflevector(e, g, 2, 3, 6, 7);
  *(four *)(to + 2 * to_row) = __builtin_shufflevector(f, h, 0, 1, 4, 5);
  *(four *)(to + 3 * to_row) = __builtin_shufflevector(f, h, 2, 3, 6, 7);
}
