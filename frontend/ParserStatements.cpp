// Blocks and statements.
#include "frontend/Parser.h"

namespace attnc::frontend {

Stmt *Parser::newStmt(StmtKind kind, Span span) {
  ast.stmts.emplace_back();
  Stmt &stmt = ast.stmts.back();
  stmt.kind = kind;
  stmt.span = span;
  return &stmt;
}

Block Parser::parseBlock() {
  Block block;
  Nesting nesting(*this);
  if (!nesting.ok || !expect("{"))
    return block;
  parseStatements(block);
  expect("}", " to close the block");
  return block;
}

void Parser::parseStatements(Block &block) {
  while (!at("}") && current().kind != TokenKind::End && !diagnostics.isFull()) {
    size_t start = position;
    Stmt *stmt = parseStatement();
    if (panicking)
      skipStatement(start);
    else if (stmt)
      block.push_back(stmt);
  }
}

// Skips to behind the ';' that ends the broken statement, or to the '}' that ends its block.
void Parser::skipStatement(size_t start) {
  panicking = false;
  size_t braces = 0;
  for (; current().kind != TokenKind::End; ++position) {
    if (at("{")) {
      ++braces;
    } else if (at("}")) {
      if (braces == 0)
        return;
      if (--braces == 0) {
        ++position;
        return;
      }
    } else if (braces == 0 && at(";")) {
      ++position;
      return;
    } else if (braces == 0 && position > start && (at("let") || at("var") || at("return") || at("for"))) {
      return;
    }
  }
}

Stmt *Parser::parseStatement() {
  Span span = current().span;
  if (accept("let"))
    return parseDeclaration(false);
  if (accept("var"))
    return parseDeclaration(true);
  if (at("if"))
    return parseIf();
  if (at("for"))
    return parseFor();
  if (accept("return")) {
    Stmt *stmt = newStmt(StmtKind::Return, span);
    stmt->value = parseExpression();
    expect(";");
    return stmt;
  }
  if (current().kind != TokenKind::Name || ahead().text != "=") {
    failHere("a statement (let, var, return, if, for or an assignment)",
             current().text == "while" ? "there is no while: use for with constant bounds"
                                       : "a body gives its value with return");
    return nullptr;
  }
  Stmt *stmt = newStmt(StmtKind::Assign, span);
  stmt->name = current().text;
  position += 2;
  stmt->value = parseExpression();
  expect(";");
  return stmt;
}

Stmt *Parser::parseDeclaration(bool isMutable) {
  const Token *name = expectName("a name");
  if (!name)
    return nullptr;
  Stmt *stmt = newStmt(StmtKind::Declare, name->span);
  stmt->decl = newDecl(DeclKind::Local, *name);
  stmt->decl->isMutable = isMutable;
  if (accept(":"))
    stmt->decl->type = parseScalarType();
  if (expect("=", " and a value"))
    stmt->decl->value = parseExpression();
  expect(";");
  return stmt;
}

Stmt *Parser::parseIf() {
  Nesting nesting(*this);
  if (!nesting.ok)
    return nullptr;
  Stmt *stmt = newStmt(StmtKind::If, current().span);
  ++position;
  stmt->value = parseExpression();
  if (at("then")) {
    failHere("'{' and a block", "'if ... then ... else' is an expression; as a statement write "
                                "if condition { ... } else { ... }");
    return nullptr;
  }
  stmt->body = parseBlock();
  if (accept("else")) {
    if (!at("if"))
      stmt->otherwise = parseBlock();
    else if (Stmt *chained = parseIf())
      stmt->otherwise.push_back(chained);
  }
  return stmt;
}

Stmt *Parser::parseFor() {
  ++position;
  const Token *name = expectName("a loop variable");
  if (!name)
    return nullptr;
  Stmt *stmt = newStmt(StmtKind::For, name->span);
  stmt->decl = newDecl(DeclKind::LoopVariable, *name);
  if (!expect("in"))
    return nullptr;
  stmt->value = parseExpression();
  if (!expect("..", " between the loop's bounds"))
    return nullptr;
  stmt->upper = parseExpression();
  stmt->body = parseBlock();
  return stmt;
}

} // namespace attnc::frontend
