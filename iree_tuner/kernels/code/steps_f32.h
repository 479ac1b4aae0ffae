// The epilogue of sums before they are stored. Macros:
//   EXTRAS   operands in their order: EXTRA(bias), EXTRA(residual)
//   STEPS    steps in order: STEP(bias), STEP(residual), STEP(relu), STEP(gelu), STEP(gelu_tanh), STEP(truncf)
//   RESULT, BIAS, CHANNEL_BIAS, RESIDUAL   types of the result and of operands, float where they are not given

#ifndef RESULT
#define RESULT float
#endif
#ifndef BIAS
#define BIAS float
#endif
#ifndef CHANNEL_BIAS
#define CHANNEL_BIAS float
#endif
#ifndef RESIDUAL
#define RESIDUAL float
#endif
typedef RESULT type_of_result;
typedef BIAS type_of_bias;
typedef CHANNEL_BIAS type_of_channel_bias;
typedef RESIDUAL type_of_residual;

// Operands of the epilogue; missing ones are null.
typedef struct {
  const type_of_bias *bias;
  const type_of_channel_bias *channel_bias;
  const type_of_residual *residual;
} extras;

ALWAYS vector within(vector x, float limit) {
  x = choose(x > all(limit), all(limit), x);
  return choose(x < all(-limit), all(-limit), x);
}

// erf and tanh as an odd polynomial divided by an even one. XLA has the coefficients from Eigen (Apache-2.0:
// xla/mlir_hlo, chlo_legalize_to_hlo, MaterializeErfApproximationF32; xla/service/llvm_ir/math_ops.cc, EmitFastTanh).
// The error is at most 3.6e-7, three epsilons (test/unit/kernels/test_c_epilogues.py); 1 where that is the nearest float.
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

// The steps of an epilogue, on a vector of the result: its offset is `place`, its row `row`, its first column `column`.
#define STEP_OF(name) ALWAYS vector name##_of(vector x, extras given, index place, index row, index column, const int count)
STEP_OF(bias) { return x + load(given.bias + column, count); }
STEP_OF(channel_bias) { return x + value(given.channel_bias + row); }
STEP_OF(residual) { return x + load(given.residual + place, count); }
STEP_OF(relu) { return choose(x <= all(0), all(0), x); }
STEP_OF(relu_ordered) { return choose(x > all(0), x, all(0)); }
STEP_OF(at_most_6) { return choose(x >= all(6), all(6), x); }
STEP_OF(truncf) { return OF(rounded, (type_of_result *)0)(x); }
STEP_OF(gelu) { return x * 0.5f * (erf_of(x * 0.70710678f) + 1); }
STEP_OF(gelu_tanh) { return x * 0.5f * (tanh_of(0.79788456f * (x + 0.044715f * x * x * x)) + 1); }

#define STEP(name) sum = name##_of(sum, given, place, row, column, count);
ALWAYS vector finished(vector sum, extras given, index place, index row, index column, const int count) {
  STEPS
  return sum;
}
