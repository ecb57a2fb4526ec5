// Decides what a mask does to a rectangle of (query, key) pairs, by interpreting mask_mod
// over ranges: nothing is kept (Empty), everything is (Full), both occur (Mixed, proven), or
// it cannot tell (Unknown). Empty and Full are proofs; Unknown is always safe to treat as
// Mixed, so precision is speed and never correctness.
//
// What depends on the query alone, or the key alone, is evaluated once along its axis and
// kept with range minima and maxima, whatever it contains. A boolean of q_idx - kv_idx alone
// is counted over all differences. The rest is interval arithmetic in 64 bits that gives up
// (Unknown) where a 32-bit operation could wrap.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "runtime/mask/AxisTable.h"
#include "runtime/mask/Tape.h"

namespace attnc {

// What one value of a function depends on.
struct Dependence {
  bool onHead = false, onRow = false, onColumn = false;
  bool viaDifference = false; // on row and column through q_idx - kv_idx only

  bool isUniform() const { return !onRow && !onColumn; }
  bool isJoint() const { return onRow && onColumn; }
};
std::vector<Dependence> dependences(const Function &function);

enum class Truth : uint8_t { Empty, Full, Mixed, Unknown };

// Absolute positions, inclusive.
struct Rectangle {
  int64_t firstQuery, lastQuery, firstKey, lastKey;
};

// The analysis of one (batch, head).
class MaskAnalysis {
public:
  MaskAnalysis(const Function &mask, const ScalarInputs &inputs, uint32_t batch, uint32_t head);

  Truth classify(const Rectangle &rectangle) const;
  // Every point; never Unknown.
  Truth evaluateDensely(const Rectangle &rectangle) const;

  // The range of a value over a rectangle. Floats are mapped to integers in their order.
  struct Abstract {
    bool isKnown = false;
    int64_t low = 0, high = 0;
    bool isAttained = false; // both ends occur, and independently along `axes`
    uint8_t axes = 0;        // 1: row, 2: column
    bool isConstant() const { return isKnown && low == high; }
  };

private:
  struct Node {
    enum Kind { Skipped, Uniform, Index, Table, Difference, Operation } kind = Skipped;
    Abstract constant; // Uniform
    bool isRow = false;
    std::optional<AxisTable> table;
    std::optional<PrefixCount> differences;
  };

  void plan(ValueId id);
  void planAxis(ValueId id, Node &node);
  void planDifference(ValueId id, Node &node);
  Abstract evaluate(ValueId id, const Rectangle &rectangle, std::vector<Abstract> &values) const;
  Abstract evaluateOperation(ValueId id, const std::vector<Abstract> &values) const;
  Abstract loadRange(const Instruction &instruction, const std::vector<Abstract> &values) const;

  const Function &mask;
  const ScalarInputs &inputs;
  const uint32_t batch, head;
  std::vector<Dependence> depends;
  std::vector<Node> nodes;
  std::vector<ValueId> order; // the nodes to evaluate for a rectangle
  mutable Tape tape;
};

} // namespace attnc
