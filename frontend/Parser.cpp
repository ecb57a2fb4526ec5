// Modules, items and variants; what all of the parser shares.
#include "frontend/Parser.h"

namespace attnc::frontend {

// nesting_c1: deep input is an error here and nowhere later.
Parser::Nesting::Nesting(Parser &parser) : parser(parser), ok(++parser.depth <= kMaxNesting) {
  if (!ok)
    parser.fail(parser.current().span, "nested deeper than " + std::to_string(kMaxNesting) + " levels",
                "name parts of it with let, or move them into a fn");
}

bool Parser::at(std::string_view text) const {
  const Token &token = current();
  return (token.kind == TokenKind::Punctuation || token.kind == TokenKind::Keyword) && token.text == text;
}

bool Parser::accept(std::string_view text) {
  if (panicking || !at(text))
    return false;
  ++position;
  return true;
}

namespace {

std::string describe(const Token &token) {
  if (token.kind == TokenKind::End)
    return "end of file";
  std::string_view text = token.text.substr(0, 40);
  return inQuotes(text) + (token.kind == TokenKind::Keyword ? " (a reserved word)" : "");
}

} // namespace

void Parser::fail(Span at, std::string message, std::string hint) {
  if (!panicking)
    diagnostics.error(at, std::move(message), std::move(hint));
  panicking = true;
}

void Parser::failHere(std::string_view expected, std::string hint) {
  fail(current().span, "expected " + std::string(expected) + ", found " + describe(current()), std::move(hint));
}

namespace {

// What to write where `text` was expected.
std::string_view helpFor(std::string_view text) {
  static constexpr std::pair<std::string_view, std::string_view> table[] = {
      {"(", "write for example: @(q_idx = q_idx + 1)"},
      {")", "each '(' needs its ')'"},
      {"]", "each '[' needs its ']'"},
      {"}", "each '{' needs its '}'"},
      {"=", "give it a value: name = value"},
      {":", "write the type behind the name: name: i32"},
      {"..", "loops look like: for i in 0 .. 8 { ... }"},
      {"in", "loops look like: for i in 0 .. 8 { ... }"},
      {"{", "bodies stand in braces"},
      {"[", "tensor types look like f32[H, KV]"},
      {"then", "write: if condition then a else b"},
      {"else", "write: if condition then a else b"},
      {"import", "write: from module import name, name;"}};
  for (auto [key, help] : table)
    if (text == key)
      return help;
  return "";
}

} // namespace

bool Parser::expect(std::string_view text, std::string_view why) {
  if (accept(text))
    return true;
  std::string message = inQuotes(text) + std::string(why);
  if (text != ";" || position == 0) {
    failHere(message, std::string(helpFor(text)));
    return false;
  }
  // A forgotten semicolon belongs to the line before, not to what follows.
  Span end = tokens[position - 1].span;
  end.column += end.length;
  end.length = 1;
  fail(end, "expected " + message + ", found " + describe(current()), "statements and declarations end with ';'");
  return false;
}

const Token *Parser::expectName(std::string_view what) {
  if (panicking)
    return nullptr;
  if (current().kind != TokenKind::Name) {
    failHere(what, current().kind == TokenKind::Keyword ? "choose another name" : "names are letters, digits and _");
    return nullptr;
  }
  return &tokens[position++];
}

void Parser::parseModule() {
  while (current().kind != TokenKind::End && !diagnostics.isFull()) {
    size_t start = position;
    parseItem(nullptr);
    if (panicking)
      skipItem(start, false);
  }
}

void Parser::parseItem(VariantDecl *variant) {
  Decl *decl = nullptr;
  if (variant && parseField(*variant))
    return;
  if (accept("const"))
    decl = parseConst();
  else if (accept("param"))
    decl = parseParam();
  else if (accept("tensor"))
    decl = parseTensor();
  else if (accept("fn"))
    decl = parseFunction(FunctionKind::Fn);
  else if (!variant && (at("mask_mod") || at("score_mod")) && ahead().text == "=")
    return fail(current().span, inQuotes(current().text) + " = ... belongs inside a variant",
                "write: variant name { " + std::string(current().text) + " = ...; }");
  else if (accept("mask_mod"))
    decl = parseFunction(FunctionKind::MaskMod);
  else if (accept("score_mod"))
    decl = parseFunction(FunctionKind::ScoreMod);
  else if (variant && (at("variant") || at("import") || at("from")))
    return fail(current().span, inQuotes(current().text) + " is not allowed inside a variant",
                "move it to the top of the file");
  else if (accept("variant"))
    return parseVariant();
  else if (at("import") || at("from"))
    return parseImport();
  else if (variant)
    return failHere("a field (mask_mod, score_mod, scale, sink) or a declaration",
                    "fields look like: mask_mod = q_idx >= kv_idx;");
  else
    return failHere("variant, mask_mod, score_mod, fn, const, param, tensor or import",
                    "a file is a list of declarations and variants");
  if (decl)
    (variant ? variant->decls : ast.decls).push_back(decl);
}

// Skips to behind the ';' or '}' that ends the broken item, or to the next item's keyword.
void Parser::skipItem(size_t start, bool inVariant) {
  panicking = false;
  size_t braces = 0;
  for (; current().kind != TokenKind::End; ++position) {
    if (at("{")) {
      ++braces;
    } else if (at("}")) {
      if (braces == 0 && inVariant)
        return;
      braces -= braces != 0;
      if (braces == 0 && ahead().text != "else" && ahead().text != ";") {
        ++position;
        return;
      }
    } else if (braces == 0 && at(";")) {
      ++position;
      return;
    } else if (braces == 0 && position > start &&
               (at("variant") || at("const") || at("param") || at("tensor") || at("fn") || at("mask_mod") ||
                at("score_mod") || at("import") || at("from"))) {
      return;
    }
  }
}

void Parser::parseImport() {
  ImportDecl import;
  bool isFrom = at("from");
  ++position;
  import.span = current().span;
  const Token *name = expectName("a module such as std.masks");
  while (name) {
    import.path += name->text;
    import.span.length = name->span.column + name->span.length - import.span.column;
    if (!accept("."))
      break;
    import.path += '.';
    name = expectName("a module name after '.'");
  }
  if (isFrom && expect("import"))
    do {
      if (const Token *item = expectName("a name to import"))
        import.names.push_back({item->text, item->span});
    } while (accept(","));
  if (expect(";"))
    ast.imports.push_back(std::move(import));
}

Decl *Parser::newDecl(DeclKind kind, const Token &name) {
  Decl decl{};
  decl.kind = kind;
  decl.name = name.text;
  decl.span = name.span;
  ast.plainDecls.push_back(std::move(decl));
  return &ast.plainDecls.back();
}

Decl *Parser::parseConst() {
  const Token *name = expectName("a name for the const");
  if (!name)
    return nullptr;
  Decl *decl = newDecl(DeclKind::Const, *name);
  if (accept(":"))
    decl->type = parseScalarType();
  if (expect("="))
    decl->value = parseExpression();
  return expect(";") ? decl : nullptr;
}

Decl *Parser::parseParam() {
  const Token *name = expectName("a name for the param");
  if (!name)
    return nullptr;
  Decl *decl = newDecl(DeclKind::Param, *name);
  if (expect(":", " and a type"))
    decl->type = parseScalarType();
  if (accept("="))
    decl->value = parseExpression();
  return expect(";") ? decl : nullptr;
}

Decl *Parser::parseTensor() {
  const Token *name = expectName("a name for the tensor");
  if (!name)
    return nullptr;
  Decl *decl = newDecl(DeclKind::Tensor, *name);
  if (!expect(":", " and a type such as f32[H, KV]"))
    return nullptr;
  TensorType type;
  if (std::optional<ScalarType> element = parseScalarType()) {
    type.element = *element;
    parseTensorType(type);
  }
  while (!panicking && current().kind == TokenKind::Name) {
    std::string_view fact = current().text;
    if (fact != "sorted" && fact != "grad") {
      failHere("sorted, grad or ';'", "sorted and grad are the facts a tensor can have");
      break;
    }
    (fact == "sorted" ? type.isSorted : type.wantsGradient) = true;
    ++position;
  }
  decl->tensor = std::move(type);
  return expect(";") ? decl : nullptr;
}

std::optional<ScalarType> Parser::parseScalarType() {
  const Token *name = expectName("a type (f32, i32 or bool)");
  if (!name)
    return std::nullopt;
  if (name->text == "f32")
    return ScalarType::F32;
  if (name->text == "i32")
    return ScalarType::I32;
  if (name->text == "bool")
    return ScalarType::Bool;
  fail(name->span, "unknown type " + inQuotes(name->text),
       "the types are f32, i32, bool and tensors such as f32[H, KV]");
  return std::nullopt;
}

bool Parser::parseTensorType(TensorType &type) {
  if (!expect("[", " and the tensor's dimensions"))
    return false;
  do {
    if (!parseAxis(type))
      return false;
  } while (accept(","));
  return expect("]", " after the dimensions");
}

bool Parser::parseAxis(TensorType &type) {
  constexpr size_t kMaxRank = 8;
  const Token &token = current();
  AxisSyntax axis;
  axis.span = token.span;
  if (type.axes.size() == kMaxRank) {
    fail(token.span, "a tensor has at most " + std::to_string(kMaxRank) + " dimensions",
         "flatten some of them and compute the index");
    return false;
  }
  if (accept("?")) {
    axis.kind = AxisSyntax::Any;
  } else if (token.kind == TokenKind::Integer) {
    axis.kind = AxisSyntax::Size;
    axis.size = token.bits;
    ++position;
  } else if (token.kind == TokenKind::Name) {
    axis.kind = AxisSyntax::Name;
    axis.name = token.text;
    ++position;
  } else {
    failHere("a dimension", "dimensions are sizes, B, H, Hkv, Q, KV, D, or ? for any size");
    return false;
  }
  type.axes.push_back(axis);
  return true;
}

Decl *Parser::parseFunction(FunctionKind kind) {
  const Token *name = expectName("a function name");
  if (!name)
    return nullptr;
  ast.functions.emplace_back();
  FunctionDecl &function = ast.functions.back();
  function.kind = DeclKind::Function;
  function.name = name->text;
  function.span = name->span;
  function.functionKind = kind;
  if (accept("("))
    parseFormals(function);
  if (accept("->")) {
    function.returnType = parseScalarType();
    function.hasWrittenReturn = true;
  }
  if (at("{")) {
    function.body = parseBlock();
  } else if (expect("=", " or '{' and the function's body")) {
    Stmt *result = newStmt(StmtKind::Return, current().span);
    result->value = parseExpression();
    function.body.push_back(result);
    expect(";");
  }
  return panicking ? nullptr : &function;
}

void Parser::parseFormals(FunctionDecl &function) {
  while (!panicking && !at(")")) {
    bool isConst = accept("const");
    const Token *name = expectName("a parameter name");
    if (!name || !expect(":", " and the parameter's type"))
      return;
    Decl *formal = newDecl(DeclKind::Formal, *name);
    formal->isConst = isConst;
    formal->type = parseScalarType();
    if (at("[") && formal->type) {
      formal->tensor.emplace();
      formal->tensor->element = *formal->type;
      formal->type.reset();
      if (isConst)
        fail(name->span, "a tensor cannot be const", "tensors are given at launch");
      parseTensorType(*formal->tensor);
    }
    function.formals.push_back(formal);
    if (!accept(","))
      break;
  }
  expect(")", " to close the parameters");
}

void Parser::parseVariant() {
  const Token *name = expectName("a name for the variant");
  if (!name || !expect("{"))
    return;
  ast.variants.emplace_back();
  VariantDecl &variant = ast.variants.back();
  variant.name = name->text;
  variant.span = name->span;
  while (!at("}") && current().kind != TokenKind::End && !diagnostics.isFull()) {
    size_t start = position;
    parseItem(&variant);
    if (panicking)
      skipItem(start, true);
  }
  expect("}", " to close variant " + inQuotes(variant.name));
}

// A field starts with its name and '='; anything else is left to parseItem.
bool Parser::parseField(VariantDecl &variant) {
  if (ahead().text != "=" || ahead().kind != TokenKind::Punctuation)
    return false;
  for (size_t i = 0; i < std::size(kFieldNames); ++i) {
    if (current().text != kFieldNames[i])
      continue;
    Field field{static_cast<FieldKind>(i), current().span, nullptr};
    position += 2;
    field.value = parseExpression();
    if (expect(";"))
      variant.fields.push_back(field);
    return true;
  }
  if (current().kind != TokenKind::Name)
    return false;
  fail(current().span, "unknown field " + inQuotes(current().text.substr(0, 40)),
       "the fields of a variant are mask_mod, score_mod, scale and sink");
  return true;
}

} // namespace attnc::frontend
