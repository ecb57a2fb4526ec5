// Expressions, loosest first: |> if-else or and not comparison | ^ & shift sum term unary
// ** postfix.
#include "frontend/Parser.h"

namespace attnc::frontend {

Expr *Parser::newExpr(ExprKind kind, Span span, std::vector<Expr *> operands) {
  ast.exprs.emplace_back();
  Expr &expr = ast.exprs.back();
  expr.kind = kind;
  expr.span = span;
  expr.operands = std::move(operands);
  for (const Expr *operand : expr.operands)
    expr.depth = std::max(expr.depth, operand->depth + 1);
  // nesting_c1: a long chain such as a + b + ... is deep too, though it is parsed by a loop.
  if (expr.depth > kMaxChain) {
    fail(span, "expression is longer than " + std::to_string(kMaxChain) + " operators in a row",
         "name parts of it with let");
    expr.depth = 1;
  }
  return &expr;
}

Expr *Parser::newLiteral(Span span, ScalarType type, uint32_t bits) {
  Expr *literal = newExpr(ExprKind::Literal, span);
  literal->type = type;
  literal->bits = bits;
  return literal;
}

Expr *Parser::parseExpression() {
  Nesting nesting(*this);
  if (!nesting.ok)
    return newLiteral(current().span, ScalarType::Bool, 0);
  Expr *expr = parseCondition();
  while (!panicking && at("|>")) {
    Span span = current().span;
    ++position;
    Expr *stage = parseCondition();
    expr = newExpr(ExprKind::Pipe, span, {expr, stage});
  }
  return expr;
}

Expr *Parser::parseCondition() { return at("if") ? parseIfElse() : parseLogical(true); }

Expr *Parser::parseIfElse() {
  Nesting nesting(*this);
  Span span = current().span;
  if (!nesting.ok)
    return newLiteral(span, ScalarType::Bool, 0);
  ++position;
  Expr *condition = parseExpression();
  if (at("{"))
    failHere("'then'", "as an expression write: if condition then a else b");
  expect("then");
  Expr *then = parseCondition();
  expect("else", ": an 'if' expression has a value on both sides");
  Expr *otherwise = parseCondition();
  return newExpr(ExprKind::IfElse, span, {condition, then, otherwise});
}

Expr *Parser::parseLogical(bool isOr) {
  std::string_view word = isOr ? "or" : "and";
  Expr *expr = isOr ? parseLogical(false) : parseNot();
  while (!panicking && at(word)) {
    Span span = current().span;
    ++position;
    Expr *right = isOr ? parseLogical(false) : parseNot();
    expr = newExpr(ExprKind::Logical, span, {expr, right});
    expr->isOr = isOr;
  }
  return expr;
}

Expr *Parser::parseNot() {
  if (!at("not"))
    return parseComparison();
  Nesting nesting(*this);
  Span span = current().span;
  if (!nesting.ok)
    return newLiteral(span, ScalarType::Bool, 0);
  ++position;
  return newExpr(ExprKind::Not, span, {parseNot()});
}

namespace {

std::optional<CompareOp> compareOp(const Token &token) {
  if (token.kind != TokenKind::Punctuation)
    return std::nullopt;
  constexpr std::pair<std::string_view, CompareOp> table[] = {
      {"<", CompareOp::Less},          {"<=", CompareOp::LessEqual}, {">", CompareOp::Greater},
      {">=", CompareOp::GreaterEqual}, {"==", CompareOp::Equal},     {"!=", CompareOp::NotEqual}};
  for (auto [text, op] : table)
    if (token.text == text)
      return op;
  return std::nullopt;
}

struct BinaryInfo {
  std::string_view text;
  BinaryOp op;
  int precedence;
};

const BinaryInfo *binaryInfo(const Token &token) {
  static constexpr BinaryInfo table[] = {
      {"|", BinaryOp::Or, 1},         {"^", BinaryOp::Xor, 2},         {"&", BinaryOp::And, 3},
      {"<<", BinaryOp::ShiftLeft, 4}, {">>", BinaryOp::ShiftRight, 4}, {"+", BinaryOp::Add, 5},
      {"-", BinaryOp::Sub, 5},        {"*", BinaryOp::Mul, 6},         {"/", BinaryOp::Divide, 6},
      {"//", BinaryOp::FloorDiv, 6},  {"%", BinaryOp::Modulo, 6}};
  if (token.kind != TokenKind::Punctuation)
    return nullptr;
  for (const BinaryInfo &info : table)
    if (token.text == info.text)
      return &info;
  return nullptr;
}

} // namespace

// compare_c1: a < b < c means a < b and b < c, with b evaluated once.
Expr *Parser::parseComparison() {
  Expr *first = parseBinary(1);
  std::optional<CompareOp> op = panicking ? std::nullopt : compareOp(current());
  if (!op)
    return first;
  Span span = current().span;
  std::vector<Expr *> operands = {first};
  std::vector<CompareOp> ops;
  while (!panicking && (op = compareOp(current()))) {
    ++position;
    ops.push_back(*op);
    operands.push_back(parseBinary(1));
  }
  Expr *expr = newExpr(ExprKind::Compare, span, std::move(operands));
  expr->compareOps = std::move(ops);
  return expr;
}

Expr *Parser::parseBinary(int minimum) {
  Expr *left = parseUnary();
  while (!panicking) {
    const BinaryInfo *info = binaryInfo(current());
    if (!info || info->precedence < minimum)
      break;
    Span span = current().span;
    ++position;
    Expr *right = parseBinary(info->precedence + 1);
    left = newExpr(ExprKind::Binary, span, {left, right});
    left->op = info->op;
  }
  return left;
}

Expr *Parser::parseUnary() {
  if (panicking || !at("-"))
    return parsePower();
  Span span = current().span;
  Nesting nesting(*this);
  if (!nesting.ok)
    return newLiteral(span, ScalarType::I32, 0);
  ++position;
  // literal_c1: 2147483648 has no meaning of its own, only as the minimum behind a minus.
  const Token &number = current();
  if (number.kind == TokenKind::Integer && number.bits == 0x80000000u && ahead().text != "**") {
    ++position;
    return newLiteral(number.span, ScalarType::I32, number.bits);
  }
  return newExpr(ExprKind::Negate, span, {parseUnary()});
}

Expr *Parser::parsePower() {
  Expr *base = parsePostfix();
  if (panicking || !at("**"))
    return base;
  Span span = current().span;
  Nesting nesting(*this);
  if (!nesting.ok)
    return base;
  ++position;
  Expr *power = newExpr(ExprKind::Binary, span, {base, parseUnary()});
  power->op = BinaryOp::Power;
  return power;
}

Expr *Parser::parsePostfix() {
  Expr *expr = parsePrimary();
  while (!panicking && (at("[") || at("@"))) {
    Span span = current().span;
    ++position;
    if (tokens[position - 1].text == "@") {
      expr = parseReindex(expr);
      continue;
    }
    std::vector<Expr *> operands = {expr};
    do
      operands.push_back(parseExpression());
    while (accept(","));
    expect("]", " after the indices");
    expr = newExpr(ExprKind::Index, expr->kind == ExprKind::Name ? expr->span : span, std::move(operands));
  }
  return expr;
}

Expr *Parser::parseReindex(Expr *body) {
  Span span = tokens[position - 1].span;
  std::vector<Expr *> operands = {body};
  std::vector<ArgumentKind> rebound;
  if (!expect("(", " and new indices, for example @(q_idx = q_idx + 1)"))
    return body;
  do {
    const Token &name = current();
    size_t index = 0;
    while (index < kImplicitCount && name.text != kImplicitNames[index])
      ++index;
    if (index == kImplicitCount) {
      failHere("b, h, q_idx, kv_idx or score", "write for example: @(q_idx = q_idx + 1)");
      return body;
    }
    for (ArgumentKind seen : rebound)
      if (seen == static_cast<ArgumentKind>(index))
        fail(name.span, inQuotes(name.text) + " is given twice", "keep one of the two");
    ++position;
    expect("=");
    rebound.push_back(static_cast<ArgumentKind>(index));
    operands.push_back(parseExpression());
  } while (accept(","));
  expect(")", " after the new indices");
  Expr *expr = newExpr(ExprKind::Reindex, span, std::move(operands));
  expr->rebound = std::move(rebound);
  return expr;
}

Expr *Parser::parsePrimary() {
  const Token &token = current();
  if (panicking)
    return newLiteral(token.span, ScalarType::Bool, 0);
  if (token.kind == TokenKind::Integer || token.kind == TokenKind::Float) {
    ++position;
    bool isHex = token.text.size() > 1 && (token.text[1] == 'x' || token.text[1] == 'X');
    if (token.kind == TokenKind::Integer && token.bits == 0x80000000u && !isHex)
      fail(token.span, "integer '2147483648' does not fit in i32", "the largest is 2147483647");
    return newLiteral(token.span, token.kind == TokenKind::Float ? ScalarType::F32 : ScalarType::I32, token.bits);
  }
  if (accept("true") || accept("false"))
    return newLiteral(token.span, ScalarType::Bool, token.text == "true");
  if (accept("inf"))
    return newLiteral(token.span, ScalarType::F32, 0x7F800000u);
  if (accept("(")) {
    Expr *inner = parseExpression();
    expect(")", " to close '('");
    return inner;
  }
  if (token.kind != TokenKind::Name) {
    failHere("an expression", "expressions are numbers, names, calls, ( ... ) and if c then a else b");
    return newLiteral(token.span, ScalarType::Bool, 0);
  }
  ++position;
  bool isCall = accept("(");
  Expr *expr = newExpr(isCall ? ExprKind::Call : ExprKind::Name, token.span);
  expr->name = token.text;
  if (isCall)
    parseArguments(*expr);
  return expr;
}

void Parser::parseArguments(Expr &call) {
  while (!panicking && !at(")")) {
    Expr *argument = parseExpression();
    call.operands.push_back(argument);
    call.depth = std::max(call.depth, argument->depth + 1);
    if (!accept(","))
      break;
  }
  expect(")", " to close the argument list");
}

} // namespace attnc::frontend
