// The one table of schedules. Accumulators (rows x vectors) fill the register file but for
// the `vectors` operands and one broadcast; the narrow schedules serve decode-sized calls,
// where most lanes of a wide block would be copies. Bits do not depend on any of it.
#include "codegen/cpu/TileKernel.h"

namespace attnc::cpu {

// clang-format off
//                                     suffix    lanes blockM rows vectors
static constexpr Schedule kAvx512[] = {{"_wide",   16,   64,   6,    4},
                                       {"_narrow", 16,   16,   8,    1}};
static constexpr Schedule kAvx2[]   = {{"_wide",    8,   64,   6,    2},
                                       {"_narrow",  8,   16,   6,    2}};
static constexpr Schedule kNeon[]   = {{"_wide",    4,   64,   4,    4},
                                       {"_narrow",  4,   16,   4,    4}};
static constexpr Schedule kSse[]    = {{"_wide",    4,   64,   2,    2},
                                       {"_narrow",  4,   16,   2,    2}};
// clang-format on

llvm::ArrayRef<Schedule> schedulesFor(Isa isa) {
  switch (isa) {
  case Isa::Avx512:
  case Isa::Avx512Bf16:
    return kAvx512;
  case Isa::Avx2:
    return kAvx2;
  case Isa::Neon:
    return kNeon;
  case Isa::Sse:
    return kSse;
  }
  llvm_unreachable("unknown instruction set");
}

} // namespace attnc::cpu
