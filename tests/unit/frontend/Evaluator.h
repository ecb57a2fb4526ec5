// Runs a Program's functions on one point at a time, with captures and params given by
// name. Only evaluateBits computes; this is the simplest use of a Program there can be.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "frontend/Frontend.h"

namespace attnc::test {

struct HostTensor {
  std::vector<int64_t> shape;
  std::vector<uint32_t> bits;

  static HostTensor ints(std::vector<int64_t> shape, const std::vector<int32_t> &values);
  static HostTensor floats(std::vector<int64_t> shape, const std::vector<float> &values);
  int32_t intAt(const std::vector<int64_t> &index) const;
  float floatAt(const std::vector<int64_t> &index) const;
  // The element's place in `bits`, each index clamped to its axis.
  size_t offset(const std::vector<int64_t> &index) const;
};

// What a launch gives besides queries, keys and values.
struct Inputs {
  int32_t B = 2, H = 2, Hkv = 2, Q = 8, KV = 8, D = 64;
  std::map<std::string, HostTensor> tensors;
  std::map<std::string, uint32_t> params; // else the default
};

struct Point {
  int32_t b = 0, h = 0, q = 0, kv = 0;
  float score = 0;
};

uint32_t evaluate(const Program &program, const Function &function, const Inputs &inputs, const Point &point);
// Without a mask_mod everything is seen; without a score_mod the score is unchanged.
bool maskAt(const Program &program, const Inputs &inputs, const Point &point);
float scoreAt(const Program &program, const Inputs &inputs, const Point &point);

// The variant `name` of the standard library, loaded once.
const Program &stdVariant(const std::string &name);
// The only variant of a text; fails the test with the diagnostics if there are errors.
Program variantFrom(std::string_view text);
// The value of an f32, i32 or bool expression of score, b, h, q_idx and kv_idx.
float valueOf(const std::string &expression, const Point &point = {}, const Inputs &inputs = {});

} // namespace attnc::test
