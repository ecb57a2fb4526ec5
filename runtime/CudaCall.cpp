#include "runtime/CudaCall.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>

#include <fmt/format.h>

#include "ir/Program.h"
#include "runtime/CudaKernel.h"

namespace attnc {

namespace {

// What cp.async moves at once, and what a lane stores of the output.
constexpr size_t kInputAlignment = 16, kOutputAlignment = 4;
constexpr int64_t kMaxGrid = 65535; // of y and z
// Kernel parameters on every device and driver that attnc runs on.
constexpr size_t kMaxParameterBytes = 4096;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

// From the first to the last element that a view reaches.
LaunchMemory memoryOf(std::string_view name, const TensorView &view, bool isWritable = false, bool isCapture = false) {
  if (view.elements() == 0)
    return {name, nullptr, 0, isWritable, isCapture};
  int64_t low = 0, high = 0;
  for (size_t axis = 0; axis < view.shape.size(); ++axis) {
    const int64_t reach = view.strides[axis] * (view.shape[axis] - 1);
    (reach < 0 ? low : high) += reach;
  }
  const auto size = static_cast<int64_t>(dtypeSize(view.dtype));
  return {name, static_cast<const std::byte *>(view.data) + low * size, static_cast<size_t>((high - low + 1) * size),
          isWritable, isCapture};
}

Status checkAlignment(const char *name, const TensorView &view, size_t bytes) {
  if (view.elements() == 0)
    return {};
  const auto elements = static_cast<int64_t>(bytes / dtypeSize(view.dtype));
  if (reinterpret_cast<uintptr_t>(view.data) % bytes)
    return invalidArgument(fmt::format("{}: expected an address that is a multiple of {} bytes, found {}; copy it to "
                                       "aligned memory",
                                       name, bytes, view.data));
  for (size_t axis = 0; axis + 1 < view.shape.size(); ++axis)
    if (view.shape[axis] > 1 && view.strides[axis] % elements)
      return invalidArgument(fmt::format("{}: expected strides that are multiples of {} elements ({} bytes), found {} "
                                         "along axis {}; make it contiguous",
                                         name, elements, bytes, view.strides[axis], axis));
  return {};
}

Status checkTensors(const RunArguments &call) {
  if (Status s = checkAlignment("query", call.query, kInputAlignment); !s)
    return s;
  if (Status s = checkAlignment("key", call.key, kInputAlignment); !s)
    return s;
  if (Status s = checkAlignment("value", call.value, kInputAlignment); !s)
    return s;
  return checkAlignment("output", call.output, kOutputAlignment);
}

std::vector<LaunchMemory> tensorMemory(const Program &program, const RunArguments &call) {
  std::vector<LaunchMemory> memory = {memoryOf("query", call.query), memoryOf("key", call.key),
                                      memoryOf("value", call.value), memoryOf("output", call.output, true)};
  if (call.lse)
    memory.push_back(memoryOf("lse", *call.lse, true));
  for (const Capture &capture : program.captures)
    for (const NamedTensor &given : call.bindings.captures)
      if (given.name == capture.name)
        memory.push_back(memoryOf(given.name, given.view, false, /*isCapture=*/true));
  return memory;
}

//===----------------------------------------------------------------------===//
// Block lists
//===----------------------------------------------------------------------===//

bool readsCaptures(const Function &function) {
  return std::any_of(function.body.begin(), function.body.end(),
                     [](const Instruction &each) { return each.op == Opcode::Load; });
}

LaunchMemory memoryOf(const BlockLists::State &lists) {
  return {.name = "blockLists", .data = lists.memory->data(), .bytes = lists.memory->size()};
}

std::string problemText(const Problem &p) {
  return fmt::format("batch {}, heads {}, queryLength {}, kvLength {}, queryOffset {}", p.batch, p.heads, p.queryLength,
                     p.kvLength, p.queryOffset);
}

Status checkLists(const BlockLists::State &lists, const CudaKernel &kernel, const Problem &problem) {
  if (problemText(lists.problem) != problemText(problem))
    return invalidArgument(
        fmt::format("blockLists: expected lists made for {}, found some for {}; make them again with "
                    "BlockLists::create",
                    problemText(problem), problemText(lists.problem)));
  if (lists.blockM != kernel.shape.blockM || lists.blockN != kernel.shape.blockN)
    return invalidArgument(fmt::format("blockLists: expected lists made for this kernel, of {} x {} tiles, found {} x "
                                       "{}; make them with BlockLists::create(kernel, mask)",
                                       kernel.shape.blockM, kernel.shape.blockN, lists.blockM, lists.blockN));
  return {};
}

Result<std::shared_ptr<const BlockLists::State>> upload(const CudaKernel &kernel, const BlockMask &mask,
                                                        const Problem &problem, void *stream) {
  Result<bool> isCapturing = (*kernel.device)->isCapturing(stream);
  if (!isCapturing)
    return isCapturing.error();
  if (*isCapturing)
    return invalidArgument(
        "stream: it captures a CUDA graph, and the block mask would have to be copied to the device; "
        "make blockLists with BlockLists::create before the capture and pass them");
  Result<PackedBlockLists> packed = packBlockLists(problem, mask, kernel.shape.blockM, kernel.shape.blockN);
  if (!packed)
    return packed.error();
  Result<std::shared_ptr<const DeviceBuffer>> memory = (*kernel.device)->upload(packed->bytes, stream);
  if (!memory)
    return memory.error();
  return std::make_shared<const BlockLists::State>(BlockLists::State{problem, kernel.shape.blockM, kernel.shape.blockN,
                                                                     *std::move(memory), packed->offsetsAt,
                                                                     packed->runsAt, packed->tiles});
}

// The lists of a call; null where all tiles are visited.
Result<std::shared_ptr<const BlockLists::State>> listsOf(const Kernel::State &kernel, const RunArguments &call,
                                                         const Problem &problem) {
  using Lists = std::shared_ptr<const BlockLists::State>;
  const CudaKernel &cuda = *kernel.cuda;
  if (!call.skipEmptyTiles)
    return Lists();
  if (call.blockLists) {
    Lists given = call.blockLists->internals();
    if (Status s = checkLists(*given, cuda, problem); !s)
      return s.error();
    if (Status s = (*cuda.device)->checkMemory(memoryOf(*given)); !s)
      return s.error();
    return given;
  }
  if (call.blockMask)
    return upload(cuda, *call.blockMask, problem, call.stream);
  const std::optional<Function> &mask = kernel.variant.program().maskMod;
  if (!mask || problem.kvLength == 0)
    return Lists();
  if (!(*cuda.device)->isEmulated() && readsCaptures(*mask))
    return invalidArgument(
        fmt::format("blockLists: missing; mask_mod of variant '{}' reads captured tensors, which lie "
                    "on the device: make a mask with BlockMask::create from copies in host memory, "
                    "and pass it as blockMask, or BlockLists::create's result",
                    kernel.source.name()));
  Result<BlockMask> made =
      BlockMask::create(kernel.variant, problem, call.bindings, cuda.shape.blockM, cuda.shape.blockN);
  if (!made)
    return made.error();
  return upload(cuda, *made, problem, call.stream);
}

//===----------------------------------------------------------------------===//
// The kernel's parameter
//===----------------------------------------------------------------------===//

void copyStrides(const int64_t (&from)[3], long long (&into)[3]) { std::copy_n(from, 3, into); }

attnc_device::Call deviceCall(const cpu::KernelArgs &args, const BlockLists::State *lists, bool skipsEmpty) {
  attnc_device::Call call = {};
  call.query = args.query;
  call.key = args.key;
  call.value = args.value;
  call.output = args.output;
  call.lse = args.lse;
  copyStrides(args.queryStrides, call.queryStrides);
  copyStrides(args.keyStrides, call.keyStrides);
  copyStrides(args.valueStrides, call.valueStrides);
  copyStrides(args.outputStrides, call.outputStrides);
  copyStrides(args.lseStrides, call.lseStrides);
  call.batch = static_cast<int>(args.batch);
  call.heads = static_cast<int>(args.heads);
  call.kvHeads = static_cast<int>(args.kvHeads);
  call.queryLength = static_cast<int>(args.queryLength);
  call.kvLength = static_cast<int>(args.kvLength);
  call.queryOffset = static_cast<int>(args.queryOffset);
  call.scale = std::bit_cast<float>(static_cast<uint32_t>(args.scaleBits));
  call.tiles = !skipsEmpty ? attnc_device::kAllTilesPartial
               : lists     ? attnc_device::kListedTiles
                           : attnc_device::kAllTilesFull;
  if (lists) {
    const std::byte *memory = lists->memory->data();
    call.slices = reinterpret_cast<const int *>(memory);
    call.runOffsets = reinterpret_cast<const int *>(memory + lists->offsetsAt);
    call.runs = reinterpret_cast<const attnc_device::Run *>(memory + lists->runsAt);
  }
  return call;
}

// Call, then the captures, then the scalars: Mods::Params of the generated text.
std::vector<std::byte> packParameter(const attnc_device::Call &call, const CallArguments &read) {
  const size_t captures = read.captures.size(), scalars = read.params.size();
  const size_t scalarsAt = sizeof(call) + captures * sizeof(attnc_device::Capture);
  std::vector<std::byte> parameter((scalarsAt + scalars * 4 + 7) / 8 * 8);
  std::memcpy(parameter.data(), &call, sizeof(call));
  for (size_t i = 0; i < captures; ++i) {
    attnc_device::Capture capture = {};
    capture.data = read.captures[i].data;
    for (int axis = 0; axis < attnc_device::kMaxCaptureRank; ++axis) {
      capture.strides[axis] = read.captures[i].strides[axis];
      capture.shape[axis] = static_cast<int>(read.captures[i].shape[axis]);
    }
    std::memcpy(parameter.data() + sizeof(call) + i * sizeof(capture), &capture, sizeof(capture));
  }
  if (scalars)
    std::memcpy(parameter.data() + scalarsAt, read.params.data(), scalars * 4);
  return parameter;
}

Status checkGrid(const Problem &problem) {
  for (auto [name, size] : {std::pair("batch", problem.batch), std::pair("heads", problem.heads)})
    if (size > kMaxGrid)
      return Error{ErrorCode::Unsupported,
                   fmt::format("query: expected {} of at most {} on a CUDA device, found {}; cut the call into several",
                               name, kMaxGrid, size)};
  return {};
}

} // namespace

Result<CudaCall> prepareCuda(const Kernel::State &kernel, const RunArguments &arguments) {
  const CudaKernel &cuda = *kernel.cuda;
  if (!cuda.device)
    return Error{cuda.device.error().code, fmt::format("the kernel is for {}, which cannot run here: {}",
                                                       kernel.info.target, cuda.device.error().message)};
  CallArguments read;
  if (Status s = readArguments(kernel.source.program(), cuda.config, cuda.shape.blockN, arguments, read); !s)
    return s.error();
  if (Status s = checkTensors(arguments); !s)
    return s.error();
  if (Status s = checkGrid(read.problem); !s)
    return s.error();
  CudaCall call;
  call.launch.memory = tensorMemory(kernel.source.program(), arguments);
  for (const LaunchMemory &memory : call.launch.memory)
    if (memory.bytes)
      if (Status s = (*cuda.device)->checkMemory(memory); !s)
        return s.error();
  const Problem &problem = read.problem;
  call.isEmpty = problem.batch == 0 || problem.heads == 0 || problem.queryLength == 0;
  if (call.isEmpty)
    return call;
  Result<std::shared_ptr<const BlockLists::State>> lists = listsOf(kernel, arguments, problem);
  if (!lists)
    return lists.error();
  call.lists = *std::move(lists);
  call.tiles = call.lists ? call.lists->tiles
                          : countAllTiles(problem, cuda.shape.blockM, cuda.shape.blockN, !arguments.skipEmptyTiles);
  if (call.lists)
    call.launch.memory.push_back(memoryOf(*call.lists));
  call.launch.parameter = packParameter(deviceCall(read.args, call.lists.get(), arguments.skipEmptyTiles), read);
  if (call.launch.parameter.size() > kMaxParameterBytes)
    return Error{ErrorCode::Unsupported,
                 fmt::format("variant '{}' captures {} tensors, more than fit a CUDA kernel's {} bytes of parameters",
                             kernel.source.name(), read.captures.size(), kMaxParameterBytes)};
  const int64_t blocks = (problem.queryLength + cuda.shape.blockM - 1) / cuda.shape.blockM;
  call.launch.shape = {.grid = {static_cast<uint32_t>(blocks), static_cast<uint32_t>(problem.heads),
                                static_cast<uint32_t>(problem.batch)},
                       .threads = static_cast<uint32_t>(cuda.shape.threads),
                       .sharedBytes = static_cast<uint32_t>(cuda.shape.sharedBytes)};
  return call;
}

Status runCuda(const Kernel::State &kernel, const RunArguments &arguments, RunStats *stats) {
  const auto start = std::chrono::steady_clock::now();
  Result<CudaCall> call = prepareCuda(kernel, arguments);
  if (!call)
    return call.error();
  if (!call->isEmpty)
    if (Status s = kernel.cuda->function->launch(call->launch, arguments.stream); !s)
      return s;
  if (stats) {
    *stats = {
        .tilesTotal = call->tiles.total, .tilesVisited = call->tiles.visited, .tilesPartial = call->tiles.partial};
    stats->milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }
  return {};
}

//===----------------------------------------------------------------------===//
// BlockLists
//===----------------------------------------------------------------------===//

Result<BlockLists> BlockLists::create(const Kernel &kernel, const BlockMask &mask, void *stream) {
  const Kernel::State &state = *kernel.internals();
  if (!state.cuda)
    return invalidArgument(fmt::format("kernel: expected one for a CUDA device, found one for {}, which takes the "
                                       "BlockMask itself",
                                       state.info.target));
  if (!state.cuda->device)
    return state.cuda->device.error();
  if (mask.blockN() % state.cuda->shape.blockN)
    return invalidArgument(fmt::format("mask: expected blockN {}, the kernel's tile of keys, or a multiple, found {}",
                                       state.cuda->shape.blockN, mask.blockN()));
  Result<std::shared_ptr<const State>> lists = upload(*state.cuda, mask, mask.problem(), stream);
  if (!lists)
    return lists.error();
  return BlockLists(*std::move(lists));
}

size_t BlockLists::bytes() const { return state->memory->size(); }

} // namespace attnc
