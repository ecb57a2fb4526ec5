// Modules, functions, variables and statements of PTX. What a statement means is not known
// here: an unknown opcode passes, an unknown directive does not.
#include <charconv>
#include <unordered_map>

#include "runtime/emulator/PtxCursor.h"

namespace attnc::emulator {

namespace {

using Kind = PtxOperand::Kind;

constexpr int kMaxNesting = 64;

class Parser {
public:
  explicit Parser(std::string_view text) : cursor(text) {}

  Result<PtxModule> parse() {
    while (!cursor.atEnd())
      parseModuleDirective();
    if (cursor.hasFailed())
      return Error{ErrorCode::InvalidArgument, "PTX line " + std::to_string(cursor.line()) + ": " + cursor.message()};
    return std::move(module);
  }

private:
  void parseModuleDirective() {
    const std::string_view directive = cursor.directive();
    if (directive == ".version") {
      cursor.restOfLine();
    } else if (directive == ".target") {
      const std::string_view rest = cursor.restOfLine();
      module.target = rest.substr(0, rest.find_first_of(",/\r"));
      std::erase_if(module.target, [](char c) { return c == ' ' || c == '\t'; });
    } else if (directive == ".address_size") {
      if (cursor.integer() != 64)
        cursor.fail("only 64-bit addresses are known");
    } else if (directive == ".file") {
      parseFile();
    } else if (directive == ".loc") {
      parseLocation();
    } else if (directive == ".section") {
      cursor.dottedWord();
      cursor.expect('{');
      cursor.skipBraces();
    } else if (directive == ".pragma") {
      cursor.quoted();
      cursor.expect(';');
    } else if (directive == ".visible" || directive == ".weak" || directive == ".extern" || directive == ".common") {
    } else if (directive == ".entry" || directive == ".func") {
      parseFunction(directive == ".entry");
    } else if (const auto space = spaceOf(directive)) {
      parseVariables(*space, module.variables, 0, ';');
    } else {
      cursor.fail("unknown directive '" + std::string(directive) + "'");
    }
  }

  static std::optional<Space> spaceOf(std::string_view directive) {
    static const std::unordered_map<std::string_view, Space> kSpaces = {
        {".reg", Space::Register},  {".param", Space::Param}, {".shared", Space::Shared},
        {".global", Space::Global}, {".const", Space::Const}, {".local", Space::Local}};
    const auto found = kSpaces.find(directive);
    return found == kSpaces.end() ? std::nullopt : std::optional(found->second);
  }

  void parseFile() {
    const auto index = int(cursor.integer());
    module.files[index] = std::string(cursor.quoted());
    cursor.restOfLine();
  }

  void parseLocation() {
    const auto file = int(cursor.integer()), line = int(cursor.integer());
    cursor.restOfLine(); // the column, and where it was inlined
    module.locations.push_back({file, line});
  }

  void parseFunction(bool isKernel) {
    PtxFunction function;
    function.isKernel = isKernel;
    function.line = cursor.line();
    function.parentScope = {-1};
    if (cursor.accept('(')) // results stand before the name
      parseParameters(function.results);
    function.name = cursor.word();
    if (cursor.accept('('))
      parseParameters(function.parameters);
    while (!cursor.atEnd()) {
      if (cursor.accept(';')) // a declaration
        break;
      if (cursor.accept('{')) {
        function.hasBody = true;
        parseBody(function, 0, 0);
        break;
      }
      const std::string_view directive = cursor.directive();
      if (directive != ".maxntid" && directive != ".reqntid" && directive != ".minnctapersm" &&
          directive != ".maxnreg" && directive != ".noreturn" && directive != ".reqnctapercluster" &&
          directive != ".explicitcluster" && directive != ".maxclusterrank" && directive != ".pragma")
        return cursor.fail("unknown directive '" + std::string(directive) + "' of a function");
      if (directive == ".pragma")
        cursor.quoted(), cursor.expect(';');
      else
        while (cursor.number())
          cursor.accept(',');
    }
    module.functions.push_back(std::move(function));
  }

  void parseParameters(std::vector<PtxVariable> &into) {
    while (!cursor.accept(')') && !cursor.atEnd()) {
      const auto space = spaceOf(cursor.directive());
      if (!space)
        return cursor.fail("a parameter's state space is missing");
      parseVariables(*space, into, 0, '\0');
      cursor.accept(',');
    }
  }

