// Compiles variants, keeps the kernel cache, and runs kernels.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attnc/BlockMask.h"
#include "attnc/Executor.h"
#include "attnc/Status.h"
#include "attnc/Tensor.h"
#include "attnc/Variant.h"

namespace attnc {

struct ContextOptions {
  // Directory of the on-disk cache. Empty: $ATTNC_CACHE_DIR, else $XDG_CACHE_HOME/attnc,
  // else ~/.cache/attnc. "none" keeps kernels in memory only.
  std::string cacheDir = {};
  // Read-only directories looked at before cacheDir (pre-built kernels).
  std::vector<std::string> systemCacheDirs = {};
  // Of cacheDir; beyond it the least recently used kernels are removed.
  uint64_t cacheLimitBytes = uint64_t(1) << 30;
  // Of the binaries behind the kernels that are kept in memory for the next compile().
  uint64_t memoryLimitBytes = uint64_t(256) << 20;
  // A miss is an error instead of a compile.
  bool forbidJit = false;
  // Path of libattnc_compiler.so. Empty: $ATTNC_COMPILER, else beside libattnc.
  std::string compilerPath = {};
  // Path of NVRTC's library, which compiles CUDA kernels. Empty: $ATTNC_NVRTC, else it is looked
  // for in $CUDA_HOME, $CUDA_PATH, $VIRTUAL_ENV, $CONDA_PREFIX, the process (torch loads it), the
  // loader's path, Python packages, and the CUDA toolkit's folders.
  std::string nvrtcPath = {};
  // Path of the CUDA driver's library. Empty: $ATTNC_CUDA_DRIVER, else libcuda.so.1.
  std::string driverPath = {};
  // Runs the tasks; null makes a thread pool of one worker a processor.
  std::shared_ptr<Executor> executor = {};
  // Called at the start and end of every compile and on cache trouble. Null: silent.
  std::function<void(const std::string &)> log = {};
};

struct CompileOptions {
  DType dtype = DType::F32; // of query, key, value and output: F32, F16, BF16
  int headDim = 64;         // 1 to 512
  int valueDim = 64;        // 1 to 512
  int splitSize = 1024;     // keys a split holds; a multiple of 64; part of the result's bits
  // "cpu" or "" for the host's best; "cpu:sse", "cpu:avx2", "cpu:avx512", "cpu:avx512_bf16",
  // "cpu:neon". "cuda" for the current GPU; "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a",
  // "sm_120". "emulated" (sm_80) or "emulated:sm_90a", ...: the CUDA kernel on the emulated
  // device, with host memory and every check; for tests, thousands of times slower than a
  // GPU. CUDA kernels take f16 and bf16 and dims that are multiples of 8 up to 256.
  std::string target = {};
  // Dtypes of the captures where they are not the declared type's own
  // (f32, i32, bool): for example {"slopes", DType::BF16}.
  std::vector<std::pair<std::string, DType>> captureDtypes = {};
};

class BlockLists;

struct RunStats {
  double milliseconds = 0;
  int64_t tilesTotal = 0, tilesVisited = 0, tilesPartial = 0;
};

struct RunArguments {
  TensorView query;                   // [batch, heads, queryLength, headDim], last stride 1
  TensorView key;                     // [batch, kvHeads, kvLength, headDim]; heads a multiple of kvHeads
  TensorView value;                   // [batch, kvHeads, kvLength, valueDim]
  TensorView output;                  // [batch, heads, queryLength, valueDim]
  std::optional<TensorView> lse = {}; // f32 [batch, heads, queryLength], natural logarithm
  Bindings bindings = {};
  std::optional<float> scale = {};      // default: the variant's, else 1/sqrt(headDim)
  int64_t queryOffset = 0;              // q_idx of row 0, for chunks of a longer sequence
  const BlockMask *blockMask = nullptr; // made for these sizes; null makes one
  bool skipEmptyTiles = true;           // false visits every tile: same bits, for tests
  // CUDA devices only. The tensors lie on the device of the current context; run() returns
  // once the work is in the stream. With blockLists, or for a variant without mask_mod,
  // nothing is allocated, copied or waited for, so the call may be part of a CUDA graph.
  void *stream = nullptr; // a CUstream; null is the default stream
  const BlockLists *blockLists = nullptr;
};

struct CompileInfo {
  bool fromMemory = false, fromDisk = false; // neither: compiled now
  double milliseconds = 0;
  std::string key; // of the cache, 64 hexadecimal digits
  std::string target;
};

// A compiled variant. Immutable, cheap to copy, safe to run from many threads at once.
class ATTNC_EXPORT Kernel {
public:
  // Computes output (and lse). A row with no visible key gives 0 and -inf.
  // Errors: InvalidArgument, naming the tensor and what was expected.
  Status run(const RunArguments &arguments, RunStats *stats = nullptr) const;
  // The variant after simplification and mask extraction, which block masks are made from.
  const Variant &variant() const;
  const CompileInfo &info() const;

