// Vectors of LANES 32-bit integers, dot products of their four bytes, and the scalar ops of formulas.
// Included after vectors_f32.h. Macros:
//   EXTRAS    operands of the formula: EXTRA(0, float) EXTRA(1, i8)
//   FORMULA   statements that compute `found` from `sum`
//   RESULT    type of the result: float, int or i8

typedef signed char i8;
typedef int ints __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef unsigned uints __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef i8 quarter __attribute__((vector_size(LANES), aligned(1), may_alias));
typedef unsigned char bytes __attribute__((vector_size(LANES * 4), aligned(1), may_alias));

ALWAYS ints every(int value) { return (ints){0} + value; }

ALWAYS quarter quarter_at(const void *from, const int count) {
  if (count == LANES) return *(const quarter *)from;
#if LANES == 16 && defined(__AVX512BW__) && defined(__AVX512VL__)
  return (quarter)_mm_maskz_loadu_epi8((__mmask16)((1u << count) - 1), from);
#else
  quarter found = {0};
  ALL for (int i = 0; i < count; i++) found[i] = ((const i8 *)from)[i];
  return found;
#endif
}

// Load and store the first `count` elements of a vector. 8-bit elements are sign-extended in vectors.
ALWAYS ints load_int(const int *from, const int count) { return (ints)load((const float *)from, count); }
ALWAYS ints load_i8(const i8 *from, const int count) { return __builtin_convertvector(quarter_at(from, count), ints); }
ALWAYS void store_int(int *to, ints value, const int count) { store((float *)to, (vector)value, count); }
ALWAYS void store_i8(i8 *to, ints value, const int count) {
  const quarter found = __builtin_convertvector(value, quarter);
  if (count == LANES) {
    *(quarter *)to = found;
    return;
  }
#if LANES == 16 && defined(__AVX512BW__) && defined(__AVX512VL__)
  _mm_mask_storeu_epi8(to, (__mmask16)((1u << count) - 1), (__m128i)found);
#else
  ALL for (int i = 0; i < count; i++) to[i] = found[i];
#endif
}

// Add the dot product of four unsigned and four signed bytes to each element. PAIRS avoids the instruction for it.
#if LANES == 16 && defined(__AVX512VNNI__) && !defined(PAIRS)
ALWAYS ints dot(ints sum, ints one, ints other) { return (ints)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)one, (__m512i)other); }
#elif LANES == 8 && defined(__AVXVNNI__) && !defined(PAIRS)
ALWAYS ints dot(ints sum, ints one, ints other) { return (ints)_mm256_dpbusd_avx_epi32((__m256i)sum, (__m256i)one, (__m256i)other); }
#elif LANES == 16 && defined(__AVX512BW__)
ALWAYS ints dot(ints sum, ints one, ints other) {  // exact: sums of two products may overflow 16 bits
  const __m512i x = (__m512i)one, y = (__m512i)other, low = _mm512_set1_epi16(255);
  const __m512i even = _mm512_madd_epi16(_mm512_and_si512(x, low), _mm512_srai_epi16(_mm512_slli_epi16(y, 8), 8));
  return sum + (ints)even + (ints)_mm512_madd_epi16(_mm512_srli_epi16(x, 8), _mm512_srai_epi16(y, 8));
}
#elif LANES == 8 && defined(__AVX2__)
ALWAYS ints dot(ints sum, ints one, ints other) {
  const __m256i x = (__m256i)one, y = (__m256i)other, low = _mm256_set1_epi16(255);
  const __m256i even = _mm256_madd_epi16(_mm256_and_si256(x, low), _mm256_srai_epi16(_mm256_slli_epi16(y, 8), 8));
  return sum + (ints)even + (ints)_mm256_madd_epi16(_mm256_srli_epi16(x, 8), _mm256_srai_epi16(y, 8));
}
#else
ALWAYS ints dot(ints sum, ints one, ints other) {
  ALL for (int i = 0; i < 32; i += 8) sum += ((one >> i) & 255) * ((other << (24 - i)) >> 24);
  return sum;
}
#endif

