#include "codegen/cuda/ModPrinter.h"

#include <cmath>

#include "codegen/cuda/IntervalMask.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace attnc::cuda {

namespace {

std::string typeText(Type type) { return type.isF32() ? "float" : type.isInteger(1) ? "bool" : "int"; }

std::string floatText(const APFloat &value) {
  if (value.isInfinity())
    return value.isNegative() ? "-infinity()" : "infinity()";
  std::string text;
  llvm::raw_string_ostream out(text);
  if (value.isNaN()) {
    out << "__int_as_float(0x" << llvm::format_hex_no_prefix(value.bitcastToAPInt().getZExtValue(), 8) << ")";
    return text;
  }
  out << llvm::format("%.9g", double(value.convertToFloat()));
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0";
  return text + "f";
}

class Printer {
public:
  Printer(StagedOp staged, const KernelConfig &config) : staged(staged), config(config), out(text) {
    head = body(staged.getStage<PerHeadOp>());
    row = body(staged.getStage<PerRowOp>());
    column = body(staged.getStage<PerColumnOp>());
    element = body(staged.getStage<PerElementOp>());
    sink = body(staged.getStage<SinkOp>());
    mask = splitMask(*element, yields(column).size());
  }

  std::string print() {
    const bool modifies = element->getTerminator()->getOperand(0) != element->getArgument(0);
    out << "struct Mods {\n"
        << "  static constexpr bool kModifiesScore = " << flag(modifies) << ";\n"
        << "  static constexpr bool kMaskIsInterval = " << flag(mask.rest.empty()) << ";\n"
        << "  static constexpr bool kHasSink = " << flag(sink) << ";\n"
        << "  static constexpr int kColumnValues = " << yields(column).size() << ";\n\n";
    printParams();
    printValues("Head", yields(head));
    printValues("Row", yields(row));

    begin("Head perHead(const Params &params, int b, int h)");
    name(head, {"b", "h"});
    end(yields(head), "Head");

    begin("Row perRow(const Params &params, int b, int h, int q_idx, const Head &head)");
    name(row, {"b", "h", "q_idx"});
    nameRest(row, 3, "head.v");
    end(yields(row), "Row");

    begin("void perColumn(const Params &params, int b, int h, int kv_idx, const Head &head, u32 *columns, int stride)");
    name(column, {"b", "h", "kv_idx"});
    nameRest(column, 3, "head.v");
    printColumns();

    begin("Limits limits(const Params &params, int b, int h, int q_idx, const Head &head, const Row &row)");
    nameElement();
    printLimits();

    begin(std::string("bool keep(") + kElementArguments + ")");
    nameElement();
    printKeep();

    begin(std::string("float score(const Params &params, float score, ") + kElementTail + ")");
    nameElement();
    std::string result = print(element->getTerminator()->getOperand(0));
    finish(result);

    begin("float sink(const Params &params, int b, int h)");
    if (sink) {
      name(sink, {"b", "h"});
      finish(print(yields(sink)[0]));
    } else {
      finish("-infinity()");
    }
    out << "};\n";
    return text;
  }

private:
  static constexpr const char *kElementTail =
      "int b, int h, int q_idx, int kv_idx, const Head &head, const Row &row, const u32 *columns, int stride";
  static constexpr const char *kElementArguments =
      "const Params &params, int b, int h, int q_idx, int kv_idx, const Head &head, const Row &row, "
      "const u32 *columns, int stride";

  static const char *flag(bool value) { return value ? "true" : "false"; }
  static Block *body(Operation *stage) { return stage ? &stage->getRegion(0).front() : nullptr; }
  static OperandRange yields(Block *stage) { return stage->getTerminator()->getOperands(); }

  void printParams() {
    const size_t captures = config.captures.size();
    const int64_t scalars = llvm::range_size(staged.getBody().front().getOps<ScalarOp>());
    out << "  struct Params {\n    attnc_device::Call call;\n";
    if (captures)
      out << "    attnc_device::Capture captures[" << captures << "];";
    for (auto [index, capture] : llvm::enumerate(config.captures))
      out << (index ? ", " : " // ") << capture.name << " (" << StringRef(cpu::dtypeText(capture.dtype)) << ")";
    out << (captures ? "\n" : "");
    if (scalars)
      out << "    u32 scalars[" << scalars << "]; // bits of f32, i32 or 0/1\n";
    out << "  };\n";
  }