  // `.align 16 .b8 name[4] = {..}, name2;`; with `terminator` 0 a single one.
  void parseVariables(Space space, std::vector<PtxVariable> &into, int scope, char terminator) {
    PtxVariable variable;
    variable.space = space;
    variable.scope = scope;
    bool hasType = false;
    while (cursor.peek() == '.') {
      const std::string_view attribute = cursor.directive();
      if (attribute == ".align") {
        variable.alignment = uint32_t(cursor.integer());
        if (variable.alignment == 0 || variable.alignment > 4096 ||
            (variable.alignment & (variable.alignment - 1)) != 0)
          return cursor.fail("an alignment must be a power of two");
      } else if (const auto type = typeFromName(attribute.substr(1))) {
        variable.type = *type;
        hasType = true;
      } else if (attribute != ".ptr" && attribute != ".global" && attribute != ".shared" && attribute != ".const" &&
                 attribute != ".local") {
        return cursor.fail("unknown attribute '" + std::string(attribute) + "' of a variable");
      }
    }
    if (!hasType)
      return cursor.fail("a variable's type is missing");
    do {
      PtxVariable one = variable;
      one.name = cursor.word();
      if (one.name.empty())
        return cursor.fail("a variable's name is missing");
      parseDimensions(one);
      if (cursor.accept('='))
        parseInitial(one);
      into.push_back(std::move(one));
    } while (terminator != '\0' && cursor.accept(','));
    if (terminator != '\0')
      cursor.expect(terminator);
  }

  void parseDimensions(PtxVariable &variable) {
    if (cursor.accept('<')) {
      const uint64_t count = cursor.integer();
      if (count > 1000000)
        return cursor.fail("too many registers");
      variable.count = int(count);
      cursor.expect('>');
    }
    while (cursor.accept('[')) {
      variable.isArray = true;
      if (cursor.accept(']')) {
        variable.isUnsized = true;
        variable.elements = 0;
        continue;
      }
      const uint64_t extent = cursor.integer();
      cursor.expect(']');
      if (extent > (uint64_t(1) << 30) || variable.elements * extent > (uint64_t(1) << 30))
        return cursor.fail("an array is too large");
      variable.elements *= extent;
    }
  }

  void parseInitial(PtxVariable &variable) {
    const size_t size = size_t(bitsOf(variable.type)) / 8;
    if (cursor.accept('{')) {
      while (!cursor.accept('}') && !cursor.atEnd()) {
        if (cursor.peek() == '{')
          cursor.fail("nested initialisers are not known");
        parseInitialValue(variable, size);
        cursor.accept(',');
      }
    } else {
      parseInitialValue(variable, size);
    }
    if (variable.isUnsized && size > 0) {
      variable.elements = variable.initial.size() / size;
      variable.isUnsized = false;
    }
    if (variable.initial.size() > variable.bytes())
      cursor.fail("there are more initial values than elements");
  }

  void parseInitialValue(PtxVariable &variable, size_t size) {
    uint64_t bits = 0;
    if (const auto value = cursor.number()) {
      bits = value->bits;
      if (value->kind == Kind::Float64 && variable.type == Type::F32)
        bits = std::bit_cast<uint32_t>(float(std::bit_cast<double>(bits)));
    } else {
      std::string_view name = cursor.word();
      const bool isGeneric = name == "generic" && cursor.accept('(');
      if (isGeneric)
        name = cursor.word(), cursor.expect(')');
      if (name.empty() || size != 8)
        return cursor.fail("an initial value is missing or not known");
      if (cursor.accept('+'))
        bits = cursor.integer();
      variable.pointers.push_back({variable.initial.size(), name});
    }
    for (size_t byte = 0; byte < size; ++byte)
      variable.initial.push_back(uint8_t(byte < 8 ? bits >> (8 * byte) : 0));
  }

  void parseBody(PtxFunction &function, int scope, int depth) {
    if (depth > kMaxNesting)
      return cursor.fail("blocks are nested too deeply");
    while (!cursor.accept('}')) {
      const char next = cursor.peek();
      if (next == '\0')
        return cursor.fail("a '}' is missing");
      if (next == '{') {
        cursor.accept('{');
        function.parentScope.push_back(scope);
        parseBody(function, int(function.parentScope.size()) - 1, depth + 1);
      } else if (next == ';') { // an empty statement
        cursor.accept(';');
      } else if (next == '.') {
        parseBodyDirective(function, scope);
      } else {
        parseStatement(function, scope);
      }
    }
  }

  void parseBodyDirective(PtxFunction &function, int scope) {
    const std::string_view directive = cursor.directive();
    if (directive == ".loc")
      parseLocation();
    else if (directive == ".file")
      parseFile();
    else if (directive == ".pragma")
      cursor.quoted(), cursor.expect(';');
    else if (const auto space = spaceOf(directive))
      parseVariables(*space, function.variables, scope, ';');
    else
      cursor.fail("unknown directive '" + std::string(directive) + "'");
  }

