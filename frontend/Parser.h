// Tokens to syntax tree: recursive descent for items and statements, precedence climbing
// for operators (docs/language.md, "Grammar").
//
// After an error the parser skips to the next statement or item, so one run reports
// several errors. Nesting is bounded: deep input is an error, not a stack overflow.
#pragma once

#include "frontend/Ast.h"
#include "frontend/Lexer.h"

namespace attnc::frontend {

// Levels of nested expressions and blocks in one file.
constexpr uint32_t kMaxNesting = 200;
// Levels of one expression's tree: also long chains such as a or b or c ...
constexpr uint32_t kMaxChain = 500;

class Parser {
public:
  Parser(const std::vector<Token> &tokens, Diagnostics &diagnostics, Ast &ast)
      : tokens(tokens), diagnostics(diagnostics), ast(ast) {}

  void parseModule();

private:
  // Tokens.
  const Token &current() const { return tokens[position]; }
  const Token &ahead(size_t n = 1) const { return tokens[std::min(position + n, tokens.size() - 1)]; }
  bool at(std::string_view text) const;
  bool accept(std::string_view text);
  bool expect(std::string_view text, std::string_view why = "");
  const Token *expectName(std::string_view what);
  void fail(Span at, std::string message, std::string hint = "");
  void failHere(std::string_view expected, std::string hint = "");

  // Items (Parser.cpp).
  void parseItem(VariantDecl *variant);
  void parseImport();
  Decl *parseConst();
  Decl *parseParam();
  Decl *parseTensor();
  Decl *parseFunction(FunctionKind kind);
  void parseFormals(FunctionDecl &function);
  void parseVariant();
  bool parseField(VariantDecl &variant);
  void skipItem(size_t start, bool inVariant);
  std::optional<ScalarType> parseScalarType();
  bool parseTensorType(TensorType &type);
  bool parseAxis(TensorType &type);

  // Statements (ParserStatements.cpp).
  Block parseBlock();
  void parseStatements(Block &block);
  Stmt *parseStatement();
  Stmt *parseDeclaration(bool isMutable);
  Stmt *parseIf();
  Stmt *parseFor();
  void skipStatement(size_t start);
  Stmt *newStmt(StmtKind kind, Span span);
  Decl *newDecl(DeclKind kind, const Token &name);

  // Expressions (ParserExpressions.cpp).
  Expr *parseExpression();
  Expr *parseCondition();
  Expr *parseIfElse();
  Expr *parseLogical(bool isOr);
  Expr *parseNot();
  Expr *parseComparison();
  Expr *parseBinary(int minimum);
  Expr *parseUnary();
  Expr *parsePower();
  Expr *parsePostfix();
  Expr *parseReindex(Expr *body);
  Expr *parsePrimary();
  void parseArguments(Expr &call);
  Expr *newExpr(ExprKind kind, Span span, std::vector<Expr *> operands = {});
  Expr *newLiteral(Span span, ScalarType type, uint32_t bits);

  // Counts a level while it lives; `ok` is false when there are too many.
  struct Nesting {
    explicit Nesting(Parser &parser);
    ~Nesting() { --parser.depth; }
    Parser &parser;
    bool ok;
  };

  const std::vector<Token> &tokens;
  Diagnostics &diagnostics;
  Ast &ast;
  size_t position = 0;
  uint32_t depth = 0;
  bool panicking = false; // between an error and the next statement or item
};

} // namespace attnc::frontend
