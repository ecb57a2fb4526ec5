// The forms of integer opcodes that read or write the carry bit.
#pragma once

#include "runtime/emulator/Form.h"

namespace attnc::emulator {

bool isCarryForm(const Form &form);
void decodeCarry(Form &form); // add, sub, mad, addc, subc, madc

} // namespace attnc::emulator
