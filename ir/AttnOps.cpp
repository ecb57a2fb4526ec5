#include "ir/AttnOps.h"

#include "ir/Program.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace attnc {

//===----------------------------------------------------------------------===//
// Custom directives
//===----------------------------------------------------------------------===//

// `(` %arg: type, ... `)` `{` ... `}`
static ParseResult parseBody(OpAsmParser &parser, Region &body) {
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren, /*allowType=*/true))
    return failure();
  return parser.parseRegion(body, arguments);
}

static void printBody(OpAsmPrinter &printer, Operation *, Region &body) {
  printer << "(";
  llvm::interleaveComma(body.getArguments(), printer,
                        [&](BlockArgument argument) { printer.printRegionArgument(argument); });
  printer << ") ";
  printer.printRegion(body, /*printEntryBlockArgs=*/false);
}

// `[` (integer | name of a dimension | `?`), ... `]`
static ParseResult parseDims(OpAsmParser &parser, ArrayAttr &dims) {
  SmallVector<Attribute> parsed;
  auto parseOne = [&]() -> ParseResult {
    std::string text;
    StringRef keyword;
    int64_t size;
    SMLoc at = parser.getCurrentLocation();
    if (succeeded(parser.parseOptionalQuestion())) {
      text = "?";
    } else if (OptionalParseResult integer = parser.parseOptionalInteger(size); integer.has_value()) {
      if (failed(*integer))
        return failure();
      if (size < 1)
        return parser.emitError(at) << "a dimension must be positive, found " << size;
      text = std::to_string(size);
    } else if (succeeded(parser.parseOptionalKeyword(&keyword))) {
      if (!dimFromText({keyword.data(), keyword.size()}))
        return parser.emitError(at) << "unknown dimension '" << keyword << "': expected B, H, Hkv, Q, KV or D";
      text = keyword.str();
    } else {
      return parser.emitError(at) << "expected a size, the name of a dimension or '?'";
    }
    parsed.push_back(parser.getBuilder().getStringAttr(text));
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, parseOne))
    return failure();
  dims = parser.getBuilder().getArrayAttr(parsed);
  return success();
}

static void printDims(OpAsmPrinter &printer, Operation *, ArrayAttr dims) {
  printer << "[";
  llvm::interleaveComma(dims.getAsValueRange<StringAttr>(), printer);
  printer << "]";
}

//===----------------------------------------------------------------------===//
// Verification of bodies
//===----------------------------------------------------------------------===//

static Operation *containerOf(Operation *op) { return op->getParentOp(); }

static InFlightDiagnostic bodyError(Operation *at, Operation *function) {
  InFlightDiagnostic error = at->emitOpError();
  error.attachNote(containerOf(function)->getLoc())
      << "in @" << SymbolTable::getSymbolName(containerOf(function)).getValue();
  return error;
}

static LogicalResult verifyReference(LoadOp load, Operation *function) {
  auto capture = dyn_cast_or_null<CaptureOp>(SymbolTable::lookupSymbolIn(containerOf(function), load.getCapture()));
  if (!capture)
    return bodyError(load, function) << "reads '" << load.getCapture() << "', which is not a declared capture";
  if (capture.getDims().size() != load.getIndices().size())
    return bodyError(load, function) << "indexes '" << load.getCapture() << "' with " << load.getIndices().size()
                                     << " values, expected " << capture.getDims().size();
  if (capture.getType() != load.getType())
    return bodyError(load, function) << "reads '" << load.getCapture() << "' as " << load.getType() << ", expected "
                                     << capture.getType();
  return success();
}

static LogicalResult verifyReference(ParamOp param, Operation *function) {
  auto scalar = dyn_cast_or_null<ScalarOp>(SymbolTable::lookupSymbolIn(containerOf(function), param.getParam()));
  if (!scalar)
    return bodyError(param, function) << "reads '" << param.getParam() << "', which is not a declared scalar";
  if (scalar.getType() != param.getType())
    return bodyError(param, function) << "reads '" << param.getParam() << "' as " << param.getType() << ", expected "
                                      << scalar.getType();
  return success();
}

static bool isScalar(Type type) { return type.isInteger(1) || type.isInteger(32) || type.isF32(); }

