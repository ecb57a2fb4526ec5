// A C face over the public API for peers.py (ctypes), so that attnc and PyTorch are timed
// in one process on the same memory. Errors are texts; nothing here is part of the product.
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <attnc/attnc.h>

using namespace attnc;

#define SHIM_EXPORT extern "C" __attribute__((visibility("default")))

namespace {
thread_local std::string lastError;

// A call on fixed memory: arguments, block mask and kernel, ready to be repeated.
struct Call {
  Kernel kernel;
  RunArguments arguments;
  std::unique_ptr<BlockMask> mask;
};

bool failed(const Error &error) {
  lastError = error.message;
  return true;
}
} // namespace

SHIM_EXPORT const char *shim_error() { return lastError.c_str(); }

SHIM_EXPORT Context *shim_context(int threads) {
  ContextOptions options;
  options.cacheDir = "none";
  options.executor = makeThreadPool(threads);
  Result<Context> context = Context::create(options);
  if (!context)
    return failed(context.error()), nullptr;
  return new Context(*context);
}

SHIM_EXPORT void shim_free_context(Context *context) { delete context; }

// One captured tensor; dtype is "f32", "i32" or "bool".
struct ShimCapture {
  const char *name;
  const char *dtype;
  void *data;
  int rank;
  const int64_t *shape;
};

struct ShimCall {
  const char *file, *variant, *dtype, *target; // dtype "f32", "bf16" or "f16"; target may be ""
  int64_t batch, heads, kvHeads, queries, keys, headDim;
  void *query, *key, *value, *output; // contiguous [batch, heads, length, headDim]
  int captureCount;
  const ShimCapture *captures;
  int makesMask; // 0: every call makes its block mask
};

static bool dtypeOf(const char *name, DType &dtype) {
  for (DType each : {DType::F32, DType::F16, DType::BF16, DType::I32, DType::Bool})
    if (dtypeName(each) == name)
      return dtype = each, true;
  lastError = std::string("unknown dtype '") + name + "'";
  return false;
}

// Null where it fails; shim_error says why.
SHIM_EXPORT Call *shim_prepare(const Context *context, const ShimCall *call) {
  Result<Variant> variant = Variant::load(call->file, call->variant);
  if (!variant)
    return failed(variant.error()), nullptr;
  DType dtype;
  if (!dtypeOf(call->dtype, dtype))
    return nullptr;
  const int dim = static_cast<int>(call->headDim);
  Result<Kernel> kernel =
      context->compile(*variant, {.dtype = dtype, .headDim = dim, .valueDim = dim, .target = call->target});
  if (!kernel)
    return failed(kernel.error()), nullptr;

  auto prepared = std::make_unique<Call>(Call{*kernel, {}, nullptr});
  RunArguments &arguments = prepared->arguments;
  auto view = [&](void *data, int64_t heads, int64_t length) {
    return TensorView::contiguous(data, dtype, {call->batch, heads, length, call->headDim});
  };
  arguments.query = view(call->query, call->heads, call->queries);
  arguments.key = view(call->key, call->kvHeads, call->keys);
  arguments.value = view(call->value, call->kvHeads, call->keys);
  arguments.output = view(call->output, call->heads, call->queries);
  for (int i = 0; i < call->captureCount; ++i) {
    const ShimCapture &capture = call->captures[i];
    DType captureDtype;
    if (!dtypeOf(capture.dtype, captureDtype))
      return nullptr;
    arguments.bindings.captures.push_back(
        {capture.name,
         TensorView::contiguous(capture.data, captureDtype, {capture.shape, capture.shape + capture.rank})});
  }
  if (call->makesMask) {
    const Problem problem{.batch = call->batch,
                          .heads = call->heads,
                          .kvHeads = call->kvHeads,
                          .queryLength = call->queries,
                          .kvLength = call->keys,
                          .headDim = dim,
                          .valueDim = dim};
    Result<BlockMask> mask = BlockMask::create(kernel->variant(), problem, arguments.bindings);
    if (!mask)
      return failed(mask.error()), nullptr;
    prepared->mask = std::make_unique<BlockMask>(*mask);
    arguments.blockMask = prepared->mask.get();
  }
  return prepared.release();
}

SHIM_EXPORT int shim_run(const Call *call) {
  const Status status = call->kernel.run(call->arguments);
  return status.ok() ? 0 : (failed(status.error()), 1);
}

SHIM_EXPORT void shim_free(Call *call) { delete call; }
