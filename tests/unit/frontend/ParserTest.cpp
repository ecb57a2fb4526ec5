// Structure: precedence and associativity, as a fully bracketed text.
#include "frontend/Parser.h"

#include <gtest/gtest.h>

namespace attnc::frontend {
namespace {

std::string bracketed(const Expr &expr);

std::string joined(const Expr &expr, size_t first, const char *separator) {
  std::string out;
  for (size_t i = first; i < expr.operands.size(); ++i)
    out += (i == first ? "" : separator) + bracketed(*expr.operands[i]);
  return out;
}

std::string bracketed(const Expr &expr) {
  static const char *const ops[] = {"+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^"};
  static const char *const compares[] = {"<", "<=", ">", ">=", "==", "!="};
  switch (expr.kind) {
  case ExprKind::Literal:
    return std::to_string(static_cast<int32_t>(expr.bits));
  case ExprKind::Name:
    return std::string(expr.name);
  case ExprKind::Negate:
    return "(-" + bracketed(*expr.operands[0]) + ")";
  case ExprKind::Not:
    return "(not " + bracketed(*expr.operands[0]) + ")";
  case ExprKind::Binary:
    return "(" + joined(expr, 0, ops[static_cast<size_t>(expr.op)]) + ")";
  case ExprKind::Compare: {
    std::string out = "(" + bracketed(*expr.operands[0]);
    for (size_t i = 0; i < expr.compareOps.size(); ++i)
      out += compares[static_cast<size_t>(expr.compareOps[i])] + bracketed(*expr.operands[i + 1]);
    return out + ")";
  }
  case ExprKind::Logical:
    return "(" + joined(expr, 0, expr.isOr ? " or " : " and ") + ")";
  case ExprKind::IfElse:
    return "if(" + joined(expr, 0, ", ") + ")";
  case ExprKind::Pipe:
    return "(" + joined(expr, 0, " |> ") + ")";
  case ExprKind::Index:
    return bracketed(*expr.operands[0]) + "[" + joined(expr, 1, ", ") + "]";
  case ExprKind::Reindex:
    return bracketed(*expr.operands[0]) + "@(" + joined(expr, 1, ", ") + ")";
  case ExprKind::Call:
    return std::string(expr.name) + "(" + joined(expr, 0, ", ") + ")";
  }
  return "";
}

std::string parsed(const std::string &expression) {
  Sources sources;
  Diagnostics diagnostics(sources);
  uint32_t file = sources.add("t.attn", "const c = " + expression + ";");
  std::vector<Token> tokens = lex(sources, file, diagnostics);
  Ast ast;
  Parser(tokens, diagnostics, ast).parseModule();
  return diagnostics.hasErrors() ? diagnostics.render() : bracketed(*ast.decls.at(0)->value);
}

TEST(Parser, BindsArithmeticAsPythonDoes) {
  EXPECT_EQ(parsed("a + x * y // z - w % v"), "((a+((x*y)//z))-(w%v))");
  EXPECT_EQ(parsed("-a ** 2"), "(-(a**2))");
  EXPECT_EQ(parsed("a ** -x ** y"), "(a**(-(x**y)))");
  EXPECT_EQ(parsed("a << 1 + x & y ^ z | w"), "((((a<<(1+x))&y)^z)|w)");
  EXPECT_EQ(parsed("a - x - y"), "((a-x)-y)");
}

TEST(Parser, BindsLogicLooserThanComparison) {
  EXPECT_EQ(parsed("not a < x and y or z == w"), "(((not (a<x)) and y) or (z==w))");
  EXPECT_EQ(parsed("a & x == y"), "((a&x)==y)");
}

TEST(Parser, compare_c1_Chains) { EXPECT_EQ(parsed("a <= x < y != z"), "(a<=x<y!=z)"); }

TEST(Parser, PutsIfAndPipeLoosest) {
  EXPECT_EQ(parsed("if a then x else if y then z else w"), "if(a, x, if(y, z, w))");
  EXPECT_EQ(parsed("score |> f(1) |> if a then x else y"), "((score |> f(1)) |> if(a, x, y))");
  EXPECT_EQ(parsed("1 + (if a then 1 else 2)"), "(1+if(a, 1, 2))");
}

TEST(Parser, AppliesPostfixFirst) {
  EXPECT_EQ(parsed("-t[a, x + 1] @ (q_idx = y, b = 0) ** 2"), "(-(t[a, (x+1)]@(y, 0)**2))");
  EXPECT_EQ(parsed("-2147483648"), "-2147483648");
  EXPECT_EQ(parsed("f(a, g(),)"), "f(a, g())");
}

} // namespace
} // namespace attnc::frontend