// Scalar ops as MLIR defines them. The maximum of a NaN is a NaN; `larger` and `smaller` return their second operand.
ALWAYS vector smaller(vector one, vector other) {
#if LANES == 16 && defined(__AVX512F__)
  return (vector)_mm512_min_ps((__m512)one, (__m512)other);
#elif LANES == 8 && defined(__AVX2__)
  return (vector)_mm256_min_ps((__m256)one, (__m256)other);
#else
  return choose(one < other, one, other);
#endif
}
ALWAYS vector maximumf(vector one, vector other) { return choose(one != one, one, larger(one, other)); }
ALWAYS vector minimumf(vector one, vector other) { return choose(one != one, one, smaller(one, other)); }
ALWAYS vector addf(vector one, vector other) { return one + other; }
ALWAYS vector subf(vector one, vector other) { return one - other; }
ALWAYS vector mulf(vector one, vector other) { return one * other; }
ALWAYS vector divf(vector one, vector other) { return one / other; }
// A fused multiply-add, which rounds once, as in the code of compiler 3.13.
ALWAYS vector fused(vector one, vector other, vector more) {
#if LANES == 16 && defined(__AVX512F__)
  return (vector)_mm512_fmadd_ps((__m512)one, (__m512)other, (__m512)more);
#elif LANES == 8 && defined(__FMA__)
  return (vector)_mm256_fmadd_ps((__m256)one, (__m256)other, (__m256)more);
#elif LANES == 4 && defined(__ARM_NEON)
  return (vector)vfmaq_f32((float32x4_t)more, (float32x4_t)one, (float32x4_t)other);
#else
  return one * other + more;
#endif
}
ALWAYS vector negf(vector one) { return -one; }
ALWAYS vector roundeven(vector x) {
#if LANES == 16 && defined(__AVX512F__)
  return (vector)_mm512_roundscale_ps((__m512)x, 8);
#elif LANES == 8 && defined(__AVX2__)
  return (vector)_mm256_round_ps((__m256)x, 8);
#elif LANES == 4 && defined(__ARM_NEON)
  return (vector)vrndnq_f32((float32x4_t)x);
#else
  const vector big = (vector)(((ints)x & every(1 << 31)) | (ints)all(8388608.0f));  // floats of this size are 1 apart
  const vector found = (x + big) - big;
  return choose((x < all(8388608.0f)) & (x > all(-8388608.0f)), (vector)((ints)found | ((ints)x & every(1 << 31))), x);
#endif
}
ALWAYS ints addi(ints one, ints other) { return one + other; }
ALWAYS ints subi(ints one, ints other) { return one - other; }
ALWAYS ints muli(ints one, ints other) { return one * other; }
ALWAYS ints maxsi(ints one, ints other) { const ints more = one > other; return (one & more) | (other & ~more); }
ALWAYS ints minsi(ints one, ints other) { const ints less = one < other; return (one & less) | (other & ~less); }
ALWAYS ints with_sign(ints x) { return (x << 24) >> 24; }
ALWAYS vector sitofp(ints x) { return __builtin_convertvector(x, vector); }
ALWAYS vector uitofp_i8(ints x) { return sitofp(x & 255); }
ALWAYS vector uitofp_i32(ints x) { return __builtin_convertvector((uints)x, vector); }
ALWAYS ints fptosi(vector x) { return __builtin_convertvector(x, ints); }
ALWAYS ints fptoui_i8(vector x) { return with_sign(fptosi(x)); }
ALWAYS ints fptoui_i32(vector x) { return (ints)__builtin_convertvector(x, uints); }
ALWAYS ints extsi(ints x) { return x; }
ALWAYS ints extui(ints x) { return x & 255; }
ALWAYS ints trunci(ints x) { return with_sign(x); }

#define EXTRA(number, type) const type *e##number;
typedef struct {
  EXTRAS int none;
} extras;
#undef EXTRA

#define NAMED(name, type) name##_##type
#define STORED(name, type) NAMED(name, type)
// Compute results from a vector of sums, and store them at the offset `place`; `column` is the first column.
ALWAYS void finish(ints sum, extras given, RESULT *result, index place, index column, const int count) {
  FORMULA
  STORED(store, RESULT)(result + place, found, count);
}
