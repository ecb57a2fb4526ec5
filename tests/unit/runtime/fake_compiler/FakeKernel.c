/* Attention in scalar C by the rules of codegen/cpu/KernelAbi.h: f32, head dim 8, value
 * dim 4, no mods, except that partial tiles are masked causally when param 0 is 1. Naive
 * on purpose: it stands in for compiled kernels where cache and launch are tested. */
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { kHeadDim = 8, kValueDim = 4, kBlockN = 64 };

typedef struct {
  const float *query, *key, *value;
  float *output, *lse;
  int64_t queryStrides[3], keyStrides[3], valueStrides[3], outputStrides[3], lseStrides[3];
  int64_t batch, heads, kvHeads, queryLength, kvLength, queryOffset, scaleBits;
  const uint32_t *params;
  const void *captures;
} Args;

typedef struct {
  int32_t first, count;
  int64_t isPartial;
} Run;

typedef struct {
  int64_t batchIndex, headIndex, firstRow, rowCount;
  float *scratch;
  const Run *runs;
  int64_t runCount;
} Task;

/* m, l, O of one row; scratch holds the carry of all rows, then the partial. */
typedef struct {
  float m, l, o[kValueDim];
} State;

static float exponential(float x) {
  if (x < -80)
    return 0;
  float n = rintf(x * 1.44269504f), r = x - n * 0.693147181f;
  float p = 1 + r * (1 + r * (0.5f + r * (1 / 6.f + r * (1 / 24.f + r * (1 / 120.f)))));
  uint32_t bits = (uint32_t)((int32_t)n + 127) << 23;
  float scale;
  memcpy(&scale, &bits, 4);
  return p * scale;
}

static float logarithm(float x) { /* Newton from a guess by the exponent */
  uint32_t bits;
  memcpy(&bits, &x, 4);
  float y = ((int32_t)(bits >> 23) - 127) * 0.693147181f;
  for (int i = 0; i < 6; ++i)
    y += x * exponential(-y) - 1;
  return y;
}

static State empty(void) {
  State state = {-INFINITY, 0, {0}};
  return state;
}

static void combine(State *into, const State *other) {
  if (other->l == 0)
    return;
  float m = into->m > other->m ? into->m : other->m;
  float a = into->l == 0 ? 0 : exponential(into->m - m), b = exponential(other->m - m);
  into->m = m;
  into->l = into->l * a + other->l * b;
  for (int d = 0; d < kValueDim; ++d)
    into->o[d] = into->o[d] * a + other->o[d] * b;
}

static void split(const Args *a, const Task *t, State *partial) {
  float scale;
  memcpy(&scale, &a->scaleBits, 4);
  int64_t kvHead = t->headIndex / (a->heads / a->kvHeads);
  for (int64_t row = 0; row < t->rowCount; ++row) {
    State state = empty();
    const float *q = a->query + t->batchIndex * a->queryStrides[0] + t->headIndex * a->queryStrides[1] +
                     (t->firstRow + row) * a->queryStrides[2];
    for (int64_t r = 0; r < t->runCount; ++r)
      for (int64_t kv = (int64_t)t->runs[r].first * kBlockN;
           kv < (int64_t)(t->runs[r].first + t->runs[r].count) * kBlockN && kv < a->kvLength; ++kv) {
        if (t->runs[r].isPartial && a->params[0] && kv > a->queryOffset + t->firstRow + row)
          continue;
        const float *k = a->key + t->batchIndex * a->keyStrides[0] + kvHead * a->keyStrides[1] + kv * a->keyStrides[2];
        const float *v =
            a->value + t->batchIndex * a->valueStrides[0] + kvHead * a->valueStrides[1] + kv * a->valueStrides[2];
        State one = empty();
        one.l = 1;
        one.m = 0;
        for (int d = 0; d < kHeadDim; ++d)
          one.m += q[d] * k[d];
        one.m *= scale;
        memcpy(one.o, v, sizeof one.o);
        combine(&state, &one);
      }
    partial[row] = state;
  }
}

static void finish(const Args *a, const Task *t, const State *carry) {
  for (int64_t row = 0; row < t->rowCount; ++row) {
    int64_t index = t->firstRow + row;
    float *o = a->output + t->batchIndex * a->outputStrides[0] + t->headIndex * a->outputStrides[1] +
               index * a->outputStrides[2];
    for (int d = 0; d < kValueDim; ++d)
      o[d] = carry[row].l == 0 ? 0 : carry[row].o[d] / carry[row].l;
    if (a->lse)
      a->lse[t->batchIndex * a->lseStrides[0] + t->headIndex * a->lseStrides[1] + index * a->lseStrides[2]] =
          carry[row].l == 0 ? -INFINITY : carry[row].m + logarithm(carry[row].l);
  }
}

#define SCHEDULE(suffix, blockM)                                                                                       \
  void attnc_begin##suffix(const Args *a, const Task *t) {                                                             \
    for (int row = 0; row < blockM; ++row)                                                                             \
      ((State *)t->scratch)[row] = empty();                                                                            \
  }                                                                                                                    \
  void attnc_split##suffix(const Args *a, const Task *t) { split(a, t, (State *)t->scratch + blockM); }                \
  void attnc_merge##suffix(const Args *a, const Task *t, const float *partial) {                                       \
    for (int64_t row = 0; row < t->rowCount; ++row)                                                                    \
      combine((State *)t->scratch + row, (const State *)partial + row);                                                \
  }                                                                                                                    \
  void attnc_finish##suffix(const Args *a, const Task *t) { finish(a, t, (State *)t->scratch); }

SCHEDULE(_wide, 64)
SCHEDULE(_narrow, 16)
