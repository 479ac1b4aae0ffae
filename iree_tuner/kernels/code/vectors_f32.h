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

// Numbers of 16 bits, which are computed with as f32.
typedef struct { unsigned short bits; } bf16;
typedef struct { unsigned short bits; } f16;
typedef unsigned short shorts __attribute__((vector_size(LANES * 2), aligned(2), may_alias));
typedef unsigned wides __attribute__((vector_size(LANES * 4)));

// Load `count` elements into a vector, with zeros after them.
ALWAYS vector load_float(const float *from, const int count) {
  if (count == LANES) return *(const vector *)from;
#if LANES == 16 && defined(__AVX512F__)
  return (vector)_mm512_maskz_loadu_ps((__mmask16)((1u << count) - 1), from);
#else
  vector found = {0};
  ALL for (int i = 0; i < count; i++) found[i] = from[i];
  return found;
#endif
}

ALWAYS void store_float(float *to, vector value, const int count) {
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

// gcc converts vectors of 16-bit numbers half by half, at half the speed of the instruction for it.
ALWAYS vector widened_bf16(shorts from) {
#if LANES == 16 && defined(__AVX512F__)
  return (vector)_mm512_slli_epi32(_mm512_cvtepu16_epi32((__m256i)from), 16);
#elif LANES == 8 && defined(__AVX2__)
  return (vector)_mm256_slli_epi32(_mm256_cvtepu16_epi32((__m128i)from), 16);
#else
  return (vector)(__builtin_convertvector(from, wides) << 16);
#endif
}

// To the nearest, of two the even one. A NaN stays one: its last bits may not be all that is left of it.
ALWAYS shorts narrowed_bf16(vector from) {
  const wides bits = (wides)from, nearest = bits + 0x7fff + (bits >> 16 & 1);
  const wides number = (wides)(from == from);
  return __builtin_convertvector(((number & nearest) | (~number & (bits | 0x400000))) >> 16, shorts);
}

// F16C, and what Arm always has. Kernels refuse f16 where neither is there.
#if defined(__F16C__) && LANES == 16
ALWAYS vector widened_f16(shorts from) { return (vector)_mm512_cvtph_ps((__m256i)from); }
ALWAYS shorts narrowed_f16(vector from) { return (shorts)_mm512_cvtps_ph((__m512)from, 0); }
#elif defined(__F16C__) && LANES == 8
ALWAYS vector widened_f16(shorts from) { return (vector)_mm256_cvtph_ps((__m128i)from); }
ALWAYS shorts narrowed_f16(vector from) { return (shorts)_mm256_cvtps_ph((__m256)from, 0); }
#elif defined(__ARM_NEON) && LANES == 4
ALWAYS vector widened_f16(shorts from) { return (vector)vcvt_f32_f16((float16x4_t)from); }
ALWAYS shorts narrowed_f16(vector from) { return (shorts)vcvt_f16_f32((float32x4_t)from); }
#else
ALWAYS vector widened_f16(shorts from) { return widened_bf16(from); }
ALWAYS shorts narrowed_f16(vector from) { return narrowed_bf16(from); }
#endif

#define NARROW(type)                                                                               \
  ALWAYS vector load_##type(const type *from, const int count) {                                  \
    if (count == LANES) return widened_##type(*(const shorts *)from);                              \
    shorts found = {0};                                                                            \
    ALL for (int i = 0; i < count; i++) found[i] = from[i].bits;                                   \
    return widened_##type(found);                                                                  \
  }                                                                                                \
  ALWAYS void store_##type(type *to, vector value, const int count) {                             \
    const shorts found = narrowed_##type(value);                                                   \
    if (count == LANES) *(shorts *)to = found;                                                     \
    else ALL for (int i = 0; i < count; i++) to[i].bits = found[i];                                \
  }                                                                                                \
  ALWAYS vector rounded_##type(vector x) { return widened_##type(narrowed_##type(x)); }            \
  ALWAYS float value_##type(const type *from) { return load_##type(from, 1)[0]; }
NARROW(bf16)
NARROW(f16)
ALWAYS vector rounded_float(vector x) { return x; }
ALWAYS float value_float(const float *from) { return *from; }

// The function for what a pointer points to.
#define OF(name, from) _Generic(*(from), float: name##_float, bf16: name##_bf16, f16: name##_f16)
#define load(from, count) OF(load, from)(from, count)
#define store(to, value, count) OF(store, to)(to, value, count)
#define value(from) OF(value, from)(from)

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

ALWAYS four four_float(const float *from) { return *(const four *)from; }
#define FOUR(type)                                                                                 \
  ALWAYS four four_##type(const type *from) {                                                      \
    return (four){value_##type(from), value_##type(from + 1), value_##type(from + 2), value_##type(from + 3)}; \
  }
#if LANES == 4
#undef FOUR
#define FOUR(type) ALWAYS four four_##type(const type *from) { return load_##type(from, 4); }
#endif
FOUR(bf16)
FOUR(f16)

// Transpose a 4 x 4 matrix: `row` and `to_row` are the distances of rows.
ALWAYS void turn_fours(four a, four b, four c, four d, float *to, index to_row) {
  const four e = __builtin_shufflevector(a, b, 0, 4, 1, 5), f = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const four g = __builtin_shufflevector(c, d, 0, 4, 1, 5), h = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  *(four *)to = __builtin_shufflevector(e, g, 0, 1, 4, 5);
  *(four *)(to + to_row) = __builtin_shufflevector(e, g, 2, 3, 6, 7);
  *(four *)(to + 2 * to_row) = __builtin_shufflevector(f, h, 0, 1, 4, 5);
  *(four *)(to + 3 * to_row) = __builtin_shufflevector(f, h, 2, 3, 6, 7);
}
#define FOUR_OF(from) OF(four, from)(from)
#define turn(from, row, to, to_row) \
  turn_fours(FOUR_OF(from), FOUR_OF((from) + (row)), FOUR_OF((from) + 2 * (row)), FOUR_OF((from) + 3 * (row)), to, to_row)
