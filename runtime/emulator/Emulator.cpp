// The public face: parses modules, checks a launch's shape, and runs it.
#include "runtime/emulator/Emulator.h"

#include <algorithm>
#include <cstring>

#include "runtime/emulator/Machine.h"
#include "runtime/emulator/ProgramBuilder.h"
#include "runtime/emulator/Scheduler.h"

namespace attnc::emulator {

namespace {

constexpr const char *kFindingNames[] = {"out of bounds",
                                         "misaligned",
                                         "write to read-only memory",
                                         "uninitialised shared memory",
                                         "uninitialised register",
                                         "shared race",
                                         "lane race",
                                         "global race",
                                         "write conflict",
                                         "float atomic",
                                         "async operation not awaited",
                                         "missing wgmma fence",
                                         "barrier divergence",
                                         "barrier misuse",
                                         "partial warp",
                                         "deadlock",
                                         "trap"};
static_assert(std::size(kFindingNames) == size_t(FindingKind::Trap) + 1);

constexpr const char *kClassNames[] = {
    "integer",   "float",       "special",      "move",     "convert",     "compare",      "select", "mma",
    "wgmma",     "load matrix", "store matrix", "shared",   "global load", "global store", "atomic", "async copy",
    "bulk copy", "shuffle",     "barrier",      "mbarrier", "branch",      "parameter",    "local",  "other"};
static_assert(std::size(kClassNames) == kInstructionClasses);

Error invalid(std::string message) { return {ErrorCode::InvalidArgument, std::move(message)}; }

// What devices take, from the CUDA programming guide's table of compute capabilities.
Status checkShape(const Launch &launch) {
  const auto &grid = launch.grid, &block = launch.block;
  for (size_t axis = 0; axis < 3; ++axis)
    if (grid[axis] == 0 || block[axis] == 0)
      return invalid("grid and block must not be empty");
  if (grid[0] > 0x7fffffff || grid[1] > 65535 || grid[2] > 65535)
    return invalid("the grid is larger than any device's");
  if (uint64_t(grid[0]) * grid[1] * grid[2] >= uint64_t(1) << 28)
    return invalid("the grid has more CTAs than the emulator counts");
  if (block[0] > 1024 || block[1] > 1024 || block[2] > 64 || uint64_t(block[0]) * block[1] * block[2] > 1024)
    return invalid("the block has more than 1024 threads");
  if (launch.dynamicSharedBytes > 228 * 1024)
    return invalid("the launch asks for more shared memory than any device has");
  return {};
}

Status placeParameters(Machine &machine, const Program &program, const Launch &launch) {
  if (launch.arguments.size() != program.parameters.size())
    return invalid("kernel '" + program.name + "' takes " + std::to_string(program.parameters.size()) +
                   " arguments, not " + std::to_string(launch.arguments.size()));
  constexpr size_t kAlignment = 128;
  machine.parameterStorage.assign(program.parameterBytes + 2 * kAlignment, 0);
  machine.parameters = machine.parameterStorage.data();
  machine.parameters += (kAlignment - reinterpret_cast<uintptr_t>(machine.parameters) % kAlignment) % kAlignment;
  for (size_t k = 0; k < launch.arguments.size(); ++k) {
    const ParameterInfo &parameter = program.parameters[k];
    if (launch.arguments[k].size() != parameter.bytes)
      return invalid("argument " + std::to_string(k) + " of kernel '" + program.name + "' has " +
                     std::to_string(launch.arguments[k].size()) + " bytes, not " + std::to_string(parameter.bytes));
    std::memcpy(machine.parameters + parameter.offset, launch.arguments[k].data(), parameter.bytes);
  }
  return {};
}

// A launch has its own copies of the module's variables, with their initial values.
Status placeVariables(Machine &machine, const PtxModule &tree) {
  machine.variableAddresses.assign(tree.variables.size(), 0);
  constexpr uint64_t kAlignment = 4096;
  for (size_t k = 0; k < tree.variables.size(); ++k) {
    const PtxVariable &variable = tree.variables[k];
    if (variable.space != Space::Global && variable.space != Space::Const)
      continue;
    const uint64_t bytes = variable.bytes();
    auto storage = std::make_unique<uint8_t[]>(bytes + kAlignment);
    uint8_t *data = storage.get();
    data += (kAlignment - reinterpret_cast<uintptr_t>(data) % kAlignment) % kAlignment;
    std::ranges::copy(variable.initial, data);
    machine.variableAddresses[k] = reinterpret_cast<uint64_t>(data);
    machine.memory.add(std::string(variable.name), data, bytes, variable.space == Space::Global);
    machine.variables.push_back(std::move(storage));
  }
  for (size_t k = 0; k < tree.variables.size(); ++k)
    for (const PtxVariable::Pointer &pointer : tree.variables[k].pointers) {
      uint64_t target = 0;
      for (size_t other = 0; other < tree.variables.size(); ++other)
        if (tree.variables[other].name == pointer.name)
          target = machine.variableAddresses[other];
      if (target == 0)
        return Error{ErrorCode::Unsupported, "variable '" + std::string(tree.variables[k].name) + "' points to '" +
                                                 std::string(pointer.name) + "', which has no address here"};
      // NOLINTNEXTLINE(performance-no-int-to-ptr): the address of our own storage
      uint8_t *at = reinterpret_cast<uint8_t *>(machine.variableAddresses[k]) + pointer.at;
      uint64_t offset = 0;
      std::memcpy(&offset, at, sizeof(offset));
      target += offset;
      std::memcpy(at, &target, sizeof(target));
    }
  return {};
}

void fillProfile(const Machine &machine, Profile &profile) {
  for (size_t pc = 0; pc < machine.counts.size(); ++pc) {
    profile.warpInstructions += machine.counts[pc];
    profile.byClass[size_t(machine.program->code[pc].kind)] += machine.counts[pc];
  }
}

} // namespace

const char *nameOf(FindingKind kind) { return kFindingNames[size_t(kind)]; }

const char *nameOf(InstructionClass instructionClass) { return kClassNames[size_t(instructionClass)]; }

std::string Finding::text() const {
  std::string where;
  if (!source.file.empty())
    where = source.file + ":" + std::to_string(source.line) + ": ";
  return where + nameOf(kind) + ": " + message + " [kernel " + kernel + ", CTA (" + std::to_string(cta[0]) + "," +
         std::to_string(cta[1]) + "," + std::to_string(cta[2]) + "), warp " + std::to_string(warp) + ", lane " +
         std::to_string(lane) + ", PTX line " + std::to_string(ptxLine) + "]";
}

void Machine::report(FindingKind kind, const Warp &warp, int lane, const Instruction &instruction,
                     std::string message) {
  // Bounds are kept without the checks, too: what is wrong then is still told.
  if (!reported.emplace(&instruction, kind).second)
    return;
  const auto pc = size_t(&instruction - program->code.data());
  const Program::Origin &origin = program->origins[pc];
  Finding finding;
  finding.kind = kind;
  finding.kernel = program->name;
  finding.cta = warp.cta->id;
  finding.warp = warp.index;
  finding.lane = lane;
  finding.ptxLine = origin.line;
  finding.source = origin.source;
  finding.message = std::move(message) + ": " + origin.text;
  findings.push_back(std::move(finding));
}

Result<Module> Module::parse(std::string_view ptx) {
  auto state = std::make_shared<State>();
  state->text = std::string(ptx);
  Result<PtxModule> tree = parsePtx(state->text);
  if (!tree)
    return tree.error();
  state->tree = std::move(*tree);
  for (const PtxFunction &function : state->tree.functions) {
    if (!function.isKernel || !function.hasBody)
      continue;
    Program program;
    ProgramBuilder builder(state->tree, program);
    if (std::string error = builder.build(function); !error.empty())
      return Error{ErrorCode::Unsupported, std::move(error)};
    state->programs.push_back(std::move(program));
  }
  return Module(std::move(state));
}

std::vector<std::string> Module::kernels() const {
  std::vector<std::string> names;
  for (const Program &program : shared->programs)
    names.push_back(program.name);
  return names;
}

Result<Report> run(const Module &module, const Launch &launch, std::span<const MemoryRegion> memory,
                   const Options &options) {
  const Program *program = nullptr;
  for (const Program &one : module.state().programs)
    if (one.name == launch.kernel)
      program = &one;
  if (program == nullptr)
    return Error{ErrorCode::NotFound, "the module has no kernel '" + launch.kernel + "'"};
  if (Status status = checkShape(launch); !status)
    return status.error();

  Machine machine;
  machine.program = program;
  machine.launch = &launch;
  machine.options = options;
  machine.random.seed(options.seed);
  machine.rounding = options.rounding;
  machine.counts.assign(program->code.size(), 0);
  if (Status status = placeParameters(machine, *program, launch); !status)
    return status.error();
  for (const MemoryRegion &region : memory)
    machine.memory.add(region.name, region.data, region.bytes, region.isWritable);
  machine.memory.add("kernel parameters", machine.parameters, program->parameterBytes, false);
  if (Status status = placeVariables(machine, module.state().tree); !status)
    return status.error();
  machine.memory.sort();

  runGrid(machine);

  Report report;
  report.findings = std::move(machine.findings);
  if (options.profile)
    fillProfile(machine, machine.profile);
  report.profile = machine.profile;
  return report;
}

} // namespace attnc::emulator
