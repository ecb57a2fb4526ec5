// Resident memory that a long call takes beyond its tensors. Nothing is of size S x S.
#include <malloc.h>

#include <fstream>

#include "benchmarks/Session.h"

namespace attnc::bench {

static double statusMiB(const std::string &field) {
  std::ifstream file("/proc/self/status");
  for (std::string name; file >> name;)
    if (name == field + ":") {
      double kiB = 0;
      file >> kiB;
      return kiB / 1024;
    }
  return 0;
}

// Sets the high-water mark back to what is resident now.
static bool resetPeak() {
  std::ofstream file("/proc/self/clear_refs");
  return bool(file << "5" << std::flush);
}

void measureMemory(Session &session) {
  const int64_t size = session.isQuick ? 2048 : 16384;
  for (const char *variant : {"full", "causal", "documents"}) {
    const Case measured{
        .variant = variant, .target = session.targets.front(), .queries = size, .keys = size, .heads = 2, .kvHeads = 2};
    PreparedCase prepared(session.context, measured);
    malloc_trim(0);
    if (!resetPeak())
      return;
    const double before = statusMiB("VmRSS");
    prepared.runWithoutMask();
    session.add({{"group", "memory"},
                 {"variant", variant},
                 {"Q", size},
                 {"H", measured.heads},
                 {"D", measured.headDim},
                 {"threads", session.threads},
                 {"tensors_mib", measured.bytes() / (1 << 20)},
                 {"extra_mib", statusMiB("VmHWM") - before},
                 {"scores_mib", double(size) * double(size) * double(measured.heads) * 4 / (1 << 20)}});
  }
}

} // namespace attnc::bench
