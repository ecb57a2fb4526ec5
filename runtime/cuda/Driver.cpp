#include "runtime/cuda/Driver.h"

#include <dlfcn.h>

#include <fmt/format.h>

#include "runtime/cuda/GpuKernel.h"

namespace attnc::cuda {

namespace {

constexpr const char *kLibrary = "libcuda.so.1";
constexpr int kOldestVersion = 12000; // the first with cuLibraryLoadData

// The constants of cuda.h that are used; its interface is C and keeps old ones alive.
constexpr int kSuccess = 0, kInvalidValue = 1, kNotFound = 500;
constexpr int kMultiprocessorCount = 16, kCapabilityMajor = 75, kCapabilityMinor = 76, kMaxSharedBytesOptIn = 97;
constexpr int kMaxDynamicSharedBytes = 8;
constexpr int kMemoryType = 2, kIsManaged = 8, kDeviceOrdinal = 9, kRangeStart = 11, kRangeSize = 12;
constexpr unsigned kTypeUnknown = 0, kTypeHost = 1;

#define NEED_NONE "the CPU and the emulated device need none"
constexpr const char *kOlder = "the driver is older than the toolkit that compiled the kernel: update the driver, or "
                               "compile with an NVRTC that is no newer than it (ATTNC_NVRTC)";
constexpr const char *kNoContext = "no CUDA context is current on this thread: make one current by cudaSetDevice and "
                                   "any call of the CUDA runtime, by torch.cuda.init(), or by Driver::makeCurrent";
constexpr const char *kMixedDriver =
    "libcuda and the kernel's driver are of different releases: reboot after an update "
    "of the driver, and take CUDA's 'compat' folder off LD_LIBRARY_PATH";
constexpr const char *kFaulted =
    "a kernel that this process launched earlier, not always one of attnc, has failed, and "
    "the process can use the device no more: restart it; `compute-sanitizer` names the "
    "kernel and the access";
constexpr const char *kCapture = "a CUDA graph is being captured: use the stream that is captured, and do what waits "
                                 "for the device before or after";

// What a user can do about the errors that have a usual cause.
struct Advice {
  int error; // CUDA_ERROR_...
  ErrorCode code;
  const char *text;
};
constexpr Advice kAdvice[] = {
    {2, ErrorCode::Unsupported, // OUT_OF_MEMORY
     "the device's memory is full: free some (in torch: torch.cuda.empty_cache()), or make the batch smaller; "
     "`nvidia-smi` shows who holds it"},
    {34, ErrorCode::NotFound, // STUB_LIBRARY
     "this is the toolkit's stub, good only for linking: take its 'stubs' folder off LD_LIBRARY_PATH and install the "
     "GPU's driver; " NEED_NONE},
    {36, ErrorCode::Unsupported, "update the driver"}, // CALL_REQUIRES_NEWER_DRIVER
    {100, ErrorCode::NotFound,                         // NO_DEVICE
     "no GPU is visible: see what `nvidia-smi -L` lists and whether CUDA_VISIBLE_DEVICES hides it; " NEED_NONE},
    {201, ErrorCode::NotFound, kNoContext},      // INVALID_CONTEXT
    {209, ErrorCode::Unsupported, kOlder},       // NO_BINARY_FOR_GPU
    {222, ErrorCode::Unsupported, kOlder},       // UNSUPPORTED_PTX_VERSION
    {300, ErrorCode::Unsupported, kOlder},       // INVALID_SOURCE
    {700, ErrorCode::Internal, kFaulted},        // ILLEGAL_ADDRESS
    {709, ErrorCode::NotFound, kNoContext},      // CONTEXT_IS_DESTROYED
    {710, ErrorCode::Internal, kFaulted},        // ASSERT
    {715, ErrorCode::Internal, kFaulted},        // ILLEGAL_INSTRUCTION
    {716, ErrorCode::Internal, kFaulted},        // MISALIGNED_ADDRESS
    {719, ErrorCode::Internal, kFaulted},        // LAUNCH_FAILED
    {803, ErrorCode::Unsupported, kMixedDriver}, // SYSTEM_DRIVER_MISMATCH
    {804, ErrorCode::Unsupported, kMixedDriver}, // COMPAT_NOT_SUPPORTED_ON_DEVICE
    {900, ErrorCode::InvalidArgument, kCapture}, // STREAM_CAPTURE_UNSUPPORTED
    {906, ErrorCode::InvalidArgument, kCapture}, // STREAM_CAPTURE_IMPLICIT
};

std::string versionText(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

} // namespace

// Each under the name that cuda.h maps it to. What the version can be asked with comes first: an
// older driver lacks others. CUdeviceptr, an integer, is passed as the pointer that it holds.
struct Driver::Functions {
  void *library;
  const char *missing = nullptr; // the first function that the library lacks

