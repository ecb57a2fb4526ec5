// ldmatrix, stmatrix, movmatrix and mma.sync: whole warps on 8x8 matrices of 16-bit elements.
// Row r of a matrix lies in lanes 4r .. 4r + 3, two elements a lane, so a register's 32 words
// are the matrix itself, row by row.
#include "runtime/emulator/Form.h"
#include "runtime/emulator/Lanes.h"
#include "runtime/emulator/MemoryDecode.h"
#include "runtime/emulator/ProgramBuilder.h"
#include "runtime/emulator/WarpCollectives.h"

namespace attnc::emulator {

namespace {

constexpr uint32_t kIsTransposed = 16;
constexpr uint32_t kRowBytes = 16;

using Matrix = uint16_t[8][8];

void transpose(Matrix &matrix) {
  for (int row = 0; row < 8; ++row)
    for (int column = 0; column < row; ++column)
      std::swap(matrix[row][column], matrix[column][row]);
}

// The host address of a row; the lane's checks are those of a collective access.
uint8_t *rowAt(Warp &warp, const Instruction &i, int lane, uint64_t address, bool isWrite) {
  if (!warp.isChecked && address % kRowBytes == 0 && address < warp.cta->shared.size() &&
      kRowBytes <= warp.cta->shared.size() - address)
    return warp.cta->shared.data() + address;
  if (address % kRowBytes != 0) {
    warp.cta->machine->report(FindingKind::Misaligned, warp, lane, i,
                              "row address " + std::to_string(address) + " is not a multiple of 16");
    return nullptr;
  }
  SharedShadow::Access access = warp.access(SharedShadow::kManyLanes);
  if (!checkShared(warp, i, access, address, kRowBytes, isWrite))
    return nullptr;
  return warp.cta->shared.data() + address;
}

// One row address a lane, in the shared window.
void gatherRows(Warp &warp, const Instruction &i, uint64_t (&addresses)[kLanes]) {
  gatherAddresses(warp, i, addresses);
  if ((i.detail & kSpaceMask) == uint32_t(MemorySpace::Generic))
    for (uint64_t &address : addresses)
      address -= kSharedWindow;
}

void countRows(Warp &warp, const Instruction &i, const uint64_t (&addresses)[kLanes]) {
  if (warp.cta->machine->options.profile)
    countWavefronts(warp.cta->machine->profile, addresses, i.width == 4 ? kAllLanes : (1U << (8 * i.width)) - 1,
                    kRowBytes);
}

Flow runLdmatrix(Warp &warp, const Instruction &i, uint32_t mask) {
  if (!isWholeWarp(warp, i, mask))
    return Flow::Next;
  alignas(64) uint64_t addresses[kLanes];
  gatherRows(warp, i, addresses);
  const int32_t *targets = warp.cta->machine->program->operands.data() + i.operands;
  alignas(64) Matrix matrices[4];
  for (int row = 0; row < 8 * i.width; ++row) {
    const uint8_t *from = rowAt(warp, i, row, addresses[row], false);
    if (from != nullptr)
      std::memcpy(matrices[row / 8][row % 8], from, kRowBytes);
    else
      std::memset(matrices[row / 8][row % 8], 0, kRowBytes);
  }
  for (int k = 0; k < i.width; ++k) {
    if ((i.detail & kIsTransposed) != 0)
      transpose(matrices[k]);
    if (targets[k] >= 0)
      std::memcpy(warp.words(targets[k]), matrices[k], sizeof(Matrix));
  }
  countRows(warp, i, addresses);
  return Flow::Next;
}

Flow runStmatrix(Warp &warp, const Instruction &i, uint32_t mask) {
  if (!isWholeWarp(warp, i, mask))
    return Flow::Next;
  alignas(64) uint64_t addresses[kLanes];
  gatherRows(warp, i, addresses);
  const int32_t *sources = warp.cta->machine->program->operands.data() + i.operands;
  for (int k = 0; k < i.width; ++k) {
    Matrix matrix;
    std::memcpy(matrix, warp.words(sources[k]), sizeof(Matrix));
    if ((i.detail & kIsTransposed) != 0)
      transpose(matrix);
    for (int row = 0; row < 8; ++row) {
      if (uint8_t *to = rowAt(warp, i, 8 * k + row, addresses[8 * k + row], true))
        std::memcpy(to, matrix[row], kRowBytes);
    }
  }
  ++warp.cta->machine->events;
  countRows(warp, i, addresses);
  return Flow::Next;
}

void decodeMatrixAccess(Form &form) {
  const bool isLoad = form.base() == "ldmatrix";
  if (!form.take("sync") || !form.take("aligned") || !form.take("m8n8"))
    return form.fail("only .sync.aligned.m8n8 is known");
  const size_t count = form.take("x4") ? 4 : form.take("x2") ? 2 : 1;
  if (count == 1 && !form.take("x1"))
    return form.fail(".x1, .x2 or .x4 is missing");
  const bool isTransposed = form.take("trans");
  const Space space = takeSpace(form);
  if (!form.take("b16"))
    return form.fail("only .b16 is known");
  form.expectOperands(2, 2);
  const MemorySpace place = placeAddress(form, form.operand(isLoad ? 1 : 0), space);
  if (place != MemorySpace::Shared && place != MemorySpace::Generic)
    return form.fail("matrices lie in shared memory");
  const PtxOperand &registers = form.operand(isLoad ? 0 : 1);
  const std::vector<PtxOperand> single = {registers};
  const auto &elements = registers.kind == PtxOperand::Kind::Vector ? registers.elements : single;
  if (elements.size() != count)
    return form.fail("it names another number of registers");
  Instruction &i = form.instruction;
  std::vector<int32_t> &operands = form.builder.output().operands;
  i.operands = uint32_t(operands.size());
  i.width = uint8_t(count);
  for (const PtxOperand &element : elements)
    operands.push_back(isLoad ? form.writeOrSink(element, Type::B32) : form.read(element, Type::B32));
  i.detail |= isTransposed ? kIsTransposed : 0;
  if (isLoad)
    form.use(InstructionClass::LoadMatrix, runLdmatrix);
  else
    form.use(InstructionClass::StoreMatrix, runStmatrix);
}

Flow runMovmatrix(Warp &warp, const Instruction &i, uint32_t mask) {
  if (!isWholeWarp(warp, i, mask))
    return Flow::Next;
  Matrix matrix;
  std::memcpy(matrix, warp.words(i.a), sizeof(Matrix));
  transpose(matrix);
  std::memcpy(warp.words(i.d), matrix, sizeof(Matrix));
  return Flow::Next;
}

void decodeMovmatrix(Form &form) {
  if (!form.take("sync") || !form.take("aligned") || !form.take("m8n8") || !form.take("trans") || !form.take("b16"))
    return form.fail("only .sync.aligned.m8n8.trans.b16 is known");
  form.standard(Type::B32, {Type::B32});
  form.use(InstructionClass::LoadMatrix, runMovmatrix);
}

// Operand slots: d0 .. d3, a0 .., b0 .., c0 .. c3. `width` is the number of a's registers.
template <HalfType kType> Flow runMma(Warp &warp, const Instruction &i, uint32_t mask) {
  if (!isWholeWarp(warp, i, mask))
    return Flow::Next;
  const Machine &machine = *warp.cta->machine;
  const int32_t *slots = machine.program->operands.data() + i.operands;
  float *d[4];
  const float *c[4];
  const int aCount = i.width, bCount = aCount / 2;
  for (int k = 0; k < 4; ++k) {
    d[k] = warp.floats(slots[k]);
    c[k] = warp.floats(slots[4 + aCount + bCount + k]);
  }
  const uint32_t *a[4], *b[2];
  for (int k = 0; k < aCount; ++k)
    a[k] = warp.words(slots[4 + k]);
  for (int k = 0; k < bCount; ++k)
    b[k] = warp.words(slots[4 + aCount + k]);
  if (aCount == 4)
    mmaM16N8K16(kType, machine.rounding, a, b, c, d);
  else
    mmaM16N8K8(kType, machine.rounding, a, b[0], c, d);
  return Flow::Next;
}

void decodeMma(Form &form) {
  if (!form.take("sync") || !form.take("aligned"))
    return form.fail("only mma.sync.aligned is known");
  const bool isK16 = form.take("m16n8k16");
  if (!isK16 && !form.take("m16n8k8"))
    return form.fail("its shape is not known");
  if (!form.take("row") || !form.take("col"))
    return form.fail("only .row.col is known");
  const Type d = form.type(), a = form.type(), b = form.type(), c = form.type();
  if (d != Type::F32 || c != Type::F32 || a != b || (a != Type::F16 && a != Type::BF16))
    return form.fail("its types are not known");
  form.expectOperands(4, 4);
  const size_t aCount = isK16 ? 4 : 2;
  const size_t counts[] = {4, aCount, aCount / 2, 4};
  Instruction &i = form.instruction;
  std::vector<int32_t> &operands = form.builder.output().operands;
  i.operands = uint32_t(operands.size());
  i.width = uint8_t(aCount);
  for (size_t k = 0; k < 4; ++k) {
    const PtxOperand &vector = form.operand(k);
    const std::vector<PtxOperand> single = {vector};
    const auto &elements = vector.kind == PtxOperand::Kind::Vector ? vector.elements : single;
    if (elements.size() != counts[k])
      return form.fail("it names another number of registers");
    for (const PtxOperand &element : elements)
      operands.push_back(k == 0 ? form.write(element, Type::B32) : form.read(element, Type::B32));
  }
  form.use(InstructionClass::Mma, a == Type::F16 ? runMma<HalfType::F16> : runMma<HalfType::BF16>);
}

} // namespace

const OpcodeTable &matrixOpcodes() {
  static const OpcodeTable kTable = {{"ldmatrix", decodeMatrixAccess},
                                     {"stmatrix", decodeMatrixAccess},
                                     {"movmatrix", decodeMovmatrix},
                                     {"mma", decodeMma}};
  return kTable;
}

} // namespace attnc::emulator