// body_c1: only operations of Opcodes.def; body_c2: only scalars; body_c3: references resolve.
static LogicalResult verifyBody(Operation *function) {
  for (Operation &op : function->getRegion(0).front()) {
    if (isa<YieldOp>(op))
      continue;
    StringRef name = op.getName().getStringRef();
    if (!opcodeFromText({name.data(), name.size()})) // body_c1
      return bodyError(&op, function) << "is not allowed in a variant: expected an operation of ir/Opcodes.def";
    for (Type type : op.getResultTypes())
      if (!isScalar(type)) // body_c2
        return bodyError(&op, function) << "has type " << type << ", expected i1, i32 or f32";
    LogicalResult resolved = // body_c3
        TypeSwitch<Operation *, LogicalResult>(&op)
            .Case([&](LoadOp load) { return verifyReference(load, function); })
            .Case([&](ParamOp param) { return verifyReference(param, function); })
            .Default([](Operation *) { return success(); });
    if (failed(resolved))
      return failure();
  }
  return success();
}

// body_c4: the arguments; body_c5: the results.
static LogicalResult verifySignature(Operation *function, ArrayRef<Type> arguments,
                                     std::optional<SmallVector<Type>> results) {
  Block &body = function->getRegion(0).front();
  SmallVector<Type> types(body.getArgumentTypes());
  if (types.size() < arguments.size() || !llvm::equal(ArrayRef(types).take_front(arguments.size()), arguments) ||
      (types.size() > arguments.size() && !isa<StagedOp>(function->getParentOp()))) {
    InFlightDiagnostic error = bodyError(function, function) << "takes (";
    llvm::interleaveComma(types, error);
    error << "), expected (";
    llvm::interleaveComma(arguments, error);
    return error << ")";
  }
  auto yield = dyn_cast<YieldOp>(body.getTerminator());
  if (!yield)
    return bodyError(function, function) << "must end in attn.yield";
  if (results && !llvm::equal(yield.getOperandTypes(), *results)) {
    InFlightDiagnostic error = bodyError(yield, function) << "yields (";
    llvm::interleaveComma(yield.getOperandTypes(), error);
    error << "), expected (";
    llvm::interleaveComma(*results, error);
    return error << ")";
  }
  return verifyBody(function);
}

namespace {
struct Types {
  Type f32, i32, i1;
  explicit Types(Operation *op)
      : f32(Float32Type::get(op->getContext())), i32(IntegerType::get(op->getContext(), 32)),
        i1(IntegerType::get(op->getContext(), 1)) {}
};
} // namespace

LogicalResult ScoreModOp::verifyRegions() {
  Types t(*this);
  return verifySignature(*this, {t.f32, t.i32, t.i32, t.i32, t.i32}, SmallVector<Type>{t.f32});
}
LogicalResult MaskModOp::verifyRegions() {
  Types t(*this);
  return verifySignature(*this, {t.i32, t.i32, t.i32, t.i32}, SmallVector<Type>{t.i1});
}
LogicalResult SinkOp::verifyRegions() {
  Types t(*this);
  return verifySignature(*this, {t.i32, t.i32}, SmallVector<Type>{t.f32});
}
LogicalResult PerHeadOp::verifyRegions() {
  Types t(*this);
  return verifySignature(*this, {t.i32, t.i32}, std::nullopt);
}
LogicalResult PerRowOp::verifyRegions() {
  Types t(*this);
  return verifySignature(*this, {t.i32, t.i32, t.i32}, std::nullopt);
}
LogicalResult PerColumnOp::verifyRegions() {
  Types t(*this);
  return verifySignature(*this, {t.i32, t.i32, t.i32}, std::nullopt);
}
LogicalResult PerElementOp::verifyRegions() {
  Types t(*this);
  return verifySignature(*this, {t.f32, t.i32, t.i32, t.i32, t.i32}, SmallVector<Type>{t.f32, t.i1});
}

//===----------------------------------------------------------------------===//
// Containers and declarations
//===----------------------------------------------------------------------===//

// variant_c1: no function twice. variant_c2: nothing but declarations and functions.
template <typename... Functions> static LogicalResult verifyContainer(Operation *container) {
  llvm::DenseSet<OperationName> met;
  for (Operation &op : container->getRegion(0).front()) {
    if (isa<CaptureOp, ScalarOp>(op))
      continue;
    if (!isa<Functions..., SinkOp, ScaleOp>(op)) // variant_c2
      return op.emitOpError() << "is not allowed here: expected a declaration or a function of a variant";
    if (!met.insert(op.getName()).second) // variant_c1
      return op.emitOpError() << "appears twice in @" << SymbolTable::getSymbolName(container).getValue();
  }
  return success();
}

LogicalResult VariantOp::verify() { return verifyContainer<ScoreModOp, MaskModOp>(*this); }

