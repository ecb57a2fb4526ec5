#include "benchmarks/Inputs.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

namespace attnc::bench {

namespace {
constexpr int64_t kBlock = 128; // of the variant "blocks"
constexpr int64_t kWindow = 256;
constexpr int64_t kDocuments = 8;
} // namespace

void die(const std::string &message) {
  std::fprintf(stderr, "attnc_bench: %s\n", message.c_str());
  std::exit(1);
}

Variant loadVariant(const std::string &name) { return take(Variant::load(ATTNC_BENCH_VARIANTS, name)); }

static int64_t documentOf(int64_t position, int64_t length) { return position * kDocuments / length; }

// Keeps exactly round(density * columns) blocks of each row, the diagonal among them, so
// that the number of visible points follows from the density.
static std::vector<uint8_t> keptBlocks(int64_t heads, int64_t rows, int64_t columns, double density) {
  std::vector<uint8_t> keep(heads * rows * columns, 0);
  const int64_t wanted = std::max<int64_t>(1, std::llround(density * double(columns)));
  std::mt19937 random(7);
  for (int64_t row = 0; row < heads * rows; ++row) {
    uint8_t *line = keep.data() + row * columns;
    int64_t kept = 1;
    line[row % rows % columns] = 1;
    while (kept < wanted)
      if (uint8_t &block = line[random() % columns]; !block)
        block = 1, ++kept;
  }
  return keep;
}

static std::vector<uint8_t> keptKeys(int64_t keys, double density) {
  std::vector<uint8_t> keep(keys);
  std::mt19937 random(11);
  for (uint8_t &key : keep)
    key = double(random() % 1000) < density * 1000;
  return keep;
}

double Case::points() const {
  double perHead = double(queries) * double(keys);
  if (variant == "causal" || variant == "alibi" || variant == "softcap")
    perHead = double(queries) * (double(queries) + 1) / 2;
  else if (variant == "window") {
    perHead = 0;
    for (int64_t q = 0; q < queries; ++q)
      perHead += double(std::min(q + 1, kWindow));
  } else if (variant == "documents") {
    perHead = 0;
    for (int64_t q = 0, first = 0; q < queries; ++q) {
      while (documentOf(first, keys) < documentOf(q, keys))
        ++first;
      perHead += double(q - first + 1);
    }
  } else if (variant == "blocks") {
    const int64_t columns = keys / kBlock;
    perHead = double(queries) * double(std::max<int64_t>(1, std::llround(density * double(columns))) * kBlock);
  } else if (variant == "key_mask") {
    double kept = 0;
    for (uint8_t key : keptKeys(keys, density))
      kept += key;
    perHead = double(queries) * kept;
  }
  return perHead * double(batch) * double(heads);
}

double Case::bytes() const {
  const double elements = 2.0 * double(heads) * double(queries) + 2.0 * double(kvHeads) * double(keys);
  return elements * double(batch) * headDim * double(dtypeSize(dtype));
}

static uint16_t toHalf(float value) {
  // Moderate normal numbers only: rebias the exponent and cut.
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  const int exponent = int(bits >> 23 & 255) - 112;
  const uint16_t sign = uint16_t(bits >> 16 & 0x8000);
  return exponent <= 0 ? sign : uint16_t(sign | exponent << 10 | (bits >> 13 & 1023));
}

OwnedTensor randomTensor(DType dtype, std::vector<int64_t> shape, unsigned seed) {
  OwnedTensor tensor = take(OwnedTensor::zeros(dtype, std::move(shape)));
  std::mt19937 random(seed);
  const int64_t count = tensor.view.elements();
  for (int64_t i = 0; i < count; ++i) {
    // Four uniform bytes sum to about a normal number.
    const uint32_t word = random();
    const float value =
        (float(word & 255) + float(word >> 8 & 255) + float(word >> 16 & 255) + float(word >> 24)) / 147.8f - 3.45f;
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    if (dtype == DType::F32)
      static_cast<float *>(tensor.view.data)[i] = value;
    else
      static_cast<uint16_t *>(tensor.view.data)[i] = dtype == DType::BF16 ? uint16_t(bits >> 16) : toHalf(value);
  }
  return tensor;
}

template <typename T> static OwnedTensor tensorOf(DType dtype, std::vector<int64_t> shape, const std::vector<T> &data) {
  OwnedTensor tensor = take(OwnedTensor::zeros(dtype, std::move(shape)));
  std::memcpy(tensor.view.data, data.data(), data.size() * sizeof(T));
  return tensor;
}

void appendCaptures(const Case &measured, std::vector<std::unique_ptr<OwnedTensor>> &memory, Bindings &bindings) {
  auto bind = [&](const char *name, OwnedTensor tensor) {
    memory.push_back(std::make_unique<OwnedTensor>(std::move(tensor)));
    bindings.captures.push_back({name, memory.back()->view});
  };
  if (measured.variant == "alibi" || measured.variant == "alibi_full") {
    std::vector<float> slopes(measured.heads);
    for (int64_t h = 0; h < measured.heads; ++h)
      slopes[h] = std::exp2(-8.0f * float(h + 1) / float(measured.heads));
    bind("slopes", tensorOf(DType::F32, {measured.heads}, slopes));
  } else if (measured.variant == "documents") {
    std::vector<int32_t> ids(measured.keys);
    for (int64_t i = 0; i < measured.keys; ++i)
      ids[i] = int32_t(documentOf(i, measured.keys));
    bind("doc", tensorOf(DType::I32, {measured.keys}, ids));
  } else if (measured.variant == "blocks") {
    const int64_t rows = measured.queries / kBlock, columns = measured.keys / kBlock;
    bind("keep", tensorOf(DType::Bool, {measured.heads, rows, columns},
                          keptBlocks(measured.heads, rows, columns, measured.density)));
  } else if (measured.variant == "key_mask") {
    bind("keep", tensorOf(DType::Bool, {measured.keys}, keptKeys(measured.keys, measured.density)));
  }
}

PreparedCase::PreparedCase(const Context &context, const Case &measured) : measured(measured) {
  const Case &c = measured;
  const CompileOptions options{.dtype = c.dtype, .headDim = c.headDim, .valueDim = c.headDim, .target = c.target};
  compiled = std::make_unique<Kernel>(take(context.compile(loadVariant(c.variant), options)));
  arguments.query = hold(randomTensor(c.dtype, {c.batch, c.heads, c.queries, c.headDim}, 1)).view;
  arguments.key = hold(randomTensor(c.dtype, {c.batch, c.kvHeads, c.keys, c.headDim}, 2)).view;
  arguments.value = hold(randomTensor(c.dtype, {c.batch, c.kvHeads, c.keys, c.headDim}, 3)).view;
  arguments.output = hold(take(OwnedTensor::zeros(c.dtype, arguments.query.shape))).view;
  appendCaptures(c, memory, arguments.bindings);
  mask = std::make_unique<BlockMask>(take(BlockMask::create(compiled->variant(), problem(), arguments.bindings)));
}

OwnedTensor &PreparedCase::hold(OwnedTensor tensor) {
  memory.push_back(std::make_unique<OwnedTensor>(std::move(tensor)));
  return *memory.back();
}

Problem PreparedCase::problem() const {
  return {.batch = measured.batch,
          .heads = measured.heads,
          .kvHeads = measured.kvHeads,
          .queryLength = measured.queries,
          .kvLength = measured.keys,
          .headDim = measured.headDim,
          .valueDim = measured.headDim};
}

void PreparedCase::run() {
  arguments.blockMask = mask.get();
  check(compiled->run(arguments, &lastStats));
}

void PreparedCase::runWithoutMask() {
  arguments.blockMask = nullptr;
  check(compiled->run(arguments, &lastStats));
}

void PreparedCase::makeMask() const { take(BlockMask::create(compiled->variant(), problem(), arguments.bindings)); }

} // namespace attnc::bench
