#include "tests/unit/cuda/fake_driver/FakeDriver.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#define DRIVER extern "C" __attribute__((visibility("default")))

namespace {

using Device = int;
using Stream = void *;
using Address = uintptr_t;

// CUresult, and the names of those that tests provoke.
constexpr int kSuccess = 0, kInvalidValue = 1, kInvalidDevice = 101, kInvalidImage = 200, kInvalidContext = 201,
              kInvalidHandle = 400, kCaptureUnsupported = 900;
constexpr struct {
  int code;
  const char *name, *text;
} kErrors[] = {
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain."},
    {300, "CUDA_ERROR_INVALID_SOURCE", "device kernel image is invalid"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
};

struct Kernel {
  std::map<Device, int> sharedLimits;
};
struct Library {
  std::map<std::string, Kernel> kernels;
};
struct Memory {
  size_t bytes;
  FakeMemory kind;
  int ordinal;
};

constexpr int kDefaultSharedLimit = 48 * 1024;
constexpr int kMaxDevices = 16;

struct State {
  FakeCuda shown;
  std::string calls;
  std::map<std::string, int> failures;
  std::map<Address, Memory> memory;
  std::set<void *> allocations;
  std::set<Library *> libraries;
  std::vector<unsigned char> parameters;
  int generation = 0; // of contexts that threads made current
};

std::mutex mutex;
State state;
char contexts[kMaxDevices]; // the primary context of a device is an address in here
thread_local struct {
  int generation = -1, device = -1;
} current;

int currentDevice() { return current.generation == state.generation ? current.device : state.shown.currentDevice; }
bool isDevice(Device device) { return device >= 0 && device < state.shown.deviceCount; }

// Every function begins with one: the lock, the log, and the failure that a test asked for.
struct Call {
  explicit Call(const std::string &line) : lock(mutex) {
    state.calls += line + "\n";
    auto found = state.failures.find(line.substr(0, line.find(' ')));
    if (found == state.failures.end())
      return;
    error = found->second;
    state.failures.erase(found);
  }
  std::lock_guard<std::mutex> lock;
  int error = kSuccess;
};

int errorField(int code, const char **out, bool wantsName) {
  *out = nullptr;
  for (const auto &error : kErrors)
    if (error.code == code)
      *out = wantsName ? error.name : error.text;
  return *out ? kSuccess : kInvalidValue;
}

const std::pair<const Address, Memory> *findMemory(const void *pointer) {
  const auto address = reinterpret_cast<Address>(pointer);
  auto after = state.memory.upper_bound(address);
  if (after == state.memory.begin())
    return nullptr;
  --after;
  return address < after->first + after->second.bytes ? &*after : nullptr;
}

} // namespace

FakeCuda *fake_cuda() { return &state.shown; }

void fake_cuda_reset() {
  std::lock_guard lock(mutex);
  for (void *allocation : state.allocations)
    free(allocation);
  for (Library *library : state.libraries)
    delete library;
  const int generation = state.generation + 1;
  state = State{};
  state.generation = generation;
}

const char *fake_cuda_calls() { return state.calls.c_str(); }
void fake_cuda_fail_next(const char *function, int error) { state.failures[function] = error; }
const void *fake_cuda_parameters() { return state.parameters.data(); }
int fake_cuda_live_allocations() { return static_cast<int>(state.allocations.size()); }
int fake_cuda_live_libraries() { return static_cast<int>(state.libraries.size()); }
void fake_cuda_add_memory(const void *start, size_t bytes, FakeMemory kind, int ordinal) {
  state.memory[reinterpret_cast<Address>(start)] = {bytes, kind, ordinal};
}

DRIVER int cuGetErrorName(int code, const char **name) { return errorField(code, name, true); }
DRIVER int cuGetErrorString(int code, const char **text) { return errorField(code, text, false); }

DRIVER int cuDriverGetVersion(int *version) {
  Call call("cuDriverGetVersion");
  *version = state.shown.version;
  return call.error;
}

DRIVER int cuInit(unsigned flags) { return Call("cuInit").error; }

DRIVER int cuDeviceGetCount(int *count) {
  Call call("cuDeviceGetCount");
  *count = state.shown.deviceCount;
  return call.error;
}

DRIVER int cuDeviceGet(Device *device, int ordinal) {
  Call call("cuDeviceGet");
  *device = ordinal;
  return call.error ? call.error : isDevice(ordinal) ? kSuccess : kInvalidDevice;
}

DRIVER int cuDeviceGetName(char *name, int bytes, Device device) {
  Call call("cuDeviceGetName");
  snprintf(name, bytes, "Fake GPU %d", device);
  return call.error;
}

DRIVER int cuDeviceGetAttribute(int *value, int attribute, Device device) {
  Call call("cuDeviceGetAttribute");
  const FakeCuda &shown = state.shown;
  const std::map<int, int> values = {
      {16, shown.multiprocessors}, {75, shown.major}, {76, shown.minor}, {97, shown.maxSharedBytes}};
  *value = values.at(attribute);
  return call.error;
}

DRIVER int cuDevicePrimaryCtxRetain(void **context, Device device) {
  Call call("cuDevicePrimaryCtxRetain");
  if (call.error || !isDevice(device))
    return call.error ? call.error : kInvalidDevice;
  *context = &contexts[device];
  return kSuccess;
}

DRIVER int cuCtxSetCurrent(void *context) {
  Call call("cuCtxSetCurrent");
  if (call.error)
    return call.error;
  current.generation = state.generation;
  current.device = context ? static_cast<int>(static_cast<char *>(context) - contexts) : -1;
  return kSuccess;
}

DRIVER int cuCtxGetDevice(Device *device) {
  Call call("cuCtxGetDevice");
  *device = currentDevice();
  return call.error ? call.error : *device < 0 ? kInvalidContext : kSuccess;
}

DRIVER int cuPointerGetAttributes(unsigned count, const int *attributes, void **values, const void *pointer) {
  Call call("cuPointerGetAttributes");
  if (call.error)
    return call.error;
  const auto *found = findMemory(pointer); // of what it does not know, the real one gives zeros and -2
  for (unsigned i = 0; i < count; ++i) {
    const int attribute = attributes[i];
    if (attribute == 2) // CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE
      *static_cast<unsigned *>(values[i]) = !found ? 0 : found->second.kind == kFakePinned ? 1 : 2;
    else if (attribute == 8)
      *static_cast<unsigned *>(values[i]) = found && found->second.kind == kFakeManaged;
    else if (attribute == 9)
      *static_cast<int *>(values[i]) = found ? found->second.ordinal : -2;
    else if (attribute == 11)
      *static_cast<Address *>(values[i]) = found ? found->first : 0;
    else if (attribute == 12)
      *static_cast<size_t *>(values[i]) = found ? found->second.bytes : 0;
    else
      return kInvalidValue;
  }
  return kSuccess;
}

DRIVER int cuLibraryLoadData(void **library, const void *code, int *, void **, unsigned, int *, void **, unsigned) {
  Call call("cuLibraryLoadData");
  if (call.error || memcmp(code, "\177ELF", 4) != 0)
    return call.error ? call.error : kInvalidImage;
  auto *made = new Library;
  state.libraries.insert(made);
  *library = made;
  return kSuccess;
}

DRIVER int cuLibraryUnload(void *library) {
  Call call("cuLibraryUnload");
  auto *given = static_cast<Library *>(library);
  if (!state.libraries.erase(given))
    return kInvalidHandle;
  delete given;
  return call.error;
}

// Has a kernel of any name; a test makes this call fail for one that is missing.
DRIVER int cuLibraryGetKernel(void **kernel, void *library, const char *name) {
  Call call(std::string("cuLibraryGetKernel ") + name);
  if (!call.error)
    *kernel = &static_cast<Library *>(library)->kernels[name];
  return call.error;
}

DRIVER int cuKernelGetFunction(void **function, void *kernel) {
  Call call("cuKernelGetFunction");
  *function = kernel;
  return call.error ? call.error : currentDevice() < 0 ? kInvalidContext : kSuccess;
}

DRIVER int cuKernelSetAttribute(int attribute, int value, void *kernel, Device device) {
  Call call("cuKernelSetAttribute device=" + std::to_string(device) + " value=" + std::to_string(value));
  if (call.error || attribute != 8 || !isDevice(device) || value > state.shown.maxSharedBytes)
    return call.error ? call.error : kInvalidValue;
  static_cast<Kernel *>(kernel)->sharedLimits[device] = value;
  return kSuccess;
}

DRIVER int cuLaunchKernel(void *kernel, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned threadsY,
                          unsigned threadsZ, unsigned sharedBytes, Stream stream, void **parameters, void **extra) {
  char line[128];
  snprintf(line, sizeof line, "cuLaunchKernel grid=%u,%u,%u threads=%u shared=%u", x, y, z, threads, sharedBytes);
  Call call(line);
  if (call.error || currentDevice() < 0)
    return call.error ? call.error : kInvalidContext;
  const auto &limits = static_cast<Kernel *>(kernel)->sharedLimits;
  const auto found = limits.find(currentDevice());
  const unsigned limit = found == limits.end() ? kDefaultSharedLimit : found->second;
  if (!x || !y || !z || y > 65535 || z > 65535 || !threads || threads > 1024 || sharedBytes > limit || extra)
    return kInvalidValue;
  const auto *bytes = static_cast<const unsigned char *>(parameters[0]);
  state.parameters.assign(bytes, bytes + state.shown.parameterBytes);
  return kSuccess;
}

DRIVER int cuStreamIsCapturing(Stream stream, int *status) {
  Call call("cuStreamIsCapturing");
  *status = stream && state.shown.isCapturing;
  return call.error;
}

DRIVER int cuMemAllocAsync(void **memory, size_t bytes, Stream stream) {
  Call call("cuMemAllocAsync " + std::to_string(bytes));
  if (call.error || currentDevice() < 0 || bytes == 0)
    return call.error ? call.error : bytes == 0 ? kInvalidValue : kInvalidContext;
  *memory = malloc(bytes);
  state.allocations.insert(*memory);
  state.memory[reinterpret_cast<Address>(*memory)] = {bytes, kFakeDevice, currentDevice()};
  return kSuccess;
}

DRIVER int cuMemFreeAsync(void *memory, Stream stream) {
  Call call("cuMemFreeAsync");
  if (!state.allocations.erase(memory))
    return kInvalidValue;
  state.memory.erase(reinterpret_cast<Address>(memory));
  free(memory);
  return call.error;
}

DRIVER int cuMemcpyHtoDAsync_v2(void *to, const void *from, size_t bytes, Stream stream) {
  Call call("cuMemcpyHtoDAsync " + std::to_string(bytes));
  if (call.error || !findMemory(to))
    return call.error ? call.error : kInvalidValue;
  memcpy(to, from, bytes);
  return kSuccess;
}

DRIVER int cuMemcpyDtoHAsync_v2(void *to, const void *from, size_t bytes, Stream stream) {
  Call call("cuMemcpyDtoHAsync " + std::to_string(bytes));
  if (call.error || !findMemory(from))
    return call.error ? call.error : kInvalidValue;
  memcpy(to, from, bytes);
  return kSuccess;
}

DRIVER int cuStreamSynchronize(Stream stream) {
  Call call("cuStreamSynchronize");
  return call.error ? call.error : stream && state.shown.isCapturing ? kCaptureUnsupported : kSuccess;
}
