#include "ir/AttnDialect.h"

#include "ir/AttnOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include "ir/AttnDialect.cpp.inc"
#include "ir/AttnEnums.cpp.inc"

using namespace mlir;

namespace attnc {

void AttnDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "ir/AttnOps.cpp.inc"
      >();
}

Operation *AttnDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

} // namespace attnc