  int (*version)(int *) = get("cuDriverGetVersion");
  int (*errorName)(int, const char **) = get("cuGetErrorName");
  int (*errorString)(int, const char **) = get("cuGetErrorString");
  int (*init)(unsigned) = get("cuInit");
  int (*deviceCount)(int *) = get("cuDeviceGetCount");
  int (*device)(int *, int) = get("cuDeviceGet");
  int (*deviceName)(char *, int, int) = get("cuDeviceGetName");
  int (*deviceAttribute)(int *, int, int) = get("cuDeviceGetAttribute");
  int (*retainPrimary)(void **, int) = get("cuDevicePrimaryCtxRetain");
  int (*setCurrent)(void *) = get("cuCtxSetCurrent");
  int (*currentDevice)(int *) = get("cuCtxGetDevice");
  int (*pointerAttributes)(unsigned, const int *, void **, const void *) = get("cuPointerGetAttributes");
  int (*loadLibrary)(void **, const void *, int *, void **, unsigned, int *, void **,
                     unsigned) = get("cuLibraryLoadData");
  int (*unloadLibrary)(void *) = get("cuLibraryUnload");
  int (*kernel)(void **, void *, const char *) = get("cuLibraryGetKernel");
  int (*kernelFunction)(void **, void *) = get("cuKernelGetFunction");
  int (*setKernelAttribute)(int, int, void *, int) = get("cuKernelSetAttribute");
  int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void **,
                void **) = get("cuLaunchKernel");
  int (*isCapturing)(Stream, int *) = get("cuStreamIsCapturing");
  int (*allocate)(void **, size_t, Stream) = get("cuMemAllocAsync");
  int (*release)(void *, Stream) = get("cuMemFreeAsync");
  int (*copyToDevice)(void *, const void *, size_t, Stream) = get("cuMemcpyHtoDAsync_v2");
  int (*copyToHost)(void *, const void *, size_t, Stream) = get("cuMemcpyDtoHAsync_v2");
  int (*synchronize)(Stream) = get("cuStreamSynchronize");

private:
  struct Symbol {
    void *address;
    template <typename Function> operator Function() const { return reinterpret_cast<Function>(address); }
  };
  Symbol get(const char *name) {
    void *address = dlsym(library, name);
    if (!address && !missing)
      missing = name;
    return {address};
  }

public:
  explicit Functions(void *handle) : library(handle) {}
};

Driver::Driver(std::unique_ptr<const Functions> given) : call(std::move(given)) {}
Driver::~Driver() = default; // libcuda stays loaded: others in the process may use it

Status Driver::check(const char *function, int code) const {
  if (code == kSuccess)
    return {};
  const char *name = nullptr, *text = nullptr;
  call->errorName(code, &name);
  call->errorString(code, &text);
  Error error = {ErrorCode::Internal,
                 fmt::format("{}: {} ({})", function, name ? name : fmt::format("CUDA error {}", code),
                             text ? text : "without a text")};
  for (const Advice &advice : kAdvice)
    if (advice.error == code) {
      error.code = advice.code;
      error.message += fmt::format(": {}", advice.text);
      if (advice.code == ErrorCode::Unsupported)
        error.message += fmt::format(" (the driver is for CUDA {})", versionText(cudaVersion));
    }
  return error;
}

Result<std::shared_ptr<const Driver>> Driver::open(const std::string &path) {
  const std::string library = path.empty() ? kLibrary : path;
  void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *reason = dlerror();
    return Error{ErrorCode::NotFound,
                 fmt::format("no CUDA driver: looked for '{}'{}: {}; install the GPU's driver (in a container: run it "
                             "with the GPU, `docker run --gpus=all`); " NEED_NONE,
                             library, path.empty() ? " on the loader's path" : "", reason ? reason : "")};
  }
  auto functions = std::make_unique<const Functions>(handle);
  const char *missing = functions->missing;
  if (!functions->version || !functions->errorName || !functions->errorString)
    return Error{ErrorCode::Unsupported, fmt::format("'{}' is no CUDA driver: it lacks {}", library, missing)};
  std::shared_ptr<Driver> driver(new Driver(std::move(functions)));
  if (Status s = driver->check("cuDriverGetVersion", driver->call->version(&driver->cudaVersion)); !s)
    return s.error();
  if (driver->cudaVersion < kOldestVersion || missing)
    return Error{
        ErrorCode::Unsupported,
        fmt::format(
            "the CUDA driver '{}' is for CUDA {}{}, attnc needs {} or newer: update the GPU's driver; " NEED_NONE,
            library, versionText(driver->cudaVersion), missing ? fmt::format(" and lacks {}", missing) : "",
            versionText(kOldestVersion))};
  if (Status s = driver->check("cuInit", driver->call->init(0)); !s)
    return s.error();
  if (Status s = driver->readDevices(); !s)
    return s.error();
  return std::shared_ptr<const Driver>(std::move(driver));
}

