#include "tests/support/RandomVariant.h"

#include <bit>

namespace attnc::test {

namespace {

class Generator {
public:
  Generator(unsigned seed, const RandomOptions &options) : random(seed), options(options) {}

  RandomVariant make() {
    program->name = "random";
    declare("ids_q", ScalarType::I32, {options.queries});
    declare("ids_kv", ScalarType::I32, {options.keys});
    declare("table", ScalarType::I32, {options.heads, 17});
    declare("blocks", ScalarType::Bool, {options.heads, 5, 7});
    declare("slopes", ScalarType::F32, {options.heads});
    declare("bias", ScalarType::F32, {9, 13});
    program->params.push_back({"n", ScalarType::I32, static_cast<uint32_t>(pick(1, 40)), {}});
    if (options.hasMask) {
      FunctionBuilder builder(*program);
      build = &builder;
      program->maskMod = builder.finish(truth(options.depth));
    }
    if (options.hasScore) {
      FunctionBuilder builder(*program);
      build = &builder;
      program->scoreMod = builder.finish(number(options.depth));
    }
    result.program = program;
    return std::move(result);
  }

private:
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }

  void declare(const char *name, ScalarType type, std::vector<int64_t> shape) {
    Capture capture{name, type, {}, false, false, {}};
    int64_t elements = 1;
    for (int64_t size : shape) {
      capture.dims.push_back({CaptureDim::Fixed, size, DimKind::B});
      elements *= size;
    }
    program->captures.push_back(capture);
    auto memory = std::make_shared<std::vector<int32_t>>(elements + 1);
    const bool isSorted = pick(0, 1) == 0;
    int32_t last = 0;
    for (int64_t i = 0; i < elements; ++i) {
      last = isSorted ? last + (pick(0, 9) == 0) : pick(-3, 20);
      if (type == ScalarType::F32)
        (*memory)[i] = std::bit_cast<int32_t>(static_cast<float>(pick(-100, 100)) * 0.01f);
      else if (type == ScalarType::I32)
        (*memory)[i] = last;
      else
        reinterpret_cast<uint8_t *>(memory->data())[i] = pick(0, 2) > 0;
    }
    const DType dtype = type == ScalarType::F32 ? DType::F32 : type == ScalarType::I32 ? DType::I32 : DType::Bool;
    result.bindings.captures.push_back({name, TensorView::contiguous(memory->data(), dtype, shape)});
    result.memory.push_back(std::move(memory));
  }

  ValueId leaf() {
    switch (pick(0, 8)) {
    case 0:
    case 1:
      return build->argument(ArgumentKind::QueryIndex);
    case 2:
    case 3:
      return build->argument(ArgumentKind::KvIndex);
    case 4:
      return build->argument(pick(0, 1) ? ArgumentKind::Head : ArgumentKind::Batch);
    case 5:
      return build->param(0);
    case 6:
      return build->dim(pick(0, 1) ? DimKind::Q : DimKind::KV);
    default:
      return build->constInt(pick(-20, 70));
    }
  }

  ValueId integer(int depth) {
    if (depth == 0)
      return leaf();
    auto below = [&] { return integer(depth - 1); };
    switch (pick(0, 13)) {
    case 0:
      return build->create(Opcode::AddI, {below(), below()});
    case 1:
    case 2:
      return build->create(Opcode::SubI, {below(), below()});
    case 3:
      return build->create(Opcode::FloorDiv, {below(), pick(0, 3) ? build->constInt(pick(-5, 33)) : below()});
    case 4:
      return build->create(Opcode::FloorMod, {below(), pick(0, 3) ? build->constInt(pick(-5, 33)) : below()});
    case 5:
      return build->create(Opcode::MinSI, {below(), below()});
    case 6:
      return build->create(Opcode::MaxSI, {below(), below()});
    case 7:
      return build->create(Opcode::AbsI, {below()});
    case 8:
      return build->create(Opcode::Clamp, {below(), build->constInt(pick(-9, 9)), build->constInt(pick(10, 60))});
    case 9:
      return build->load(0, {below()});
    case 10:
      return build->load(1, {below()});
    case 11:
      return build->load(2, {build->argument(ArgumentKind::Head), below()});
    case 12:
      return build->select(truth(depth - 1), below(), below());
    default: {
      constexpr Opcode rest[] = {Opcode::MulI, Opcode::AndI, Opcode::OrI, Opcode::XorI, Opcode::ShlI, Opcode::ShrSI};
      return build->create(rest[pick(0, 5)], {below(), below()});
    }
    }
  }

  ValueId truth(int depth) {
    if (depth <= 1 || pick(0, 2) == 0)
      return build->compare(static_cast<IntPredicate>(pick(0, 5)), integer(std::max(0, depth - 1)),
                            integer(std::max(0, depth - 1)));
    auto below = [&] { return truth(depth - 1); };
    switch (pick(0, 5)) {
    case 0:
    case 1:
      return build->create(Opcode::AndI, {below(), below()});
    case 2:
    case 3:
      return build->create(Opcode::OrI, {below(), below()});
    case 4:
      return build->create(Opcode::XorI, {below(), build->constBool(true)});
    default:
      return build->load(3, {build->argument(ArgumentKind::Head), integer(1), integer(1)});
    }
  }

  // Kept within about [-60, 60], so that a comparison with double precision is fair.
  ValueId number(int depth) {
    auto below = [&] { return number(depth - 1); };
    if (depth == 0) {
      switch (pick(0, 4)) {
      case 0:
      case 1:
        return build->argument(ArgumentKind::Score);
      case 2:
        return build->load(4, {build->argument(ArgumentKind::Head)});
      case 3:
        return build->load(5, {integer(1), integer(1)});
      default:
        return build->constFloat(static_cast<float>(pick(-20, 20)) * 0.1f);
      }
    }
    switch (pick(0, 9)) {
    case 0:
      return build->create(Opcode::AddF, {below(), below()});
    case 1:
      return build->create(Opcode::SubF, {below(), below()});
    case 2:
      return build->create(Opcode::MulF, {build->create(Opcode::Tanh, {below()}), below()});
    case 3:
      return build->create(Opcode::MinF, {below(), below()});
    case 4:
      return build->create(Opcode::MaxF, {below(), below()});
    case 5:
      return build->create(Opcode::Exp,
                           {build->create(Opcode::Clamp, {below(), build->constFloat(-5), build->constFloat(2)})});
    case 6:
      return build->create(Opcode::Sqrt, {build->create(Opcode::AbsF, {below()})});
    case 7:
      return build->create(Opcode::Sin, {below()});
    case 8:
      return build->select(truth(std::min(depth, 2)), below(), below());
    default: {
      const ValueId small = build->create(Opcode::Clamp, {integer(1), build->constInt(-50), build->constInt(50)});
      return build->create(Opcode::MulF, {build->create(Opcode::IntToFloat, {small}), build->constFloat(0.05f)});
    }
    }
  }

  std::mt19937 random;
  const RandomOptions &options;
  std::shared_ptr<Program> program = std::make_shared<Program>();
  FunctionBuilder *build = nullptr;
  RandomVariant result;
};

} // namespace

RandomVariant randomVariant(unsigned seed, const RandomOptions &options) { return Generator(seed, options).make(); }

} // namespace attnc::test
