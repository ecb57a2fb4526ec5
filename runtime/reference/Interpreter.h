// One function of a Program at one point, floats in double precision: what the reference
// computes scores with. Integers and comparisons are those of docs/language.md.
#pragma once

#include <vector>

#include "runtime/mask/ScalarInputs.h"

namespace attnc {

struct Point {
  double score = 0;
  int32_t batch = 0, head = 0, query = 0, key = 0;
};

class Interpreter {
public:
  Interpreter(const Function &function, const ScalarInputs &inputs)
      : function(function), inputs(inputs), values(function.body.size()) {}

  double number(const Point &point) { return run(point), values[function.result].number; }
  bool truth(const Point &point) { return run(point), values[function.result].bits != 0; }

private:
  struct Value {
    double number = 0; // of an f32
    uint32_t bits = 0; // of an i32 or a bool
  };
  void run(const Point &point);
  Value evaluate(const Instruction &instruction, const Point &point) const;

  const Function &function;
  const ScalarInputs &inputs;
  std::vector<Value> values;
};

} // namespace attnc
