// Every mask of the standard library against plain C++, on all points of a small call with
// random captures.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "tests/unit/frontend/Evaluator.h"

namespace attnc::test {
namespace {

using Random = std::mt19937;

std::vector<int32_t> randomInts(Random &random, size_t count, int32_t low, int32_t high) {
  std::vector<int32_t> values(count);
  for (int32_t &value : values)
    value = std::uniform_int_distribution<int32_t>(low, high)(random);
  return values;
}

struct MaskCase {
  std::string variant;
  std::function<void(Inputs &, Random &)> setUp;
  std::function<bool(const Inputs &, const Point &)> expected;
};

int32_t param(const Inputs &in, const char *name) { return static_cast<int32_t>(in.params.at(name)); }
int32_t at(const Inputs &in, const char *name, int64_t index) { return in.tensors.at(name).intAt({index}); }
void setSizes(Inputs &in, int32_t q, int32_t kv) {
  if (q > 50) // enough points without them
    in.B = in.H = 1;
  in.Q = q;
  in.KV = kv;
}

void none(Inputs &, Random &) {}

// doc ids, starts and prefix lengths of a few documents packed into KV tokens.
void packDocuments(Inputs &in, Random &random) {
  setSizes(in, 24, 24);
  std::vector<int32_t> starts = {0};
  std::vector<int32_t> doc;
  while (static_cast<int32_t>(doc.size()) < in.KV) {
    int32_t length = std::uniform_int_distribution<int32_t>(1, 9)(random);
    for (int32_t i = 0; i < length && static_cast<int32_t>(doc.size()) < in.KV; ++i)
      doc.push_back(static_cast<int32_t>(starts.size()) - 1);
    starts.push_back(static_cast<int32_t>(doc.size()));
  }
  int64_t count = static_cast<int64_t>(starts.size());
  in.tensors["prefix_len"] = HostTensor::ints({count}, randomInts(random, starts.size(), 0, 5));
  in.tensors["starts"] = HostTensor::ints({count}, starts);
  in.tensors["doc"] = HostTensor::ints({in.KV}, doc);
  in.params["window"] = 3;
}

bool sameDocument(const Inputs &in, const Point &p) { return at(in, "doc", p.q) == at(in, "doc", p.kv); }
int32_t local(const Inputs &in, int32_t i) { return i - at(in, "starts", at(in, "doc", i)); }

bool inNeighborhood(int32_t query, int32_t key, int32_t size, int32_t kernel) {
  int32_t center = std::min(std::max(query, kernel / 2), size - 1 - kernel / 2);
  return std::abs(center - key) <= kernel / 2;
}

// Ancestors by walking parents: what the Euler tour must reproduce.
void growTree(Inputs &in, Random &random) {
  const int32_t nodes = 12, prefix = 5;
  setSizes(in, nodes, prefix + nodes);
  std::vector<int32_t> parent(nodes, -1), enter(nodes), leave(nodes);
  for (int32_t i = 1; i < nodes; ++i)
    parent[i] = std::uniform_int_distribution<int32_t>(0, i - 1)(random);
  int32_t clock = 0;
  std::function<void(int32_t)> visit = [&](int32_t node) {
    enter[node] = clock++;
    for (int32_t child = 0; child < nodes; ++child)
      if (parent[child] == node)
        visit(child);
    leave[node] = clock;
  };
  visit(0);
  in.params["prefix_len"] = prefix;
  in.tensors["enter"] = HostTensor::ints({nodes}, enter);
  in.tensors["leave"] = HostTensor::ints({nodes}, leave);
  in.tensors["parent"] = HostTensor::ints({nodes}, parent);
}

bool isAncestor(const Inputs &in, const Point &p) {
  int32_t prefix = param(in, "prefix_len");
  if (p.kv < prefix)
    return true;
  for (int32_t node = p.q; node >= 0; node = at(in, "parent", node))
    if (node == p.kv - prefix)
      return true;
  return false;
}

bool blockDiffusion(int32_t length, const Point &p) {
  bool qNoised = p.q < length, kvNoised = p.kv < length;
  int32_t qBlock = p.q % length / 16, kvBlock = p.kv % length / 16;
  if (qNoised && kvNoised)
    return qBlock == kvBlock;
  if (qNoised)
    return kvBlock < qBlock; // clean context strictly before
  return !kvNoised && kvBlock <= qBlock;
}

const std::vector<MaskCase> &maskCases() {
  static const std::vector<MaskCase> cases = {
      {"full", none, [](auto &, auto &) { return true; }},
      {"causal", none, [](auto &, auto &p) { return p.kv <= p.q; }},
      {"causal_at_end", [](auto &in, auto &) { setSizes(in, 3, 10); }, [](auto &, auto &p) { return p.kv <= p.q + 7; }},
      {"sliding_window", [](auto &in, auto &) { in.params["window"] = 3; },
       [](auto &, auto &p) { return p.kv <= p.q && p.q - p.kv < 3; }},
      {"band", [](auto &in, auto &) { in.params = {{"left", 2}, {"right", 1}}; },
       [](auto &, auto &p) { return p.kv >= p.q - 2 && p.kv <= p.q + 1; }},
      {"prefix_lm", [](auto &in, auto &r) { in.tensors["prefix_len"] = HostTensor::ints({2}, randomInts(r, 2, 0, 8)); },
       [](auto &in, auto &p) { return p.kv <= p.q || p.kv < at(in, "prefix_len", p.b); }},
      {"padding", [](auto &in, auto &r) { in.tensors["lengths"] = HostTensor::ints({2}, randomInts(r, 2, 0, 8)); },
       [](auto &in, auto &p) { return p.kv < at(in, "lengths", p.b); }},
      {"dilated",
       [](auto &in, auto &) {
         setSizes(in, 20, 20);
         in.params["window"] = 13;
       },
       [](auto &, auto &p) { return p.kv <= p.q && p.q - p.kv < 13 && (p.q - p.kv) % 4 == 0; }},
      {"streaming", [](auto &in, auto &) { in.params = {{"sinks", 2}, {"window", 3}}; },
       [](auto &, auto &p) { return p.kv <= p.q && (p.kv < 2 || p.q - p.kv < 3); }},
      {"global_and_band", [](auto &in, auto &) { in.params = {{"count", 2}, {"left", 1}, {"right", 2}}; },
       [](auto &, auto &p) { return p.q < 2 || p.kv < 2 || (p.kv - p.q <= 2 && p.q - p.kv <= 1); }},
      {"log_sparse", [](auto &in, auto &) { setSizes(in, 40, 40); },
       [](auto &, auto &p) {
         int32_t d = p.q - p.kv;
         return d == 0 || (d > 0 && (d & (d - 1)) == 0);
       }},
      {"document", packDocuments, sameDocument},
      {"document_sorted", packDocuments, sameDocument},
      {"document_causal", packDocuments, [](auto &in, auto &p) { return sameDocument(in, p) && p.kv <= p.q; }},
      {"document_window", packDocuments,
       [](auto &in, auto &p) {
         int32_t d = local(in, p.q) - local(in, p.kv);
         return sameDocument(in, p) && d >= 0 && d < 3;
       }},
      {"document_prefix", packDocuments,
       [](auto &in, auto &p) {
         int32_t prefix = at(in, "prefix_len", at(in, "doc", p.kv));
         return sameDocument(in, p) && (p.kv <= p.q || local(in, p.kv) < prefix);
       }},
      {"natten1d", [](auto &in, auto &) { setSizes(in, 30, 30); },
       [](auto &, auto &p) { return inNeighborhood(p.q, p.kv, 30, 13); }},
      {"natten2d",
       [](auto &in, auto &) {
         setSizes(in, 15 * 14, 15 * 14);
         in.params = {{"width", 15}, {"height", 14}};
       },
       [](auto &, auto &p) {
         return inNeighborhood(p.q % 15, p.kv % 15, 15, 13) && inNeighborhood(p.q / 15, p.kv / 15, 14, 13);
       }},
      {"natten3d",
       [](auto &in, auto &) {
         setSizes(in, 6 * 7 * 4, 6 * 7 * 4);
         in.params = {{"width", 6}, {"height", 7}, {"frames", 4}};
       },
       [](auto &, auto &p) {
         return inNeighborhood(p.q % 6, p.kv % 6, 6, 5) && inNeighborhood(p.q / 6 % 7, p.kv / 6 % 7, 7, 5) &&
                inNeighborhood(p.q / 42, p.kv / 42, 4, 3);
       }},
      {"tree", growTree, isAncestor},
      {"block_mask",
       [](auto &in, auto &r) {
         setSizes(in, 300, 300);
         in.H = 2;
         in.tensors["keep"] = HostTensor::ints({2, 3, 3}, randomInts(r, 18, 0, 1));
       },
       [](auto &in, auto &p) { return in.tensors.at("keep").intAt({p.h, p.q / 128, p.kv / 128}) != 0; }},
      {"dense_mask", [](auto &in, auto &r) { in.tensors["keep"] = HostTensor::ints({8, 8}, randomInts(r, 64, 0, 1)); },
       [](auto &in, auto &p) { return in.tensors.at("keep").intAt({p.q, p.kv}) != 0; }},
      {"block_diffusion",
       [](auto &in, auto &) {
         setSizes(in, 96, 96);
         in.params["length"] = 48;
       },
       [](auto &, auto &p) { return blockDiffusion(48, p); }},
      {"block_causal",
       [](auto &in, auto &) {
         setSizes(in, 20, 20);
         in.params["block_size"] = 6;
       },
       [](auto &, auto &p) { return p.kv / 6 <= p.q / 6; }},
      {"mistral", [](auto &in, auto &) { in.params["window"] = 5; },
       [](auto &, auto &p) { return p.kv <= p.q && p.q - p.kv < 5; }},
      {"gpt_oss", [](auto &in, auto &) { in.params["window"] = 4; },
       [](auto &, auto &p) { return p.kv <= p.q && p.q - p.kv < 4; }},
  };
  return cases;
}

class StdMask : public testing::TestWithParam<MaskCase> {};

TEST_P(StdMask, EqualsPlainCode) {
  const MaskCase &test = GetParam();
  unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  Inputs in;
  test.setUp(in, random);
  const Program &program = stdVariant(test.variant);
  Point p;
  for (p.b = 0; p.b < in.B; ++p.b)
    for (p.h = 0; p.h < in.H; ++p.h)
      for (p.q = 0; p.q < in.Q; ++p.q)
        for (p.kv = 0; p.kv < in.KV; ++p.kv)
          ASSERT_EQ(maskAt(program, in, p), test.expected(in, p))
              << "b " << p.b << " h " << p.h << " q " << p.q << " kv " << p.kv;
}

INSTANTIATE_TEST_SUITE_P(All, StdMask, testing::ValuesIn(maskCases()),
                         [](const auto &info) { return info.param.variant; });

// A mask variant added to std needs its line above.
TEST(StdMasks, AllHaveACase) {
  for (const Program &program : frontend::loadFile("std").variants) {
    if (!program.maskMod || program.scoreMod || program.sink)
      continue;
    bool found = false;
    for (const MaskCase &test : maskCases())
      found |= test.variant == program.name;
    EXPECT_TRUE(found) << "no reference for " << program.name;
  }
}

} // namespace
} // namespace attnc::test
