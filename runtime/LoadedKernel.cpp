#include "runtime/LoadedKernel.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "ir/Program.h"
#include "runtime/JsonFields.h"

namespace attnc {

Worker::Worker(int64_t scratchBytes)
    : scratch(std::aligned_alloc(64, static_cast<size_t>(scratchBytes + 63) / 64 * 64), std::free) {}

// The report comes from disk: a schedule must not let the kernel write past its scratch memory.
static Result<std::vector<cpu::ScheduleInfo>> readSchedules(std::string_view report) {
  auto bad = [](const char *field) {
    return Error{ErrorCode::Internal, fmt::format("the kernel's report: bad or missing '{}'", field)};
  };
  const Json json = parseObject(report);
  auto list = json.find("schedules");
  if (list == json.end() || !list->is_array() || list->empty() || list->size() > 8)
    return bad("schedules");
  std::vector<cpu::ScheduleInfo> schedules;
  for (const Json &item : *list) {
    cpu::ScheduleInfo info;
    int64_t blockM = 0;
    constexpr int64_t kMost = int64_t(1) << 30;
    if (!item.is_object() || !integerField(item, "block_m", 1, 4096, blockM))
      return bad("block_m");
    if (!integerField(item, "scratch_bytes", 1, kMost, info.scratchBytes))
      return bad("scratch_bytes");
    if (!integerField(item, "partial_offset", 0, info.scratchBytes, info.partialOffset) || info.partialOffset % 4)
      return bad("partial_offset");
    if (!integerField(item, "partial_floats", 1, (info.scratchBytes - info.partialOffset) / 4, info.partialFloats))
      return bad("partial_floats");
    info.suffix = textField(item, "suffix");
    info.blockM = static_cast<int>(blockM);
    schedules.push_back(std::move(info));
  }
  return schedules;
}

static Result<KernelSchedule> bindSchedule(const ElfObject &object, const cpu::ScheduleInfo &info) {
  KernelSchedule schedule;
  schedule.info = info;
  std::string missing;
  auto bind = [&]<typename F>(F &function, const char *name) {
    function = object.function<F>(name + info.suffix);
    if (!function)
      missing = name + info.suffix;
  };
  bind(schedule.begin, "attnc_begin");
  bind(schedule.split, "attnc_split");
  bind(schedule.merge, "attnc_merge");
  bind(schedule.finish, "attnc_finish");
  if (!missing.empty())
    return Error{ErrorCode::Internal, fmt::format("object file: it lacks the function {}", missing)};
  return schedule;
}

Result<std::shared_ptr<const LoadedKernel>> LoadedKernel::load(const CacheEntry &entry,
                                                               const cpu::KernelConfig &config) {
  if (entry.kind != "o")
    return Error{ErrorCode::Internal, fmt::format("expected an object ('o'), found '{}'", entry.kind)};
  ParsedProgram parsed = parseProgram(entry.variantText);
  if (!parsed.program)
    return Error{ErrorCode::Internal, "the simplified variant does not read back: " + parsed.failure.message};
  Result<std::vector<cpu::ScheduleInfo>> infos = readSchedules(entry.report);
  if (!infos)
    return infos.error();
  std::shared_ptr<LoadedKernel> kernel(
      new LoadedKernel(config, std::make_shared<const Program>(std::move(*parsed.program))));
  if (!cpu::hostRuns(config.isa))
    return std::shared_ptr<const LoadedKernel>(std::move(kernel));

  Result<std::shared_ptr<const ElfObject>> object = ElfObject::load(entry.binary);
  if (!object)
    return object.error();
  kernel->object = *std::move(object);
  for (const cpu::ScheduleInfo &info : *infos) {
    Result<KernelSchedule> schedule = bindSchedule(*kernel->object, info);
    if (!schedule)
      return schedule.error();
    kernel->schedules.push_back(*std::move(schedule));
  }
  std::sort(kernel->schedules.begin(), kernel->schedules.end(),
            [](const KernelSchedule &a, const KernelSchedule &b) { return a.info.blockM < b.info.blockM; });
  return std::shared_ptr<const LoadedKernel>(std::move(kernel));
}

const KernelSchedule &LoadedKernel::scheduleFor(int64_t rows) const {
  for (const KernelSchedule &schedule : schedules)
    if (rows <= schedule.info.blockM)
      return schedule;
  return schedules.back();
}

int64_t LoadedKernel::scratchBytes() const {
  int64_t bytes = 0;
  for (const KernelSchedule &schedule : schedules)
    bytes = std::max(bytes, schedule.info.scratchBytes);
  return bytes;
}

std::unique_ptr<Worker> LoadedKernel::takeWorker() const {
  {
    std::lock_guard lock(mutex);
    if (!idle.empty()) {
      std::unique_ptr<Worker> worker = std::move(idle.back());
      idle.pop_back();
      worker->begunTask = -1;
      return worker;
    }
  }
  return std::make_unique<Worker>(scratchBytes());
}

void LoadedKernel::giveBack(std::unique_ptr<Worker> worker) const {
  std::lock_guard lock(mutex);
  idle.push_back(std::move(worker));
}

} // namespace attnc