  void printValues(const char *name, OperandRange values) {
    out << "  struct " << name << " {";
    for (auto [index, value] : llvm::enumerate(values))
      out << " " << typeText(value.getType()) << " v" << index << ";";
    out << " };\n";
  }

  //===--- functions ---------------------------------------------------------------===//

  void begin(const std::string &signature) {
    names.clear();
    counter = 0;
    line = {};
    out << "\n  ATTNC_DEVICE " << signature << " {\n";
  }
  void backToKernel() {
    if (!line.first.empty())
      out << "#line 1 \"attnc/kernel.cu\"\n";
    line = {};
  }
  void finish(const std::string &result) {
    out << "    return " << result << ";\n  }\n";
    backToKernel();
  }
  void end(OperandRange results, const char *type) {
    std::string list;
    for (Value value : results)
      list += (list.empty() ? "" : ", ") + print(value);
    finish(std::string(type) + "{" + list + "}");
  }
  void name(Block *block, ArrayRef<const char *> first) {
    for (auto [index, text] : llvm::enumerate(first))
      names[block->getArgument(index)] = text;
  }
  void nameRest(Block *block, unsigned from, const std::string &prefix) {
    for (unsigned index = from; index < block->getNumArguments(); ++index)
      names[block->getArgument(index)] = prefix + std::to_string(index - from);
  }
  void nameElement() {
    name(element, {"score", "b", "h", "q_idx", "kv_idx"});
    unsigned at = 5;
    for (size_t i = 0; i < yields(head).size(); ++i)
      names[element->getArgument(at++)] = "head.v" + std::to_string(i);
    for (size_t i = 0; i < yields(row).size(); ++i)
      names[element->getArgument(at++)] = "row.v" + std::to_string(i);
    for (auto [i, value] : llvm::enumerate(yields(column))) {
      std::string word = "columns[" + std::to_string(i) + " * stride]";
      Type type = value.getType();
      names[element->getArgument(at++)] = type.isF32()        ? "__uint_as_float(" + word + ")"
                                          : type.isInteger(1) ? "(" + word + " != 0)"
                                                              : "(int)" + word;
    }
  }

  void printColumns() {
    for (auto [index, value] : llvm::enumerate(yields(column))) {
      std::string result = print(value);
      out << "    columns[" << index
          << " * stride] = " << (value.getType().isF32() ? "__float_as_uint(" + result + ")" : "(u32)" + result)
          << ";\n";
    }
    out << "  }\n";
    backToKernel();
  }

  void printLimits() {
    using P = arith::CmpIPredicate;
    SmallVector<std::string> low, high;
    for (const KeyLimit &limit : mask.limits) {
      std::string edge = "(long long)" + print(limit.bound);
      P predicate = limit.predicate;
      if (limit.base && limit.isMirrored) { // base - kv < bound: kv > base - bound
        edge = "(long long)" + print(limit.base) + " - " + print(limit.bound);
        predicate = predicate == P::slt   ? P::sgt
                    : predicate == P::sle ? P::sge
                    : predicate == P::sgt ? P::slt
                    : predicate == P::sge ? P::sle
                                          : predicate;
      } else if (limit.base) {
        edge = "(long long)" + print(limit.base) + " + " + print(limit.bound);
      }
      if (predicate == P::slt || predicate == P::sle || predicate == P::eq)
        high.push_back(edge + (predicate == P::slt ? "" : " + 1"));
      if (predicate == P::sgt || predicate == P::sge || predicate == P::eq)
        low.push_back(edge + (predicate == P::sgt ? " + 1" : ""));
    }
    SmallVector<std::string> conditions;
    for (Value condition : mask.rowConditions)
      conditions.push_back(print(condition));
    out << "    long long low = 0, high = 2147483647;\n";
    for (const std::string &edge : low)
      out << "    low = max(low, " << edge << ");\n";
    for (const std::string &edge : high)
      out << "    high = min(high, " << edge << ");\n";
    for (const std::string &condition : conditions)
      out << "    high = " << condition << " ? high : 0;\n";
    finish("Limits{(int)min(low, 2147483647ll), (int)max(high, 0ll)}");
  }

