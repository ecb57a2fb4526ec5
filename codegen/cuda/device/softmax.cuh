// Online softmax of one warp's rows, and the merge of splits. Row state is per lane: two
// rows (`half` 0 and 1), the maximum shared by the four lanes of a row, the sum their own
// part until `finishSum`.
//
// `unit` is the positive factor from the unit of scores to log2. A tile in which a row
// sees nothing leaves the row as it was, bit for bit: maximum equal, factor 2^0 = 1,
// weights 0.

struct RowState {
  float maximum[2];
  float sum[2];
};

ATTNC_DEVICE float rowMaximum(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}
ATTNC_DEVICE float finishSum(float x) {
  x = __fadd_rn(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return __fadd_rn(x, __shfl_xor_sync(0xffffffffu, x, 2));
}

// What exponents are taken relative to: 0 while a row has seen nothing.
ATTNC_DEVICE float referenceOf(float maximum) { return maximum == -infinity() ? 0.f : maximum; }

// 2^((from - to) unit): exactly 1 where both are equal, 0 where `from` is -infinity.
ATTNC_DEVICE float rescaleFactor(float from, float to, float unit) {
  return exp2Approx(__fmul_rn(__fsub_rn(from, to), unit));
}

// Scores become weights; `output` is rescaled to the new maximum.
template <int kScoreTiles, int kOutputTiles>
ATTNC_DEVICE void softmaxTile(float (&scores)[kScoreTiles][4], float (&output)[kOutputTiles][4], RowState &state,
                              float unit) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float maximum = state.maximum[half];
#pragma unroll
    for (int n = 0; n < kScoreTiles; ++n)
      maximum = fmaxf(maximum, fmaxf(scores[n][2 * half], scores[n][2 * half + 1]));
    maximum = rowMaximum(maximum);
    const float reference = referenceOf(maximum);
    const float alpha = rescaleFactor(state.maximum[half], reference, unit);
    const float shift = -__fmul_rn(reference, unit);
    state.maximum[half] = maximum;
    float sum = 0.f;
#pragma unroll
    for (int n = 0; n < kScoreTiles; ++n)
#pragma unroll
      for (int column = 0; column < 2; ++column) {
        float &score = scores[n][2 * half + column];
        score = exp2Approx(__fmaf_rn(score, unit, shift));
        sum = __fadd_rn(sum, score);
      }
    state.sum[half] = __fmaf_rn(state.sum[half], alpha, sum);
#pragma unroll
    for (int n = 0; n < kOutputTiles; ++n) {
      output[n][2 * half] = __fmul_rn(output[n][2 * half], alpha);
      output[n][2 * half + 1] = __fmul_rn(output[n][2 * half + 1], alpha);
    }
  }
}

// The factors of merge((M, L, O), (m, l, o)) = (M', L a + l b, O a + o b). The one formula
// by which splits are joined, here between tiles and in every later combine.
struct MergeFactors {
  float maximum, carry, partial;
};
ATTNC_DEVICE MergeFactors mergeFactors(float carryMaximum, float partialMaximum, float unit) {
  MergeFactors factors;
  factors.maximum = fmaxf(carryMaximum, partialMaximum);
  const float reference = referenceOf(factors.maximum);
  factors.carry = rescaleFactor(carryMaximum, reference, unit);
  factors.partial = rescaleFactor(partialMaximum, reference, unit);
  return factors;
}
ATTNC_DEVICE float merge(float carry, float partial, const MergeFactors &factors) {
  return __fmaf_rn(carry, factors.carry, __fmul_rn(partial, factors.partial));
}
