// Reads the text form of one attn.variant: the subset of MLIR's syntax that our printer and
// MLIR's own printer produce. Bounded and total: any bytes give a program or a message.
#include "ir/Program.h"

#include <bit>
#include <cerrno>
#include <cstdlib>
#include <map>

namespace attnc {

namespace {

constexpr size_t kMaxInstructions = 1 << 16;

class TextReader {
public:
  explicit TextReader(std::string_view text) : text(text) {}

  ParsedProgram read() {
    ParsedProgram parsed;
    bool wrapped = acceptWord("module");
    if (wrapped) {
      if (acceptWord("attributes"))
        skipBraces();
      expect("{");
    }
    readVariant();
    if (wrapped)
      expect("}");
    skipLocation();
    if (!failed && !atEnd())
      fail("unexpected text after the variant");
    if (failed)
      parsed.failure.message = message;
    else
      parsed.program = std::move(program);
    return parsed;
  }

private:
  //===--- characters and tokens ---===//

  void skipSpace() {
    while (at < text.size()) {
      if (text[at] == '\n')
        ++line;
      if (text[at] == ' ' || text[at] == '\n' || text[at] == '\t' || text[at] == '\r') {
        ++at;
      } else if (text.substr(at, 2) == "//") {
        while (at < text.size() && text[at] != '\n')
          ++at;
      } else {
        return;
      }
    }
  }
  bool atEnd() {
    skipSpace();
    return at >= text.size();
  }
  void fail(const std::string &what) {
    if (failed)
      return;
    failed = true;
    message = "line " + std::to_string(line) + ": " + what;
  }
  std::string here() {
    skipSpace();
    if (at >= text.size())
      return "the end";
    return "'" + std::string(text.substr(at, std::min<size_t>(12, text.find('\n', at) - at))) + "'";
  }
  bool accept(std::string_view token) {
    skipSpace();
    if (failed || text.substr(at, token.size()) != token)
      return false;
    at += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token))
      fail("expected '" + std::string(token) + "', found " + here());
  }
  static bool isWordCharacter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '$' || c == '-' || c == '+';
  }
  // Letters, digits, _ . $ - +
  std::string word() {
    skipSpace();
    size_t start = at;
    while (!failed && at < text.size() && isWordCharacter(text[at]))
      ++at;
    if (at == start)
      fail("expected a word, found " + here());
    return std::string(text.substr(start, at - start));
  }
  std::string peekWord() {
    size_t saved = at, savedLine = line;
    skipSpace();
    size_t start = at;
    while (at < text.size() && isWordCharacter(text[at]))
      ++at;
    std::string result(text.substr(start, at - start));
    at = saved;
    line = savedLine;
    return result;
  }
  bool acceptWord(std::string_view wanted) {
    if (failed || peekWord() != wanted)
      return false;
    word();
    return true;
  }
  std::string symbol() {
    expect("@");
    return word();
  }
  void skipBraces() {
    expect("{");
    for (int depth = 1; depth > 0 && !failed; ++at) {
      if (at >= text.size())
        return fail("missing '}'");
      depth += text[at] == '{' ? 1 : text[at] == '}' ? -1 : 0;
      line += text[at] == '\n';
    }
  }
  // Keeps a file position where there is one; fused and named locations are skipped.
  SourceLocation skipLocation() {
    SourceLocation found;
    if (failed || peekWord() != "loc")
      return found;
    word();
    expect("(");
    if (accept("\"")) {
      std::string file;
      while (at < text.size() && text[at] != '"') {
        if (text[at] == '\\' && at + 1 < text.size())
          ++at;
        file += text[at++];
      }
      expect("\"");
      if (accept(":")) {
        found.line = number();
        expect(":");
        found.column = number();
        found.file = fileIndex(file);
      }
    }
    for (int depth = 1; depth > 0 && !failed; ++at) {
      if (at >= text.size()) {
        fail("missing ')'");
        return found;
      }
      depth += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0;
      line += text[at] == '\n';
    }
    return found;
  }
  uint32_t number() {
    std::string digits = word();
    return static_cast<uint32_t>(std::strtoul(digits.c_str(), nullptr, 10));
  }
  uint32_t fileIndex(const std::string &file) {
    for (uint32_t i = 0; i < program.files.size(); ++i)
      if (program.files[i] == file)
        return i;
    program.files.push_back(file);
    return static_cast<uint32_t>(program.files.size() - 1);
  }

  //===--- types and constants ---===//

  ScalarType type() {
    std::string name = word();
    for (ScalarType candidate : {ScalarType::Bool, ScalarType::I32, ScalarType::F32})
      if (scalarTypeText(candidate) == name)
        return candidate;
    fail("unknown type '" + name + "': expected i1, i32 or f32");
    return ScalarType::I32;
  }

  // `5 : i32`, `1.0e+00 : f32`, `0xFF800000 : f32`, `true`
  std::pair<ScalarType, uint32_t> constant() {
    std::string value = word();
    if (value == "true" || value == "false") {
      if (accept(":"))
        type();
      return {ScalarType::Bool, value == "true"};
    }
    expect(":");
    ScalarType of = type();
    char *end = nullptr;
    errno = 0;
    uint32_t bits = 0;
    if (of == ScalarType::F32 && value.substr(0, 2) == "0x")
      bits = static_cast<uint32_t>(std::strtoull(value.c_str() + 2, &end, 16));
    else if (of == ScalarType::F32)
      bits = std::bit_cast<uint32_t>(std::strtof(value.c_str(), &end));
    else
      bits = static_cast<uint32_t>(std::strtoll(value.c_str(), &end, 10));
    if (!end || *end)
      fail("'" + value + "' is not a constant of type " + std::string(scalarTypeText(of)));
    return {of, bits};
  }

  //===--- structure ---===//

  void readVariant() {
    if (!acceptWord("attn.variant"))
      return fail("expected 'attn.variant', found " + here());
    program.name = symbol();
    if (acceptWord("attributes"))
      skipBraces();
    expect("{");
    while (!failed && !accept("}")) {
      std::string keyword = word();
      if (keyword == "attn.capture")
        readCapture();
      else if (keyword == "attn.scalar")
        readScalar();
      else if (keyword == "attn.scale")
        program.scale = std::bit_cast<float>(constant().second);
      else if (keyword == "attn.score_mod")
        program.scoreMod = readFunction(5, ScalarType::F32);
      else if (keyword == "attn.mask_mod")
        program.maskMod = readFunction(4, ScalarType::Bool);
      else if (keyword == "attn.sink")
        program.sink = readFunction(2, ScalarType::F32);
      else
        fail("unknown declaration '" + keyword + "'");
      skipLocation();
    }
    skipLocation();
  }

  void readCapture() {
    Capture capture;
    capture.name = symbol();
    expect(":");
    capture.type = type();
    expect("[");
    while (!failed && !accept("]")) {
      CaptureDim dim;
      if (accept("?")) {
      } else if (auto named = dimFromText(peekWord())) {
        word();
        dim = {CaptureDim::Named, 0, *named};
      } else {
        std::string size = word();
        char *end = nullptr;
        dim = {CaptureDim::Fixed, std::strtoll(size.c_str(), &end, 10), DimKind::B};
        if (*end || dim.size < 1)
          fail("'" + size + "' is not a dimension");
      }
      capture.dims.push_back(dim);
      if (!accept(",") && !failed) {
        expect("]");
        break;
      }
    }
    capture.isSorted = acceptWord("sorted");
    capture.wantsGradient = acceptWord("grad");
    for (const Capture &other : program.captures)
      if (other.name == capture.name)
        fail("capture '" + capture.name + "' is declared twice");
    program.captures.push_back(std::move(capture));
  }

  void readScalar() {
    Param param;
    param.name = symbol();
    expect(":");
    param.type = type();
    if (accept("=")) {
      auto [of, bits] = constant();
      if (of != param.type)
        fail("the default of '" + param.name + "' has another type");
      param.defaultBits = bits;
    }
    for (const Param &other : program.params)
      if (other.name == param.name)
        fail("scalar '" + param.name + "' is declared twice");
    program.params.push_back(std::move(param));
  }

  Function readFunction(size_t arguments, ScalarType result) {
    function = {};
    values.clear();
    constexpr ArgumentKind kinds[] = {ArgumentKind::Score, ArgumentKind::Batch, ArgumentKind::Head,
                                      ArgumentKind::QueryIndex, ArgumentKind::KvIndex};
    const size_t firstKind = arguments == 5 ? 0 : 1;
    expect("(");
    for (size_t i = 0; i < arguments && !failed; ++i) {
      if (i)
        expect(",");
      ArgumentKind kind = kinds[firstKind + i];
      std::string name = valueName();
      expect(":");
      ScalarType of = type();
      if (of != (kind == ArgumentKind::Score ? ScalarType::F32 : ScalarType::I32))
        fail("argument %" + name + " has the wrong type");
      define(name, {Opcode::Argument, of, 0, static_cast<uint32_t>(kind), {}, {}});
      skipLocation();
    }
    expect(")");
    expect("{");
    while (!failed && peekWord() != "attn.yield")
      readInstruction();
    word();
    function.result = use();
    expect(":");
    type();
    skipLocation();
    expect("}");
    if (!failed && function.body[function.result].type != result)
      fail("expected a result of type " + std::string(scalarTypeText(result)));
    return std::move(function);
  }

  std::string valueName() {
    expect("%");
    return word();
  }
  ValueId use() {
    std::string name = valueName();
    auto found = values.find(name);
    if (found == values.end()) {
      fail("value %" + name + " is not defined");
      return 0;
    }
    return found->second;
  }
  void define(const std::string &name, Instruction instruction) {
    if (function.body.size() >= kMaxInstructions)
      return fail("too many operations");
    if (failed)
      return;
    if (!values.emplace(name, static_cast<ValueId>(function.body.size())).second)
      return fail("value %" + name + " is defined twice");
    function.body.push_back(std::move(instruction));
  }

  void readInstruction() {
    std::string name = valueName();
    expect("=");
    std::string spelled = word();
    if (failed)
      return;
    auto op = opcodeFromText(spelled);
    if (!op)
      return fail("unknown operation '" + spelled + "'");
    Instruction made{*op, ScalarType::I32, 0, 0, {}, {}};
    switch (*op) {
    case Opcode::Constant:
      std::tie(made.type, made.immediate) = constant();
      break;
    case Opcode::Param:
      made.immediate = indexOf(program.params, symbol());
      finishType(made);
      break;
    case Opcode::Dim: {
      std::string dim = word();
      auto kind = dimFromText(dim);
      if (!kind)
        return fail("unknown dimension '" + dim + "'");
      made.immediate = static_cast<uint32_t>(*kind);
      finishType(made);
      break;
    }
    case Opcode::Load:
      readLoad(made);
      break;
    default:
      readPlain(made);
    }
    made.location = skipLocation();
    define(name, std::move(made));
  }

  void finishType(Instruction &made) {
    expect(":");
    made.type = type();
  }

  void readLoad(Instruction &made) {
    made.immediate = indexOf(program.captures, symbol());
    expect("[");
    do
      made.operands.push_back(use());
    while (accept(","));
    expect("]");
    finishType(made);
    if (failed)
      return;
    const Capture &capture = program.captures[made.immediate];
    if (capture.dims.size() != made.operands.size())
      fail("'" + capture.name + "' has rank " + std::to_string(capture.dims.size()) + " but is indexed with " +
           std::to_string(made.operands.size()) + " values");
    if (capture.type != made.type)
      fail("'" + capture.name + "' holds " + std::string(scalarTypeText(capture.type)));
    for (ValueId index : made.operands)
      if (function.body[index].type != ScalarType::I32)
        fail("index into '" + capture.name + "' must be i32");
  }

  void readPlain(Instruction &made) {
    if (made.op == Opcode::CmpI || made.op == Opcode::CmpF) {
      readPredicate(made);
      expect(",");
    }
    do
      made.operands.push_back(use());
    while (accept(","));
    expect(":");
    ScalarType of = type();
    if (acceptWord("to"))
      type();
    if (failed)
      return;
    if (static_cast<int>(made.operands.size()) != opcodeArity(made.op))
      return fail("'" + std::string(opcodeText(made.op)) + "' takes " + std::to_string(opcodeArity(made.op)) +
                  " operands");
    made.type = opcodeResult(made.op, of).value_or(of);
    for (size_t i = 0; i < made.operands.size(); ++i) {
      ScalarType wanted = made.op == Opcode::Select && i == 0 ? ScalarType::Bool : of;
      if (function.body[made.operands[i]].type != wanted)
        return fail("operand " + std::to_string(i + 1) + " of '" + std::string(opcodeText(made.op)) + "' must be " +
                    std::string(scalarTypeText(wanted)));
    }
    if (!allows(made.op, of))
      fail("'" + std::string(opcodeText(made.op)) + "' is not defined on " + std::string(scalarTypeText(of)));
  }

  static bool allows(Opcode op, ScalarType of) {
    switch (op) {
    case Opcode::AndI:
    case Opcode::OrI:
    case Opcode::XorI:
      return of != ScalarType::F32;
    case Opcode::Select:
      return true;
    case Opcode::Clamp:
      return of != ScalarType::Bool;
    case Opcode::BoolToInt:
      return of == ScalarType::Bool;
    case Opcode::FloatToInt:
    case Opcode::CmpF:
      return of == ScalarType::F32;
    default:
      return op >= Opcode::AddF && op <= Opcode::Relu ? of == ScalarType::F32 : of == ScalarType::I32;
    }
  }

  void readPredicate(Instruction &made) {
    std::string name = word();
    const int count = made.op == Opcode::CmpI ? 10 : 16;
    for (int i = 0; i < count; ++i)
      if (name == (made.op == Opcode::CmpI ? predicateText(static_cast<IntPredicate>(i))
                                           : predicateText(static_cast<FloatPredicate>(i)))) {
        made.predicate = static_cast<uint8_t>(i);
        return;
      }
    fail("unknown predicate '" + name + "'");
  }

  template <typename List> uint32_t indexOf(const List &list, const std::string &name) {
    for (uint32_t i = 0; i < list.size(); ++i)
      if (list[i].name == name)
        return i;
    fail("'" + name + "' is not declared");
    return 0;
  }

  std::string_view text;
  size_t at = 0;
  size_t line = 1;
  bool failed = false;
  std::string message;
  Program program;
  Function function;
  std::map<std::string, ValueId> values;
};

} // namespace

ParsedProgram parseProgram(std::string_view text) { return TextReader(text).read(); }

} // namespace attnc