Status Driver::readDevices() {
  int count = 0;
  if (Status s = check("cuDeviceGetCount", call->deviceCount(&count)); !s)
    return s;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    Device device;
    device.info.ordinal = ordinal;
    if (Status s = check("cuDeviceGet", call->device(&device.handle, ordinal)); !s)
      return s;
    char name[256] = {};
    if (Status s = check("cuDeviceGetName", call->deviceName(name, sizeof name - 1, device.handle)); !s)
      return s;
    device.info.name = name;
    for (auto [value, attribute] :
         {std::pair(&device.info.major, kCapabilityMajor), std::pair(&device.info.minor, kCapabilityMinor),
          std::pair(&device.info.multiprocessors, kMultiprocessorCount),
          std::pair(&device.info.maxSharedBytes, kMaxSharedBytesOptIn)})
      if (Status s = check("cuDeviceGetAttribute", call->deviceAttribute(value, attribute, device.handle)); !s)
        return s;
    devices.push_back(std::move(device));
  }
  return {};
}

Result<int> Driver::deviceCount() const { return static_cast<int>(devices.size()); }

Result<DeviceInfo> Driver::device(int ordinal) const {
  if (ordinal < 0 || static_cast<size_t>(ordinal) >= devices.size())
    return Error{ErrorCode::NotFound, fmt::format("there is no CUDA device {}: the driver shows {}, counted from 0 "
                                                  "(CUDA_VISIBLE_DEVICES may hide others)",
                                                  ordinal, devices.size())};
  return devices[ordinal].info;
}

Result<int> Driver::currentOrdinal() const {
  int handle = 0;
  if (int code = call->currentDevice(&handle); code != kSuccess)
    return check("cuCtxGetDevice", code).error();
  for (const Device &device : devices)
    if (device.handle == handle)
      return device.info.ordinal;
  return Error{ErrorCode::Internal, fmt::format("cuCtxGetDevice: device {} is none of those listed", handle)};
}

Result<DeviceInfo> Driver::currentDevice() const {
  Result<int> ordinal = currentOrdinal();
  return ordinal ? device(*ordinal) : ordinal.error();
}

Status Driver::makeCurrent(int ordinal) const {
  if (Result<DeviceInfo> known = device(ordinal); !known)
    return known.error();
  void *context = nullptr;
  if (Status s = check("cuDevicePrimaryCtxRetain", call->retainPrimary(&context, devices[ordinal].handle)); !s)
    return s;
  return check("cuCtxSetCurrent", call->setCurrent(context));
}