  struct State;
  explicit Kernel(std::shared_ptr<const State> state) : state(std::move(state)) {}
  const std::shared_ptr<const State> &internals() const { return state; } // runtime/KernelState.h

private:
  std::shared_ptr<const State> state;
};

// A block mask on a device, in the form that CUDA kernels read; made once, used by many
// calls. Cheap to copy. Must outlive the work of the calls that use it.
class ATTNC_EXPORT BlockLists {
public:
  // For calls of `kernel` with the sizes that `mask` was made for. Copies on `stream`.
  // Errors: InvalidArgument for a CPU kernel or a mask whose tiles do not fit.
  static Result<BlockLists> create(const Kernel &kernel, const BlockMask &mask, void *stream = nullptr);
  size_t bytes() const; // of device memory

  struct State;
  explicit BlockLists(std::shared_ptr<const State> state) : state(std::move(state)) {}
  const std::shared_ptr<const State> &internals() const { return state; }

private:
  std::shared_ptr<const State> state;
};

// Owns cache, threads and compiler. Safe to use from many threads at once.
class ATTNC_EXPORT Context {
public:
  static Result<Context> create(const ContextOptions &options = {});

  Result<Kernel> compile(const Variant &variant, const CompileOptions &options) const;

  // The text of one stage: "attn", "staged", "vector", "llvm", "asm"; "object" gives the bytes
  // of a relocatable object. For a CUDA target ("sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a",
  // "sm_120"; "" is sm_80) also "cuda" (the kernel's text), and, where NVRTC is found, "ptx" and
  // "cubin". Never cached. No GPU is needed.
  Result<std::string> dump(const Variant &variant, const CompileOptions &options, const std::string &stage) const;

  // Kernels made ahead of time: compiles what the cache lacks, `jobs` at once (0: one a
  // processor). Gives one result an item; `done`, if set, is called after each, never twice
  // at once.
  struct WarmItem {
    Variant variant;
    CompileOptions options = {};
  };
  std::vector<Result<CompileInfo>>
  warm(const std::vector<WarmItem> &items, int jobs = 0,
       const std::function<void(size_t index, const Result<CompileInfo> &result)> &done = {}) const;

  struct CacheEntry {
    std::string key, variant, target;
    std::string kind; // of the binary: "o", "cubin", "ptx"
    std::string directory;
    uint64_t bytes = 0;  // of the binary
    std::string created; // ISO 8601, UTC
    double compileMs = 0;
  };
  Result<std::vector<CacheEntry>> cacheEntries() const;
  // All that the cache knows of one kernel, as JSON. A unique beginning of its key is enough.
  // Errors: NotFound; InvalidArgument where it fits several.
  Result<std::string> cacheEntryJson(const std::string &keyPrefix) const;

  struct CacheCheck {
    struct Problem {
      std::string key, directory, what; // an empty key: the directory itself
      bool isRemoved = false;
    };
    int64_t entries = 0;
    std::vector<Problem> problems;
  };
  // Reads and hashes every kernel on disk; those that are corrupt are removed if asked for.
  Result<CacheCheck> verifyCache(bool removesCorrupt = false) const;
  Result<int64_t> clearCache() const; // entries removed

  // Every good entry in one file (format: docs/cli.md). Gives their number.
  Result<int64_t> exportCache(const std::string &path) const;
  struct CacheImport {
    int64_t imported = 0, present = 0; // present: the cache had it
    std::vector<std::string> refused;  // what is wrong with each that was not taken
  };
  // Kernels are code: import what you would execute. Hashes tell damage, not intent.
  Result<CacheImport> importCache(const std::string &path) const;
  std::string cacheDirectory() const;
  Executor &executor() const;

  struct State;
  explicit Context(std::shared_ptr<State> state) : state(std::move(state)) {}

private:
  std::shared_ptr<State> state;
};

// The float64 reference: a plain loop over query rows and keys, every operation of the
// variant in double precision, output rounded once. Slow; for tests and --compare.
ATTNC_EXPORT Status runReference(const Variant &variant, const RunArguments &arguments, Executor *executor = nullptr);

} // namespace attnc
