// The operations of the attn dialect. Their meaning stands in AttnOps.td.
#pragma once

#include "ir/AttnDialect.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "ir/AttnEnums.h.inc"

#define GET_OP_CLASSES
#include "ir/AttnOps.h.inc"