  void printKeep() {
    std::string all;
    for (Value condition : mask.rest)
      all += (all.empty() ? "" : " & ") + print(condition);
    finish(all.empty() ? "true" : all);
  }

  //===--- values ------------------------------------------------------------------===//

  // The name of a value, after printing what it needs.
  std::string print(Value value) {
    if (auto known = names.find(value); known != names.end())
      return known->second;
    // Without recursion over deep chains: users' bodies may be long.
    SmallVector<Operation *> open = {value.getDefiningOp()};
    while (!open.empty()) {
      Operation *op = open.back();
      bool isReady = true;
      for (Value operand : op->getOperands())
        if (!names.contains(operand)) {
          open.push_back(operand.getDefiningOp());
          isReady = false;
        }
      if (!isReady)
        continue;
      open.pop_back();
      if (!names.contains(op->getResult(0)))
        define(op);
    }
    return names[value];
  }

  void define(Operation *op) {
    SmallVector<std::string> operands;
    for (Value operand : op->getOperands())
      operands.push_back(names[operand]);
    std::string expression = expressionOf(op, operands);
    if (isa<arith::ConstantOp>(op)) {
      names[op->getResult(0)] = expression;
      return;
    }
    if (auto place = op->getLoc()->findInstanceOf<FileLineColLoc>()) {
      std::pair<std::string, unsigned> here(place.getFilename().str(), place.getLine());
      if (here != line && here.first.find_first_of("\"\\\n") == std::string::npos)
        out << "#line " << here.second << " \"" << here.first << "\"\n";
      line = here;
    }
    std::string local = "v" + std::to_string(counter++);
    out << "    const " << typeText(op->getResult(0).getType()) << " " << local << " = " << expression << ";\n";
    names[op->getResult(0)] = local;
    if (!line.first.empty()) // the next line of this text is on the same line of the user's
      line.second += 1;
  }

  std::string call(const char *function, ArrayRef<std::string> operands) {
    return std::string(function) + "(" + llvm::join(operands, ", ") + ")";
  }
  static std::string infix(ArrayRef<std::string> operands, const char *symbol) {
    return operands[0] + " " + symbol + " " + operands[1];
  }

