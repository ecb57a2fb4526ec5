// Variants, their declarations, constants; limits and locations.
#include "frontend/Lower.h"

#include <bit>
#include <cmath>

#include "frontend/TypeCheck.h"

namespace attnc::frontend {

void Lowering::evaluateConsts(const std::vector<Decl *> &decls) {
  Target scratch;
  scratch.builder.emplace(scratch.program);
  target = &scratch;
  for (const Decl *decl : decls)
    if (decl->kind == DeclKind::Const)
      constValue(*decl);
  target = nullptr;
}

std::optional<Program> Lowering::lower(const VariantDecl &lowered) {
  Target made;
  target = &made;
  variant = &lowered;
  stepsLeft = std::min(kMaxStepsPerVariant, stepsLeftInLoad);
  isExhausted = false;
  uint32_t errorsBefore = diagnostics.errorCount();
  made.program.name = lowered.name;
  made.builder.emplace(made.program);
  // A variant's own tensors and params are its interface, used or not.
  for (const Decl *decl : lowered.decls) {
    if (decl->kind == DeclKind::Tensor)
      addTensor(*decl);
    else if (decl->kind == DeclKind::Param)
      addParam(*decl);
    else if (decl->kind == DeclKind::Const)
      constValue(*decl);
  }
  for (const Field &field : lowered.fields)
    lowerField(field);
  stepsLeftInLoad -= std::min(stepsLeftInLoad, kMaxStepsPerVariant - stepsLeft);
  target = nullptr;
  if (diagnostics.errorCount() != errorsBefore)
    return std::nullopt;
  return std::move(made.program);
}

void Lowering::lowerField(const Field &field) {
  Program &program = target->program;
  if (field.kind == FieldKind::Scale) { // field_c2: scale is a finite constant
    std::optional<uint32_t> bits = constantOf(*field.value, ScalarType::F32, "scale");
    if (bits && !std::isfinite(std::bit_cast<float>(*bits)))
      error(field.value->span, "scale must be finite", "the default is 1 / sqrt(D)");
    else if (bits)
      program.scale = std::bit_cast<float>(*bits);
    return;
  }
  target->builder.emplace(program);
  target->indices = {};
  Frame none;
  frame = &none;
  bool isMask = field.kind == FieldKind::MaskMod;
  ValueId result = lowerAs(*field.value, isMask ? ScalarType::Bool : ScalarType::F32);
  frame = nullptr;
  FunctionBuilder &builder = *target->builder;
  // field_c3: a mask that is always true and a score that is unchanged are none at all.
  if (isMask && builder.constantBits(result) == 1u)
    return;
  if (field.kind == FieldKind::ScoreMod && result == builder.argument(ArgumentKind::Score))
    return;
  std::optional<Function> &slot = isMask                              ? program.maskMod
                                  : field.kind == FieldKind::ScoreMod ? program.scoreMod
                                                                      : program.sink;
  slot = builder.finish(result);
}

// capture_c1: within a variant a name stands for one tensor or param, wherever declared.
bool Lowering::claimName(const Decl &decl) {
  bool isTaken = false;
  for (const Capture &capture : target->program.captures)
    isTaken |= capture.name == decl.name;
  for (const Param &param : target->program.params)
    isTaken |= param.name == decl.name;
  if (isTaken && variant) {
    diagnostics.error(variant->span,
                      "two tensors or params named " + inQuotes(decl.name) + " reach variant " +
                          inQuotes(variant->name),
                      "rename one of the two, or pass it as an argument");
    diagnostics.note(decl.span, "one of them is declared here");
  }
  return !isTaken;
}

void Lowering::addTensor(const Decl &decl) {
  claimName(decl);
  const TensorType &type = *decl.tensor;
  Capture capture;
  capture.name = decl.name;
  capture.type = type.element;
  capture.isSorted = type.isSorted;
  capture.wantsGradient = type.wantsGradient;
  for (const AxisSyntax &axis : type.axes) {
    CaptureDim dim;
    if (axis.constant) {
      dim.kind = CaptureDim::Fixed;
      constValue(*axis.constant);
      dim.size = static_cast<int32_t>(constants[axis.constant].value_or(1));
      if (dim.size < 1)
        error(axis.span, "a dimension must be at least 1, found " + std::to_string(dim.size),
              "use ? for a size that is known at launch");
    } else if (axis.kind == AxisSyntax::Size) {
      dim.kind = CaptureDim::Fixed;
      dim.size = axis.size;
    } else if (axis.dim) {
      dim.kind = CaptureDim::Named;
      dim.named = *axis.dim;
    }
    capture.dims.push_back(dim);
  }
  capture.location = locate(decl.span);
  target->captures[&decl] = static_cast<uint32_t>(target->program.captures.size());
  target->program.captures.push_back(std::move(capture));
}

void Lowering::addParam(const Decl &decl) {
  claimName(decl);
  Param param;
  param.name = decl.name;
  param.type = *decl.type;
  if (decl.value)
    param.defaultBits = constantOf(*decl.value, *decl.type, "the default of param " + inQuotes(decl.name));
  param.location = locate(decl.span);
  target->params[&decl] = static_cast<uint32_t>(target->program.params.size());
  target->program.params.push_back(std::move(param));
}

// const_c1: a constant has the value that the same expression has at run time.
std::optional<uint32_t> Lowering::constantOf(const Expr &expr, ScalarType type, std::string_view what) {
  Target scratch;
  scratch.builder.emplace(scratch.program);
  Target *outerTarget = std::exchange(target, &scratch);
  Frame none;
  Frame *outerFrame = std::exchange(frame, &none);
  ValueId value = lowerAs(expr, type);
  std::optional<uint32_t> bits = bitsOf(value);
  target = outerTarget;
  frame = outerFrame;
  if (!bits)
    error(expr.span, std::string(what) + " must be known at compile time",
          "it may use literals, consts and functions of them");
  return bits;
}

ValueId Lowering::constValue(const Decl &decl) {
  auto [entry, isNew] = constants.try_emplace(&decl);
  if (isNew) {
    std::optional<uint32_t> bits = constantOf(*decl.value, *decl.type, "const " + inQuotes(decl.name));
    constants[&decl] = bits.value_or(0);
  }
  uint32_t bits = *constants[&decl];
  FunctionBuilder &builder = *target->builder;
  switch (*decl.type) {
  case ScalarType::Bool:
    return builder.constBool(bits != 0);
  case ScalarType::I32:
    return builder.constInt(static_cast<int32_t>(bits));
  case ScalarType::F32:
    return builder.constFloat(std::bit_cast<float>(bits));
  }
  return 0;
}

SourceLocation Lowering::locate(Span span) {
  auto [entry, isNew] = target->files.emplace(span.file, static_cast<uint32_t>(target->program.files.size()));
  if (isNew)
    target->program.files.push_back(sources[span.file].name);
  return {entry->second, span.line, span.column};
}

void Lowering::error(Span at, std::string message, std::string hint) {
  diagnostics.error(at, std::move(message), std::move(hint));
  constexpr size_t kShown = 4;
  size_t first = trace.size() > kShown ? trace.size() - kShown : 0;
  for (size_t i = trace.size(); i > first; --i)
    diagnostics.note(trace[i - 1].span, trace[i - 1].text);
}

// size_c1: what a variant expands to is bounded.
void Lowering::tooLarge(Span at) {
  if (isExhausted)
    return;
  isExhausted = true;
  std::string name = variant ? "variant " + inQuotes(variant->name) : "a constant";
  error(at,
        name + " expands to more than " + std::to_string(kMaxInstructions) + " instructions or " +
            std::to_string(stepsLeftInLoad < kMaxStepsPerVariant ? kMaxStepsPerLoad : kMaxStepsPerVariant) + " steps",
        "shorten the loops, or put a table into a tensor");
}

bool Lowering::spend(uint32_t steps, Span at) {
  if (isExhausted)
    return false;
  if (stepsLeft < steps) {
    stepsLeft = 0;
    tooLarge(at);
    return false;
  }
  stepsLeft -= steps;
  return true;
}

} // namespace attnc::frontend