LogicalResult StagedOp::verify() {
  if (failed(verifyContainer<PerHeadOp, PerRowOp, PerColumnOp, PerElementOp>(*this)))
    return failure();
  // staged_c1: all four stages are there.
  if (!getStage<PerHeadOp>() || !getStage<PerRowOp>() || !getStage<PerColumnOp>() || !getStage<PerElementOp>())
    return emitOpError("needs per_head, per_row, per_column and per_element");
  // staged_c2: a stage takes what earlier stages yield.
  auto yields = [](Operation *stage) { return stage->getRegion(0).front().getTerminator()->getOperandTypes(); };
  auto takes = [](Operation *stage, size_t skip) {
    auto types = stage->getRegion(0).front().getArgumentTypes();
    return SmallVector<Type>(llvm::drop_begin(types, std::min<size_t>(skip, types.size())));
  };
  SmallVector<Type> head(yields(getStage<PerHeadOp>()));
  for (Operation *stage : {getStage<PerRowOp>().getOperation(), getStage<PerColumnOp>().getOperation()})
    if (!llvm::equal(takes(stage, 3), head))
      return stage->emitOpError("must take the values that per_head yields");
  SmallVector<Type> before = head;
  llvm::append_range(before, yields(getStage<PerRowOp>()));
  llvm::append_range(before, yields(getStage<PerColumnOp>()));
  if (!llvm::equal(takes(getStage<PerElementOp>(), 5), before))
    return getStage<PerElementOp>().emitOpError("must take the values that per_head, per_row and per_column yield");
  return success();
}

template <typename Declaration> static int64_t indexOf(StagedOp staged, StringRef name) {
  int64_t index = 0;
  for (auto declaration : staged.getBody().getOps<Declaration>()) {
    if (declaration.getSymName() == name)
      return index;
    ++index;
  }
  llvm_unreachable("verified: references resolve");
}

int64_t StagedOp::captureIndex(StringRef name) { return indexOf<CaptureOp>(*this, name); }
int64_t StagedOp::scalarIndex(StringRef name) { return indexOf<ScalarOp>(*this, name); }

// scalar_c1: the default has the declared type.
LogicalResult ScalarOp::verify() {
  auto value = getDefaultValueAttr();
  if (value && cast<TypedAttr>(value).getType() != getType())
    return emitOpError() << "has a default of type " << cast<TypedAttr>(value).getType() << ", expected " << getType();
  return success();
}

//===----------------------------------------------------------------------===//
// Names of block arguments
//===----------------------------------------------------------------------===//

static void nameArguments(Region &region, ArrayRef<StringRef> names, function_ref<void(Value, StringRef)> setName) {
  for (BlockArgument argument : region.getArguments()) {
    unsigned index = argument.getArgNumber();
    setName(argument, index < names.size() ? names[index] : "staged");
  }
}

void ScoreModOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameArguments(region, {"score", "b", "h", "q_idx", "kv_idx"}, setName);
}
void MaskModOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameArguments(region, {"b", "h", "q_idx", "kv_idx"}, setName);
}
void SinkOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameArguments(region, {"b", "h"}, setName);
}
void PerHeadOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameArguments(region, {"b", "h"}, setName);
}

// Staged values are called by the stage that yields them.
static void nameStaged(Operation *stage, Region &region, SmallVector<StringRef> names,
                       function_ref<void(Value, StringRef)> setName) {
  auto staged = dyn_cast_or_null<StagedOp>(stage->getParentOp());
  auto append = [&](Operation *from, StringRef name) {
    if (from && !from->getRegion(0).empty() && from->getRegion(0).front().mightHaveTerminator())
      names.append(from->getRegion(0).front().getTerminator()->getNumOperands(), name);
  };
  if (staged) {
    append(staged.getStage<PerHeadOp>(), "head");
    if (isa<PerElementOp>(stage)) {
      append(staged.getStage<PerRowOp>(), "row");
      append(staged.getStage<PerColumnOp>(), "column");
    }
  }
  nameArguments(region, names, setName);
}

void PerRowOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameStaged(*this, region, {"b", "h", "q_idx"}, setName);
}
void PerColumnOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameStaged(*this, region, {"b", "h", "kv_idx"}, setName);
}
void PerElementOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameStaged(*this, region, {"score", "b", "h", "q_idx", "kv_idx"}, setName);
}

} // namespace attnc

#define GET_OP_CLASSES
#include "ir/AttnOps.cpp.inc"
