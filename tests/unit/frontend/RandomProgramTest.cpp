// Random functions with lets, vars, ifs, early returns and loops, against a reference that
// is built beside the text and runs it statement by statement, as the language reads.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "tests/unit/frontend/Evaluator.h"

namespace attnc::test {
namespace {

// Values of q_idx, kv_idx (0, 1) and of the vars v0 .. v2 (2 .. 4) while a body runs.
using State = std::array<int32_t, 5>;
template <typename T> struct Piece {
  std::string text;
  std::function<T(State &)> run;
};
using Expression = Piece<int32_t>;
using Condition = Piece<bool>;
using Statement = Piece<std::optional<int32_t>>; // what it returned, if it did

constexpr const char *kNames[] = {"q_idx", "kv_idx", "v0", "v1", "v2"};

int32_t wrap(int64_t value) { return static_cast<int32_t>(static_cast<uint32_t>(value)); }
int32_t floorDivide(int64_t a, int64_t b) { return b == 0 ? 0 : wrap(a / b - (a % b != 0 && (a < 0) != (b < 0))); }

class Generator {
public:
  explicit Generator(unsigned seed) : random(seed) {}

  Expression expression(int depth) {
    if (depth == 0 || pick(5) == 0)
      return leaf();
    Expression a = expression(depth - 1), b = expression(depth - 1);
    switch (pick(8)) {
    case 0:
      return binary(a, b, "+", [](int64_t x, int64_t y) { return wrap(x + y); });
    case 1:
      return binary(a, b, "-", [](int64_t x, int64_t y) { return wrap(x - y); });
    case 2:
      return binary(a, b, "*", [](int64_t x, int64_t y) { return wrap(x * y); });
    case 3:
      return binary(a, b, "//", floorDivide);
    case 4:
      return binary(a, b, "%", [](int64_t x, int64_t y) { return y == 0 ? 0 : wrap(x - y * floorDivide(x, y)); });
    case 5:
      return {"max(" + a.text + ", " + b.text + ")", [=](State &s) { return std::max(a.run(s), b.run(s)); }};
    case 6:
      return {"(-" + a.text + ")", [=](State &s) { return wrap(-int64_t(a.run(s))); }};
    default: {
      Condition c = condition(depth - 1);
      return {"(if " + c.text + " then " + a.text + " else " + b.text + ")",
              [=](State &s) { return c.run(s) ? a.run(s) : b.run(s); }};
    }
    }
  }

  Condition condition(int depth) {
    if (depth > 0 && pick(3) == 0) {
      Condition a = condition(depth - 1), b = condition(depth - 1);
      if (pick(2))
        return {"(" + a.text + " and not " + b.text + ")", [=](State &s) { return a.run(s) && !b.run(s); }};
      return {"(" + a.text + " or " + b.text + ")", [=](State &s) { return a.run(s) || b.run(s); }};
    }
    Expression a = expression(depth), b = expression(depth), c = expression(0);
    if (pick(2))
      return {"(" + a.text + " == " + b.text + ")", [=](State &s) { return a.run(s) == b.run(s); }};
    return {"(" + a.text + " < " + b.text + " <= " + c.text + ")",
            [=](State &s) { return a.run(s) < b.run(s) && b.run(s) <= c.run(s); }};
  }

  Statement block(int depth, int length) {
    Statement all{"", [](State &) { return std::nullopt; }};
    for (int i = 0; i < length; ++i) {
      Statement next = statement(depth);
      all = {all.text + next.text, [before = all.run, after = next.run](State &s) {
               std::optional<int32_t> returned = before(s);
               return returned ? returned : after(s);
             }};
    }
    return all;
  }

private:
  int pick(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); }

  Expression leaf() {
    if (pick(3) == 0) {
      int32_t value = pick(2) ? pick(9) - 4 : wrap(static_cast<int64_t>(random()));
      return {"(" + std::to_string(value) + ")", [=](State &) { return value; }};
    }
    size_t name = static_cast<size_t>(pick(5));
    return {kNames[name], [=](State &s) { return s[name]; }};
  }

  static Expression binary(const Expression &a, const Expression &b, const std::string &op,
                           const std::function<int32_t(int64_t, int64_t)> &apply) {
    return {"(" + a.text + " " + op + " " + b.text + ")", [=](State &s) { return apply(a.run(s), b.run(s)); }};
  }

  Statement statement(int depth) {
    int kind = depth == 0 ? 0 : pick(5);
    if (kind == 1) {
      Condition c = condition(2);
      Statement then = block(depth - 1, 2), otherwise = block(depth - 1, pick(3));
      return {"if " + c.text + " {\n" + then.text + "} else {\n" + otherwise.text + "}\n",
              [=](State &s) { return c.run(s) ? then.run(s) : otherwise.run(s); }};
    }
    if (kind == 2) {
      int count = pick(4);
      Statement body = block(depth - 1, 2);
      return {"for i in 0 .. " + std::to_string(count) + " {\n" + body.text + "}\n", [=](State &s) {
                std::optional<int32_t> returned;
                for (int i = 0; i < count && !returned; ++i)
                  returned = body.run(s);
                return returned;
              }};
    }
    if (kind == 3) {
      Condition c = condition(1);
      Expression value = expression(2);
      return {"if " + c.text + " { return " + value.text + "; }\n",
              [=](State &s) { return c.run(s) ? std::optional(value.run(s)) : std::nullopt; }};
    }
    size_t var = static_cast<size_t>(2 + pick(3));
    Expression value = expression(3);
    return {std::string(kNames[var]) + " = " + value.text + ";\n", [=](State &s) -> std::optional<int32_t> {
              s[var] = value.run(s);
              return std::nullopt;
            }};
  }

  std::mt19937 random;
};

TEST(RandomPrograms, if_c1_return_c3_RunAsTheyRead) {
  unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (unsigned round = 0; round < 60; ++round) {
    Generator generator(seed + round);
    Statement body = generator.block(3, 5);
    Expression last = generator.expression(3);
    std::string text = "fn f(q: i32, k: i32) -> i32 {\nvar v0 = 1; var v1 = 2; var v2 = 3;\n" + body.text + "return " +
                       last.text + ";\n}\n";
    for (size_t at; (at = text.find("q_idx")) != std::string::npos;)
      text.replace(at, 5, "q");
    for (size_t at; (at = text.find("kv_idx")) != std::string::npos;)
      text.replace(at, 6, "k");
    Program program = variantFrom(text + "variant v { mask_mod = f(q_idx, kv_idx) == b; }");
    for (int32_t q = -3; q < 4; ++q)
      for (int32_t kv = -3; kv < 4; ++kv) {
        State state = {q, kv, 1, 2, 3};
        std::optional<int32_t> returned = body.run(state);
        int32_t expected = returned ? *returned : last.run(state);
        ASSERT_TRUE(maskAt(program, {}, {expected, 0, q, kv}))
            << "f(" << q << ", " << kv << ") must be " << expected << "\n"
            << text;
        ASSERT_FALSE(maskAt(program, {}, {wrap(expected + 1ll), 0, q, kv})) << text;
      }
  }
}

} // namespace
} // namespace attnc::test
