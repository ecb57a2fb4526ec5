/* What kernels are made of: constants in memory, a call within the object, calls outside
 * of it, a table of jumps. */
#include <stddef.h>

void *memcpy(void *, const void *, size_t);
float fmaf(float, float, float);

const float table[16] __attribute__((aligned(64))) = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

__attribute__((noinline)) float lookUp(int index) { return table[index & 15]; }

float combine(int index, float x) { return fmaf(lookUp(index), x, 0.123456789f); }

void copyTable(float *into, size_t count) { memcpy(into, table, count * sizeof(float)); }

double choose(int which, double x) {
  switch (which) {
  case 0:
    return x * 1.5;
  case 1:
    return x - 2.25;
  case 2:
    return 1 / x;
  case 3:
    return x * x;
  case 4:
    return -x;
  case 5:
    return x * 1e300;
  default:
    return 42.5;
  }
}