  std::string expressionOf(Operation *op, ArrayRef<std::string> x) {
    const bool isBool = op->getResult(0).getType().isInteger(1);
    auto integer = [&](const char *wrap, const char *symbol) { return isBool ? infix(x, symbol) : call(wrap, x); };
    return TypeSwitch<Operation *, std::string>(op)
        .Case([&](arith::ConstantOp constant) -> std::string {
          if (auto number = dyn_cast<FloatAttr>(constant.getValue()))
            return floatText(number.getValue());
          auto value = cast<IntegerAttr>(constant.getValue());
          if (isBool)
            return value.getValue().isZero() ? "false" : "true";
          return value.getInt() == INT32_MIN ? "(-2147483647 - 1)" : std::to_string(value.getInt());
        })
        .Case([&](ParamOp param) -> std::string {
          std::string word = "params.scalars[" + std::to_string(staged.scalarIndex(param.getParam())) + "]";
          return param.getType().isF32() ? "__uint_as_float(" + word + ")" : isBool ? word + " != 0" : "(int)" + word;
        })
        .Case([&](DimOp dim) -> std::string {
          switch (dim.getDim()) {
          case Dim::B:
            return "params.call.batch";
          case Dim::H:
            return "params.call.heads";
          case Dim::Hkv:
            return "params.call.kvHeads";
          case Dim::Q:
            return "params.call.queryLength";
          case Dim::KV:
            return "params.call.kvLength";
          case Dim::D:
            return "Config::kHeadDim";
          }
          llvm_unreachable("unknown dimension");
        })
        .Case([&](LoadOp load) { return loadText(load, x); })
        .Case([&](FloorDivOp) { return division(op, x, false); })
        .Case([&](FloorModOp) { return division(op, x, true); })
        .Case([&](ShlOp) { return call("shiftLeft", x); })
        .Case([&](ShrOp) { return call("shiftRight", x); })
        .Case([&](ClampOp clamp) {
          const bool isFloat = clamp.getType().isF32();
          return std::string(isFloat ? "minNan(maxNan(" : "min(max(") + x[0] + ", " + x[1] + "), " + x[2] + ")";
        })
        .Case([&](ReluOp) { return "maxNan(" + x[0] + ", 0.0f)"; })
        .Case([&](ToI32Op) { return call("toInt", x); })
        .Case([&](arith::AddIOp) { return integer("wrapAdd", "^"); })
        .Case([&](arith::SubIOp) { return integer("wrapSub", "^"); })
        .Case([&](arith::MulIOp) { return integer("wrapMul", "&"); })
        .Case([&](arith::AndIOp) { return infix(x, "&"); })
        .Case([&](arith::OrIOp) { return infix(x, "|"); })
        .Case([&](arith::XOrIOp) { return infix(x, "^"); })
        .Case([&](arith::MinSIOp) { return call("min", x); })
        .Case([&](arith::MaxSIOp) { return call("max", x); })
        .Case([&](math::AbsIOp) { return call("wrapAbs", x); })
        .Case([&](arith::CmpIOp compare) { return compareText(compare.getPredicate(), x); })
        .Case([&](arith::CmpFOp compare) { return compareText(compare.getPredicate(), x); })
        .Case([&](arith::SelectOp) { return x[0] + " ? " + x[1] + " : " + x[2]; })
        .Case([&](arith::AddFOp) { return call("__fadd_rn", x); })
        .Case([&](arith::SubFOp) { return call("__fsub_rn", x); })
        .Case([&](arith::MulFOp) { return call("__fmul_rn", x); })
        .Case([&](arith::DivFOp) { return call("__fdiv_rn", x); })
        .Case([&](arith::NegFOp) { return "-" + x[0]; })
        .Case([&](arith::MinimumFOp) { return call("minNan", x); })
        .Case([&](arith::MaximumFOp) { return call("maxNan", x); })
        .Case([&](math::AbsFOp) { return call("fabsf", x); })
        .Case([&](math::FloorOp) { return call("floorf", x); })
        .Case([&](math::CeilOp) { return call("ceilf", x); })
        .Case([&](math::RoundEvenOp) { return call("rintf", x); })
        .Case([&](math::SqrtOp) { return call("__fsqrt_rn", x); })
        .Case([&](math::RsqrtOp) { return "__fdiv_rn(1.0f, __fsqrt_rn(" + x[0] + "))"; })
        .Case([&](math::ExpOp) { return call("expf", x); })
        .Case([&](math::Exp2Op) { return call("exp2f", x); })
        .Case([&](math::LogOp) { return call("logf", x); })
        .Case([&](math::Log2Op) { return call("log2f", x); })
        .Case([&](math::TanhOp) { return call("tanhf", x); })
        .Case([&](math::SinOp) { return call("sinf", x); })
        .Case([&](math::CosOp) { return call("cosf", x); })
        .Case([&](math::ErfOp) { return call("erff", x); })
        .Case([&](math::PowFOp) { return call("powf", x); })
        .Case([&](arith::SIToFPOp) { return call("__int2float_rn", x); })
        .Case([&](arith::ExtUIOp) { return "(int)" + x[0]; })
        .Default([](Operation *unknown) -> std::string {
          llvm::report_fatal_error("the CUDA printer lacks " + unknown->getName().getStringRef());
        });
  }