Result<std::shared_ptr<const GpuKernel>> Driver::load(std::string_view cubin, const std::string &kernelName) const {
  if (!cubin.starts_with("\177ELF")) // the driver would read anything else as text, up to a zero
    return Error{ErrorCode::InvalidArgument, fmt::format("the {} bytes given for kernel '{}' are no cubin: they do not "
                                                         "begin as an ELF file does",
                                                         cubin.size(), kernelName)};
  void *library = nullptr, *kernel = nullptr;
  if (Status s = check("cuLibraryLoadData",
                       call->loadLibrary(&library, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
      !s)
    return s.error();
  if (int code = call->kernel(&kernel, library, kernelName.c_str()); code != kSuccess) {
    unload(library);
    if (code == kNotFound)
      return Error{ErrorCode::NotFound, fmt::format("cuLibraryGetKernel: the cubin has no kernel '{}'", kernelName)};
    return check("cuLibraryGetKernel", code).error();
  }
  return std::shared_ptr<const GpuKernel>(new GpuKernel(shared_from_this(), library, kernel));
}

void Driver::unload(void *library) const { call->unloadLibrary(library); } // fails only after the driver's own end

Status Driver::loadFunction(void *kernel) const {
  void *function = nullptr;
  return check("cuKernelGetFunction", call->kernelFunction(&function, kernel));
}

Status Driver::raiseSharedLimit(void *kernel, int ordinal, uint32_t bytes) const {
  const DeviceInfo &info = devices[ordinal].info;
  if (bytes > static_cast<uint32_t>(info.maxSharedBytes))
    return Error{ErrorCode::Unsupported,
                 fmt::format("the kernel needs {} bytes of shared memory a block, device {} "
                             "({}, sm_{}{}) has {}",
                             bytes, ordinal, info.name, info.major, info.minor, info.maxSharedBytes)};
  return check("cuKernelSetAttribute", call->setKernelAttribute(kMaxDynamicSharedBytes, static_cast<int>(bytes), kernel,
                                                                devices[ordinal].handle));
}

Status Driver::launch(void *kernel, const LaunchShape &shape, const void *parameters, Stream stream) const {
  void *list[] = {const_cast<void *>(parameters)};
  const auto [x, y, z] = shape.grid;
  int code = call->launch(kernel, x, y, z, shape.threads, 1, 1, shape.sharedBytes, stream, list, nullptr);
  Status launched = check("cuLaunchKernel", code);
  if (code != kInvalidValue)
    return launched;
  return Error{ErrorCode::InvalidArgument,
               fmt::format("{}: a grid of {} x {} x {} blocks, {} threads and {} bytes of "
                           "shared memory each",
                           launched.error().message, x, y, z, shape.threads, shape.sharedBytes)};
}

Result<MemoryInfo> Driver::memoryInfo(const void *pointer) const {
  static constexpr int kAttributes[] = {kMemoryType, kIsManaged, kDeviceOrdinal, kRangeStart, kRangeSize};
  unsigned type = kTypeUnknown, managed = 0;
  MemoryInfo info;
  void *values[] = {&type, &managed, &info.ordinal, &info.rangeStart, &info.rangeBytes};
  const int code = call->pointerAttributes(std::size(kAttributes), kAttributes, values, pointer);
  if (Status s = check("cuPointerGetAttributes", code); !s)
    return s.error();
  if (type == kTypeUnknown && !managed)
    return MemoryInfo{};
  info.kind = managed ? MemoryKind::Managed : type == kTypeHost ? MemoryKind::Pinned : MemoryKind::Device;
  return info;
}

Result<bool> Driver::isCapturing(Stream stream) const {
  int status = 0; // none, active, invalidated
  if (Status s = check("cuStreamIsCapturing", call->isCapturing(stream, &status)); !s)
    return s.error();
  return status != 0;
}

Result<void *> Driver::allocate(size_t bytes, Stream stream) const {
  void *memory = nullptr;
  if (bytes == 0)
    return nullptr;
  Status s = check("cuMemAllocAsync", call->allocate(&memory, bytes, stream));
  if (!s)
    return Error{s.error().code, fmt::format("{} bytes of device memory: {}", bytes, s.error().message)};
  return memory;
}

Status Driver::release(void *memory, Stream stream) const {
  return memory ? check("cuMemFreeAsync", call->release(memory, stream)) : Status{};
}

Status Driver::copyToDevice(void *to, const void *from, size_t bytes, Stream stream) const {
  return bytes == 0 ? Status{} : check("cuMemcpyHtoDAsync", call->copyToDevice(to, from, bytes, stream));
}

Status Driver::copyToHost(void *to, const void *from, size_t bytes, Stream stream) const {
  return bytes == 0 ? Status{} : check("cuMemcpyDtoHAsync", call->copyToHost(to, from, bytes, stream));
}

Status Driver::synchronize(Stream stream) const { return check("cuStreamSynchronize", call->synchronize(stream)); }

} // namespace attnc::cuda
