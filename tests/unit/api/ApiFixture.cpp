#include "tests/unit/api/ApiFixture.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "ir/Program.h"

namespace attnc::test {

std::string compilerPath() {
  const char *path = std::getenv("ATTNC_COMPILER");
#ifdef TEST_COMPILER
  if (!path)
    path = TEST_COMPILER;
#endif
  return path && access(path, R_OK) == 0 ? path : "";
}

const Context &context(int threads) {
  static std::map<int, Context> contexts;
  auto found = contexts.find(threads);
  if (found == contexts.end()) {
    ContextOptions options;
    options.cacheDir = "none";
    options.compilerPath = compilerPath();
    options.executor = makeThreadPool(threads);
    found = contexts.emplace(threads, *Context::create(options)).first;
  }
  return found->second;
}

Variant stdVariant(const std::string &name) {
  auto variant = Variant::load("std", name);
  EXPECT_TRUE(variant.ok()) << variant.error().message;
  return *variant;
}

std::ostream &operator<<(std::ostream &out, const Sizes &s) {
  return out << "batch " << s.batch << " heads " << s.heads << "/" << s.kvHeads << " queries " << s.queries << " keys "
             << s.keys << " offset " << s.offset << " dims " << s.headDim << "/" << s.valueDim;
}

static uint16_t halfBits(float value) {
  _Float16 half = static_cast<_Float16>(value);
  uint16_t bits;
  std::memcpy(&bits, &half, 2);
  return bits;
}

void setElement(const TensorView &view, int64_t index, double value) {
  char *at = static_cast<char *>(view.data) + index * static_cast<int64_t>(dtypeSize(view.dtype));
  auto store = [&](auto narrow) { std::memcpy(at, &narrow, sizeof narrow); };
  switch (view.dtype) {
  case DType::F32:
    return store(static_cast<float>(value));
  case DType::F16:
    return store(halfBits(static_cast<float>(value)));
  case DType::BF16: { // truncation is good enough for test data
    const float single = static_cast<float>(value);
    uint32_t bits;
    std::memcpy(&bits, &single, 4);
    return store(static_cast<uint16_t>(bits >> 16));
  }
  case DType::I32:
    return store(static_cast<int32_t>(value));
  case DType::I64:
    return store(static_cast<int64_t>(value));
  case DType::Bool:
    return store(static_cast<uint8_t>(value != 0));
  }
}

double element(const TensorView &view, int64_t index) {
  const char *at = static_cast<const char *>(view.data) + index * static_cast<int64_t>(dtypeSize(view.dtype));
  auto read = [&]<typename T>(T value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (view.dtype) {
  case DType::F32:
    return read(0.f);
  case DType::F16:
    return static_cast<double>(read(_Float16(0)));
  case DType::BF16: {
    const uint32_t bits = uint32_t(read(uint16_t(0))) << 16;
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
  }
  case DType::I32:
    return read(int32_t(0));
  case DType::I64:
    return static_cast<double>(read(int64_t(0)));
  case DType::Bool:
    return read(uint8_t(0));
  }
  return 0;
}

TensorView Call::tensor(DType dtype, std::vector<int64_t> shape) {
  owned.push_back(*OwnedTensor::zeros(dtype, std::move(shape)));
  return owned.back().view;
}

void Call::fillNormal(const TensorView &view, double deviation) {
  std::normal_distribution<double> normal(0, deviation);
  for (int64_t i = 0; i < view.elements(); ++i)
    setElement(view, i, normal(random));
}

Call::Call(const Variant &variant, DType dtype, Sizes sizes, unsigned seed) : sizes(sizes), dtype(dtype), random(seed) {
  args.query = tensor(dtype, {sizes.batch, sizes.heads, sizes.queries, sizes.headDim});
  args.key = tensor(dtype, {sizes.batch, sizes.kvHeads, sizes.keys, sizes.headDim});
  args.value = tensor(dtype, {sizes.batch, sizes.kvHeads, sizes.keys, sizes.valueDim});
  args.output = tensor(dtype, {sizes.batch, sizes.heads, sizes.queries, sizes.valueDim});
  args.lse = tensor(DType::F32, {sizes.batch, sizes.heads, sizes.queries});
  args.queryOffset = sizes.offset;
  for (const TensorView &view : {args.query, args.key, args.value})
    fillNormal(view, 1);
  bindCaptures(variant.program());
  poison();
}

// Sizes follow the declaration; ascending where it says sorted.
void Call::bindCaptures(const Program &program) {
  for (const Capture &capture : program.captures) {
    std::vector<int64_t> shape;
    for (const CaptureDim &dim : capture.dims) {
      const int64_t named[] = {sizes.batch, sizes.heads,  sizes.kvHeads, sizes.offset + sizes.queries,
                               sizes.keys,  sizes.headDim};
      shape.push_back(dim.kind == CaptureDim::Fixed   ? dim.size
                      : dim.kind == CaptureDim::Named ? named[static_cast<int>(dim.named)]
                                                      : 1 + static_cast<int64_t>(random() % 40));
    }
    const DType type = capture.type == ScalarType::F32   ? DType::F32
                       : capture.type == ScalarType::I32 ? DType::I32
                                                         : DType::Bool;
    TensorView view = tensor(type, shape);
    if (type == DType::F32) {
      fillNormal(view, 0.3);
    } else {
      std::vector<int> values(view.elements());
      for (int &value : values)
        value = type == DType::Bool ? random() % 2 : random() % (1 + std::max(sizes.keys, sizes.queries) / 8 + 3);
      if (capture.isSorted)
        std::sort(values.begin(), values.end());
      for (int64_t i = 0; i < view.elements(); ++i)
        setElement(view, i, values[i]);
    }
    args.bindings.captures.push_back({capture.name, view});
  }
  for (const Param &param : program.params)
    if (!param.defaultBits)
      args.bindings.params.push_back({param.name, param.type == ScalarType::F32 ? 1.5 : 1.0 * (1 + random() % 40)});
}

void Call::poison() {
  for (int64_t i = 0; i < args.output.elements(); ++i)
    setElement(args.output, i, NAN);
  for (int64_t i = 0; i < args.lse->elements(); ++i)
    setElement(*args.lse, i, NAN);
}

std::string Call::bits() const {
  std::string bytes(static_cast<const char *>(args.output.data), args.output.elements() * dtypeSize(dtype));
  return bytes.append(static_cast<const char *>(args.lse->data), args.lse->elements() * 4);
}

double Call::output(int64_t index) const { return element(args.output, index); }

RunArguments chunkOf(const RunArguments &whole, int64_t first, int64_t count) {
  RunArguments chunk = whole;
  auto cut = [&](TensorView &view) {
    view.data = static_cast<char *>(view.data) + first * view.strides[2] * static_cast<int64_t>(dtypeSize(view.dtype));
    view.shape[2] = count;
  };
  cut(chunk.query);
  cut(chunk.output);
  cut(*chunk.lse);
  chunk.queryOffset += first;
  return chunk;
}

CompileOptions compileOptions(DType dtype, const Sizes &sizes, int splitSize) {
  CompileOptions options;
  options.dtype = dtype;
  options.headDim = sizes.headDim;
  options.valueDim = sizes.valueDim;
  options.splitSize = splitSize;
  return options;
}

} // namespace attnc::test