  // By a power of two, as the CPU does.
  std::string division(Operation *op, ArrayRef<std::string> x, bool isModulo) {
    APInt known;
    if (matchPattern(op->getOperand(1), m_ConstantInt(&known)) && known.isStrictlyPositive() && known.isPowerOf2())
      return isModulo ? x[0] + " & " + std::to_string(known.getSExtValue() - 1)
                      : x[0] + " >> " + std::to_string(known.logBase2());
    return call(isModulo ? "floorMod" : "floorDiv", x);
  }

  static std::string compareText(arith::CmpIPredicate predicate, ArrayRef<std::string> x) {
    using P = arith::CmpIPredicate;
    const bool isUnsigned = predicate >= P::ult;
    auto with = [&](const char *symbol) {
      return isUnsigned ? "(u32)" + x[0] + " " + symbol + " (u32)" + x[1] : infix(x, symbol);
    };
    switch (predicate) {
    case P::eq:
      return infix(x, "==");
    case P::ne:
      return infix(x, "!=");
    case P::slt:
    case P::ult:
      return with("<");
    case P::sle:
    case P::ule:
      return with("<=");
    case P::sgt:
    case P::ugt:
      return with(">");
    case P::sge:
    case P::uge:
      return with(">=");
    }
    llvm_unreachable("unknown predicate");
  }

  static std::string compareText(arith::CmpFPredicate predicate, ArrayRef<std::string> x) {
    using P = arith::CmpFPredicate;
    auto no = [&](const char *symbol) { return "!(" + infix(x, symbol) + ")"; };
    const std::string isOrdered = "(" + x[0] + " == " + x[0] + " && " + x[1] + " == " + x[1] + ")";
    switch (predicate) {
    case P::AlwaysFalse:
      return "false";
    case P::AlwaysTrue:
      return "true";
    case P::OEQ:
      return infix(x, "==");
    case P::OGT:
      return infix(x, ">");
    case P::OGE:
      return infix(x, ">=");
    case P::OLT:
      return infix(x, "<");
    case P::OLE:
      return infix(x, "<=");
    case P::ONE:
      return isOrdered + " && " + infix(x, "!=");
    case P::ORD:
      return isOrdered;
    case P::UEQ:
      return "!" + isOrdered + " || " + infix(x, "==");
    case P::UGT:
      return no("<=");
    case P::UGE:
      return no("<");
    case P::ULT:
      return no(">=");
    case P::ULE:
      return no(">");
    case P::UNE:
      return infix(x, "!=");
    case P::UNO:
      return "!" + isOrdered;
    }
    llvm_unreachable("unknown predicate");
  }

  std::string loadText(LoadOp load, ArrayRef<std::string> indices) {
    const int64_t position = staged.captureIndex(load.getCapture());
    const std::string capture = "params.captures[" + std::to_string(position) + "]";
    std::string at;
    for (auto [axis, index] : llvm::enumerate(indices))
      at += (at.empty() ? "" : " + ") + ("captureAxis(" + capture + ", " + std::to_string(axis) + ", " + index + ")");
    const char *function = "";
    switch (config.captures[position].dtype) {
    case DType::F32:
      function = "loadF32";
      break;
    case DType::F16:
      function = "loadF16";
      break;
    case DType::BF16:
      function = "loadBF16";
      break;
    case DType::I32:
      function = "loadI32";
      break;
    case DType::I64:
      function = "loadI64";
      break;
    case DType::Bool:
      function = "loadBool";
      break;
    }
    return std::string(function) + "(" + capture + ", " + (at.empty() ? "0" : at) + ")";
  }

  StagedOp staged;
  const KernelConfig &config;
  std::string text;
  llvm::raw_string_ostream out;
  Block *head, *row, *column, *element, *sink;
  IntervalMask mask;
  llvm::DenseMap<Value, std::string> names;
  int counter = 0;
  std::pair<std::string, unsigned> line; // of the user's file that the next line counts as
};

} // namespace

int columnValueCount(StagedOp staged) {
  Operation *stage = staged.getStage<PerColumnOp>();
  return static_cast<int>(stage->getRegion(0).front().getTerminator()->getNumOperands());
}

std::string printMods(StagedOp staged, const KernelConfig &config) { return Printer(staged, config).print(); }

} // namespace attnc::cuda
