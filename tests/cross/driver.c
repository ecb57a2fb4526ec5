// Runs a kernel object of any instruction family on fixed pseudo-random tensors and prints a
// hash of the output's bits. Plain C without the runtime, so that it cross-compiles; linked
// with the object under test. Arguments: dtype (f32 or bf16), head dim, queries, keys.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

// codegen/cpu/KernelAbi.h in C.
struct capture_arg {
  const void *data;
  int64_t shape[8], strides[8];
};
struct kernel_args {
  const void *query, *key, *value;
  void *output;
  float *lse;
  int64_t query_strides[3], key_strides[3], value_strides[3], output_strides[3], lse_strides[3];
  int64_t batch, heads, kv_heads, query_length, kv_length, query_offset, scale_bits;
  const uint32_t *params;
  const struct capture_arg *captures;
};
struct tile_run {
  int32_t first, count;
  int64_t is_partial;
};
struct kernel_task {
  int64_t batch_index, head_index, first_row, row_count;
  void *scratch;
  const struct tile_run *runs;
  int64_t run_count;
};

#define DECLARE(suffix)                                                                                                \
  extern const int64_t attnc_info##suffix[4];                                                                          \
  void attnc_begin##suffix(const struct kernel_args *, const struct kernel_task *);                                    \
  void attnc_split##suffix(const struct kernel_args *, const struct kernel_task *);                                    \
  void attnc_merge##suffix(const struct kernel_args *, const struct kernel_task *, const float *);                     \
  void attnc_finish##suffix(const struct kernel_args *, const struct kernel_task *);
DECLARE(_wide)
DECLARE(_narrow)

static uint32_t state = 12345;
static float next_value(void) {
  state = state * 1664525u + 1013904223u;
  return (float)(int32_t)state * 0x1p-30f;
}

static void fill(void *data, long count, int is_bf16) {
  for (long i = 0; i < count; ++i) {
    float value = next_value();
    uint32_t bits;
    memcpy(&bits, &value, 4);
    if (is_bf16)
      ((uint16_t *)data)[i] = (uint16_t)(bits >> 16);
    else
      ((float *)data)[i] = value;
  }
}

// What FloatEnvironment does in the runtime: bf16 kernels flush subnormals.
static void flush_subnormals(void) {
#if defined(__x86_64__)
  _mm_setcsr(_mm_getcsr() | 0x8040);
#elif defined(__aarch64__)
  uint64_t control;
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  __asm__ volatile("msr fpcr, %0" : : "r"(control | (1u << 24)));
#endif
}

int main(int argc, char **argv) {
  if (argc != 5)
    return 2;
  const int is_bf16 = strcmp(argv[1], "bf16") == 0, size = is_bf16 ? 2 : 4;
  const long dim = atol(argv[2]), queries = atol(argv[3]), keys = atol(argv[4]);
  const int narrow = queries <= attnc_info_narrow[0];
  const int64_t *info = narrow ? attnc_info_narrow : attnc_info_wide;
  void *q = malloc(queries * dim * size), *k = malloc(keys * dim * size), *v = malloc(keys * dim * size);
  unsigned char *o = calloc(queries * dim, size);
  float *lse = calloc(queries, 4);
  fill(q, queries * dim, is_bf16);
  fill(k, keys * dim, is_bf16);
  fill(v, keys * dim, is_bf16);
  const float scale = 1.0f / sqrtf((float)dim), cap = 50.0f;
  uint32_t params[4];
  for (int i = 0; i < 4; ++i)
    memcpy(&params[i], &cap, 4);
  struct kernel_args args = {q, k, v, o, lse, {0, 0, dim}, {0, 0, dim}, {0, 0, dim}, {0, 0, dim}, {0, 0, 1},
                             1, 1, 1, queries, keys, 0, 0, params, 0};
  memcpy(&args.scale_bits, &scale, 4);
  if (is_bf16)
    flush_subnormals();
  struct kernel_task task = {0};
  task.scratch = aligned_alloc(64, (size_t)(info[1] + 63) / 64 * 64);
  const long tiles = (keys + 63) / 64;
  for (long row = 0; row < queries; row += info[0]) {
    task.first_row = row;
    task.row_count = queries - row < info[0] ? queries - row : info[0];
    (narrow ? attnc_begin_narrow : attnc_begin_wide)(&args, &task);
    for (long first = 0; first < tiles; first += 4) { // splits of 256 keys, all tiles partial
      struct tile_run run = {(int32_t)first, (int32_t)(tiles - first < 4 ? tiles - first : 4), 1};
      task.runs = &run;
      task.run_count = 1;
      (narrow ? attnc_split_narrow : attnc_split_wide)(&args, &task);
      (narrow ? attnc_merge_narrow : attnc_merge_wide)(&args, &task, (float *)((char *)task.scratch + info[2]));
    }
    (narrow ? attnc_finish_narrow : attnc_finish_wide)(&args, &task);
  }
  uint64_t hash = 1469598103934665603u;
  for (long i = 0; i < queries * dim * size; ++i)
    hash = (hash ^ o[i]) * 1099511628211u;
  for (long i = 0; i < queries * 4; ++i)
    hash = (hash ^ ((unsigned char *)lse)[i]) * 1099511628211u;
  printf("%016llx\n", (unsigned long long)hash);
  return 0;
}
