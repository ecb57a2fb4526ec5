// Folders: one operation on constants, through the same evaluateBits as the interpreter.
#include "ir/AttnOps.h"
#include "ir/Program.h"

using namespace mlir;

namespace attnc {

static std::optional<uint32_t> bitsOf(Attribute constant) {
  if (auto integer = dyn_cast_or_null<IntegerAttr>(constant))
    return static_cast<uint32_t>(integer.getValue().getZExtValue());
  if (auto number = dyn_cast_or_null<FloatAttr>(constant))
    return static_cast<uint32_t>(number.getValue().bitcastToAPInt().getZExtValue());
  return std::nullopt;
}

static Attribute toAttribute(uint32_t bits, Type type) {
  if (type.isF32())
    return FloatAttr::get(type, llvm::APFloat(llvm::APFloat::IEEEsingle(), llvm::APInt(32, bits)));
  return IntegerAttr::get(type, static_cast<int32_t>(bits));
}

static OpFoldResult foldConstants(Opcode op, ArrayRef<Attribute> constants, Type type) {
  uint32_t bits[3] = {};
  Instruction instruction{op, type.isF32() ? ScalarType::F32 : ScalarType::I32, 0, 0, {}, {}};
  for (auto [index, constant] : llvm::enumerate(constants)) {
    std::optional<uint32_t> known = bitsOf(constant);
    if (!known)
      return {};
    bits[index] = *known;
    instruction.operands.push_back(0);
  }
  return toAttribute(*evaluateBits(instruction, bits), type);
}

static bool isInt(Attribute constant, int32_t value) {
  std::optional<uint32_t> known = bitsOf(constant);
  return known && static_cast<int32_t>(*known) == value;
}

OpFoldResult FloorDivOp::fold(FoldAdaptor adaptor) {
  if (isInt(adaptor.getRhs(), 1))
    return getLhs();
  return foldConstants(Opcode::FloorDiv, {adaptor.getLhs(), adaptor.getRhs()}, getType());
}

OpFoldResult FloorModOp::fold(FoldAdaptor adaptor) {
  if (isInt(adaptor.getRhs(), 1) || isInt(adaptor.getRhs(), -1) || isInt(adaptor.getRhs(), 0))
    return toAttribute(0, getType());
  return foldConstants(Opcode::FloorMod, {adaptor.getLhs(), adaptor.getRhs()}, getType());
}

OpFoldResult ShlOp::fold(FoldAdaptor adaptor) {
  if (isInt(adaptor.getRhs(), 0))
    return getLhs();
  return foldConstants(Opcode::ShlI, {adaptor.getLhs(), adaptor.getRhs()}, getType());
}

OpFoldResult ShrOp::fold(FoldAdaptor adaptor) {
  if (isInt(adaptor.getRhs(), 0))
    return getLhs();
  return foldConstants(Opcode::ShrSI, {adaptor.getLhs(), adaptor.getRhs()}, getType());
}

OpFoldResult ClampOp::fold(FoldAdaptor adaptor) {
  return foldConstants(Opcode::Clamp, {adaptor.getOperand(), adaptor.getLow(), adaptor.getHigh()}, getType());
}

OpFoldResult ReluOp::fold(FoldAdaptor adaptor) {
  // relu(relu(x)) = relu(x)
  if (getOperand().getDefiningOp<ReluOp>())
    return getOperand();
  return foldConstants(Opcode::Relu, {adaptor.getOperand()}, getType());
}

OpFoldResult ToI32Op::fold(FoldAdaptor adaptor) {
  return foldConstants(Opcode::FloatToInt, {adaptor.getOperand()}, getType());
}

} // namespace attnc
