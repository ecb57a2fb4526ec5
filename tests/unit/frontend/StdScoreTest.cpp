// Every score change of the standard library against plain C++ in float.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <random>

#include "tests/unit/frontend/Evaluator.h"

namespace attnc::test {
namespace {

using Random = std::mt19937;

HostTensor randomFloats(Random &random, std::vector<int64_t> shape) {
  size_t count = 1;
  for (int64_t size : shape)
    count *= static_cast<size_t>(size);
  std::vector<float> values(count);
  for (float &value : values)
    value = std::uniform_real_distribution<float>(-2, 2)(random);
  return HostTensor::floats(std::move(shape), values);
}

struct ScoreCase {
  std::string variant;
  std::function<void(Inputs &, Random &)> setUp;
  std::function<float(const Inputs &, const Point &)> expected;
};

void none(Inputs &, Random &) {}
void slopes(Inputs &in, Random &r) { in.tensors["slopes"] = randomFloats(r, {in.H}); }
void t5Table(Inputs &in, Random &r) {
  in.Q = in.KV = 200;
  in.tensors["table"] = randomFloats(r, {32, in.H});
}

// relative_position_bucket of the published T5 code; n >= 0, buckets of one side.
int32_t t5Bucket(int32_t n, int32_t buckets, int32_t maxDistance) {
  int32_t exact = buckets / 2;
  if (n < exact)
    return n;
  float large = std::log(static_cast<float>(n) / static_cast<float>(exact)) /
                std::log(static_cast<float>(maxDistance) / static_cast<float>(exact)) *
                static_cast<float>(buckets - exact);
  return std::min(exact + static_cast<int32_t>(large), buckets - 1);
}

float softcap(float cap, float score) { return cap * std::tanh(score * (1.0f / cap)); }
float alibi(const Inputs &in, const Point &p) {
  return p.score + in.tensors.at("slopes").floatAt({p.h}) * static_cast<float>(p.kv - p.q);
}

const std::vector<ScoreCase> &scoreCases() {
  static const std::vector<ScoreCase> cases = {
      {"alibi", slopes, alibi},
      {"alibi_causal", slopes, alibi},
      {"mpt", slopes, alibi},
      {"alibi_geometric", none,
       [](auto &, auto &p) {
         return p.score + std::exp2(-8.f * static_cast<float>(p.h + 1) / 2) * static_cast<float>(p.kv - p.q);
       }},
      {"softcap", none, [](auto &, auto &p) { return softcap(50, p.score); }},
      {"softcap_causal", [](auto &in, auto &) { in.params["cap"] = std::bit_cast<uint32_t>(2.f); },
       [](auto &, auto &p) { return softcap(2, p.score); }},
      {"gemma2_local", none, [](auto &, auto &p) { return softcap(50, p.score); }},
      {"gemma2_global", none, [](auto &, auto &p) { return softcap(50, p.score); }},
      {"relative_position",
       [](auto &in, auto &r) {
         in.params["max_distance"] = 3;
         in.tensors["table"] = randomFloats(r, {2, 7});
       },
       [](auto &in, auto &p) {
         int32_t d = std::min(std::max(p.q - p.kv, -3), 3) + 3;
         return p.score + in.tensors.at("table").floatAt({p.h, d});
       }},
      {"t5_causal", t5Table,
       [](auto &in, auto &p) {
         int32_t bucket = t5Bucket(std::max(p.q - p.kv, 0), 32, 128);
         return p.score + in.tensors.at("table").floatAt({bucket, p.h});
       }},
      {"t5_bidirectional", t5Table,
       [](auto &in, auto &p) {
         int32_t bucket = (p.kv > p.q ? 16 : 0) + t5Bucket(std::abs(p.q - p.kv), 16, 128);
         return p.score + in.tensors.at("table").floatAt({bucket, p.h});
       }},
      {"dense_bias", [](auto &in, auto &r) { in.tensors["bias"] = randomFloats(r, {2, 2, 8, 8}); },
       [](auto &in, auto &p) { return p.score + in.tensors.at("bias").floatAt({p.b, p.h, p.q, p.kv}); }},
      {"key_bias", [](auto &in, auto &r) { in.tensors["bias"] = randomFloats(r, {2, 8}); },
       [](auto &in, auto &p) { return p.score + in.tensors.at("bias").floatAt({p.h, p.kv}); }},
  };
  return cases;
}

class StdScore : public testing::TestWithParam<ScoreCase> {};

TEST_P(StdScore, EqualsPlainCode) {
  const ScoreCase &test = GetParam();
  unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  Inputs in;
  test.setUp(in, random);
  const Program &program = stdVariant(test.variant);
  Point p;
  for (p.h = 0; p.h < in.H; ++p.h)
    for (p.q = 0; p.q < in.Q; ++p.q)
      for (p.kv = 0; p.kv < in.KV; ++p.kv) {
        p.score = std::uniform_real_distribution<float>(-20, 20)(random);
        float expected = test.expected(in, p);
        ASSERT_NEAR(scoreAt(program, in, p), expected, 1e-5f * (1 + std::fabs(expected)))
            << "h " << p.h << " q " << p.q << " kv " << p.kv;
      }
}

INSTANTIATE_TEST_SUITE_P(All, StdScore, testing::ValuesIn(scoreCases()),
                         [](const auto &info) { return info.param.variant; });

TEST(StdScores, AllHaveACase) {
  for (const Program &program : frontend::loadFile("std").variants) {
    bool found = !program.scoreMod;
    for (const ScoreCase &test : scoreCases())
      found |= test.variant == program.name;
    EXPECT_TRUE(found) << "no reference for " << program.name;
  }
}

TEST(StdSinks, AreTheGivenLogits) {
  Inputs in;
  in.tensors["sinks"] = HostTensor::floats({2}, {0.5f, -1.5f});
  for (const char *name : {"attention_sink", "gpt_oss"}) {
    const Program &program = stdVariant(name);
    ASSERT_TRUE(program.sink);
    for (int32_t h : {0, 1})
      EXPECT_EQ(std::bit_cast<float>(evaluate(program, *program.sink, in, {0, h, 0, 0})),
                in.tensors["sinks"].floatAt({h}));
  }
  const Program &offByOne = stdVariant("softmax_off_by_one");
  ASSERT_TRUE(offByOne.sink);
  EXPECT_EQ(evaluate(offByOne, *offByOne.sink, in, {}), 0u);
}

// The examples are documentation that must stay true.
TEST(Examples, Load) {
  for (const char *name : {"mistral", "gemma2", "alibi", "packed", "t5", "natten", "sinks", "tree"}) {
    frontend::Module module = frontend::loadFile(std::string(EXAMPLES_FOLDER) + "/" + name + ".attn");
    EXPECT_EQ(module.rendered, "") << name;
    EXPECT_FALSE(module.variants.empty()) << name;
  }
}

} // namespace
} // namespace attnc::test