  void parseStatement(PtxFunction &function, int scope) {
    const size_t begin = cursor.position();
    const int line = cursor.line();
    PtxInstruction instruction;
    instruction.scope = scope;
    instruction.line = line;
    instruction.location = int(module.locations.size()) - 1;
    if (cursor.accept('@')) {
      instruction.isGuardNegated = cursor.accept('!');
      instruction.guard = cursor.word();
      if (instruction.guard.empty())
        return cursor.fail("a guard's predicate is missing");
    } else {
      const std::string_view name = cursor.word();
      if (!name.empty() && cursor.accept(':'))
        return parseLabel(function, scope, name);
      cursor.rewind(begin, line);
    }
    parseOpcode(instruction, cursor.dottedWord());
    if (cursor.hasFailed())
      return;
    if (!cursor.accept(';')) {
      do
        instruction.operands.push_back(parseOperand(0));
      while (cursor.accept(','));
      if (!cursor.accept(';'))
        return cursor.fail("'" + std::string(cursor.between(begin, cursor.position())) + "' is not a statement");
    }
    const std::string_view text = cursor.between(begin, cursor.position());
    instruction.text = text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    function.instructions.push_back(std::move(instruction));
  }

  void parseLabel(PtxFunction &function, int scope, std::string_view name) {
    if (cursor.peek() == '.') {
      const size_t at = cursor.position();
      const int line = cursor.line();
      if (cursor.directive() == ".branchtargets") {
        PtxBranchTable table{name, scope, {}};
        do
          table.targets.push_back(cursor.word());
        while (cursor.accept(','));
        cursor.expect(';');
        function.branchTables.push_back(std::move(table));
        return;
      }
      cursor.rewind(at, line);
    }
    function.labels.push_back({name, scope, function.instructions.size()});
  }

  void parseOpcode(PtxInstruction &instruction, std::string_view opcode) {
    while (!opcode.empty()) {
      const size_t dot = opcode.find('.');
      instruction.opcode.push_back(opcode.substr(0, dot));
      opcode = dot == std::string_view::npos ? std::string_view() : opcode.substr(dot + 1);
    }
    if (instruction.opcode.empty() || instruction.opcode[0].empty())
      cursor.fail("a statement is missing");
  }

  PtxOperand parseOperand(int depth) {
    PtxOperand operand;
    if (depth > 4) {
      cursor.fail("operands are nested too deeply");
      return operand;
    }
    if (cursor.accept('{'))
      return parseList('}', depth);
    if (cursor.accept('('))
      return parseList(')', depth);
    if (cursor.accept('['))
      return parseAddress(depth);
    operand.isNegated = cursor.accept('!');
    if (const auto value = cursor.number())
      return *value;
    // `-%r1` does not exist, `-name` neither.
    operand.kind = Kind::Name;
    operand.name = cursor.word();
    if (operand.name.empty()) {
      cursor.fail("an operand is missing");
    } else if (cursor.accept('|')) {
      operand.paired = cursor.word();
    } else if (cursor.accept('.')) {
      operand.member = cursor.word();
    } else if (cursor.accept('+')) {
      operand.bits = cursor.integer(); // variable + offset
    } else if (operand.name == "_") {
      operand.kind = Kind::Discarded;
    } else if (operand.name == "WARP_SZ") {
      operand.kind = Kind::Integer;
      operand.bits = 32;
    }
    return operand;
  }

  PtxOperand parseList(char closing, int depth) {
    PtxOperand list;
    list.kind = Kind::Vector;
    while (!cursor.accept(closing) && !cursor.atEnd()) {
      list.elements.push_back(parseOperand(depth + 1));
      cursor.accept(',');
    }
    return list;
  }

  PtxOperand parseAddress(int depth) {
    PtxOperand address;
    address.kind = Kind::Address;
    if (const auto value = cursor.number()) {
      address.bits = value->bits;
    } else {
      address.name = cursor.word();
      if (address.name.empty())
        cursor.fail("an address is missing");
      if (cursor.accept('+'))
        address.bits = cursor.integer(); // NOLINT(bugprone-branch-clone)
      else if (cursor.peek() == '-')
        address.bits = cursor.integer();
    }
    if (cursor.accept(','))
      address.elements.push_back(parseOperand(depth + 1));
    cursor.expect(']');
    return address;
  }

  PtxCursor cursor;
  PtxModule module;
};

} // namespace

Result<PtxModule> parsePtx(std::string_view text) { return Parser(text).parse(); }

} // namespace attnc::emulator
