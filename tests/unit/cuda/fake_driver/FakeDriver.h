// The CUDA driver as far as runtime/cuda/Driver.cpp uses it, without a GPU: host memory stands for
// the device's, launches are only recorded. Strict where the real one is: contexts belong to
// threads, limits of shared memory are checked, waiting breaks a capture.
//
// A test links libattnc_fake_cuda.so and gives its path to Driver::open: both see one state.
#pragma once

#include <cstddef>

#pragma GCC visibility push(default)

extern "C" {

// What the driver shows; set before threads start. fake_cuda_reset brings the defaults back.
struct FakeCuda {
  int version = 13000;
  int deviceCount = 2;
  int major = 9, minor = 0;
  int multiprocessors = 132;
  int maxSharedBytes = 232448;
  int currentDevice = 0;      // of threads that made none current themselves; -1: none
  bool isCapturing = false;   // every stream but the default one
  size_t parameterBytes = 16; // that a launch copies from its parameter
};
FakeCuda *fake_cuda();

void fake_cuda_reset();

// The calls since the last reset, one a line: "cuLaunchKernel grid=2,1,1 threads=128 shared=0".
const char *fake_cuda_calls();

// The next call of that function does nothing and returns `error`.
void fake_cuda_fail_next(const char *function, int error);

// The parameter of the last launch, as copied when it was launched.
const void *fake_cuda_parameters();

// Memory that other functions of the driver would have made.
enum FakeMemory { kFakePinned, kFakeDevice, kFakeManaged };
void fake_cuda_add_memory(const void *start, size_t bytes, FakeMemory kind, int ordinal);

// What cuMemAllocAsync and cuLibraryLoadData gave and nobody gave back.
int fake_cuda_live_allocations();
int fake_cuda_live_libraries();
}

#pragma GCC visibility pop
