// The float forms of base opcodes that integers have too.
#pragma once

#include "runtime/emulator/Form.h"

namespace attnc::emulator {

// Whether the opcode's first type is a float's.
bool isFloatForm(const Form &form);

void decodeFloatAdd(Form &form); // add and sub
void decodeFloatMul(Form &form);
void decodeFloatFma(Form &form); // fma and mad
void decodeFloatDiv(Form &form);
void decodeFloatMinMax(Form &form);
void decodeFloatSign(Form &form); // neg and abs

} // namespace attnc::emulator
