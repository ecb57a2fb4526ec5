// What the operations of a variant mean on the device, where C++ has no operator that
// means the same. docs/language.md is the specification; labels name its rules.

// Division rounded down, total: by 0 both results are 0; by -1 the quotient wraps (div_c1).
ATTNC_DEVICE int floorDiv(int a, int b) {
  if (b == 0)
    return 0;
  if (b == -1)
    return (int)(0u - (u32)a);
  const int quotient = a / b, rest = a - quotient * b;
  return quotient - (rest != 0 && (rest ^ b) < 0);
}
ATTNC_DEVICE int floorMod(int a, int b) {
  if (b == 0 || b == -1)
    return 0;
  const int rest = a % b;
  return rest != 0 && (rest ^ b) < 0 ? rest + b : rest;
}
ATTNC_DEVICE int wrapAdd(int a, int b) { return (int)((u32)a + (u32)b); }
ATTNC_DEVICE int wrapSub(int a, int b) { return (int)((u32)a - (u32)b); }
ATTNC_DEVICE int wrapMul(int a, int b) { return (int)((u32)a * (u32)b); }
ATTNC_DEVICE int wrapAbs(int a) { return a < 0 ? wrapSub(0, a) : a; }
ATTNC_DEVICE int shiftLeft(int a, int amount) { return (int)((u32)a << (amount & 31)); }
ATTNC_DEVICE int shiftRight(int a, int amount) { return a >> (amount & 31); }

// NaN if either is.
ATTNC_DEVICE float minNan(float a, float b) { return a != a ? a : b != b ? b : fminf(a, b); }
ATTNC_DEVICE float maxNan(float a, float b) { return a != a ? a : b != b ? b : fmaxf(a, b); }

// Toward zero, saturating, NaN to 0.
ATTNC_DEVICE int toInt(float x) { return x != x ? 0 : __float2int_rz(x); }

// Captured tensors: indices are clamped to the shape (load_c2).
ATTNC_DEVICE long long captureAxis(const attnc_device::Capture &capture, int axis, int index) {
  const int last = capture.shape[axis] - 1;
  return (long long)min(max(index, 0), last) * capture.strides[axis];
}
ATTNC_DEVICE float loadF32(const attnc_device::Capture &c, long long at) { return ((const float *)c.data)[at]; }
ATTNC_DEVICE float loadBF16(const attnc_device::Capture &c, long long at) {
  return __uint_as_float((u32)((const u16 *)c.data)[at] << 16);
}
ATTNC_DEVICE float loadF16(const attnc_device::Capture &c, long long at) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(((const u16 *)c.data)[at]));
  return value;
}
ATTNC_DEVICE int loadI32(const attnc_device::Capture &c, long long at) { return ((const int *)c.data)[at]; }
ATTNC_DEVICE int loadI64(const attnc_device::Capture &c, long long at) {
  const long long value = ((const long long *)c.data)[at];
  return (int)min(max(value, -2147483648ll), 2147483647ll);
}
ATTNC_DEVICE bool loadBool(const attnc_device::Capture &c, long long at) {
  return ((const unsigned char *)c.data)[at] != 0;
}
