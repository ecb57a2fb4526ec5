// What a CTA has on sm_90 beside warps and barriers: mbarriers, bulk copies, warpgroups.
#pragma once

#include <deque>
#include <map>

#include "runtime/emulator/Form.h"
#include "runtime/emulator/Machine.h"
#include "runtime/emulator/TensorMap.h"

namespace attnc::emulator {

// An object of 8 bytes in shared memory. Its phase ends when as many arrivals as it was made
// for have come and all announced bytes have landed.
struct Mbarrier {
  uint32_t count = 0;
  uint32_t pending = 0;            // arrivals to come
  int64_t bytes = 0;               // announced and not landed, or the other way round if negative
  uint64_t phase = 0;              // those that have ended
  std::vector<uint32_t> clock;     // of what arrived in this phase
  std::vector<uint32_t> doneClock; // of the last phase that ended
};

// A copy from global to shared memory that is under way: a box of a tensor, or plain bytes.
struct BulkCopy {
  bool isTensor = false;
  TensorMap map;
  std::array<int32_t, kMaxTmaRank> coordinates = {};
  uint64_t source = 0;
  uint32_t bytes = 0;
  uint32_t target = 0;
  uint32_t mbarrier = 0;
  int warp = 0, lane = 0;
  const Instruction *instruction = nullptr;
  std::vector<uint32_t> clock;
};

// Bulk copies from shared memory of one warp, by commits: the bulk agent's time at each.
struct BulkGroups {
  std::deque<uint32_t> committed;
  uint32_t last = 0;
};

// The four warps that run wgmma and setmaxnreg together.
struct Warpgroup {
  const Instruction *at = nullptr;
  int arrived = 0;
  uint32_t time = 0; // of its agent
  uint32_t done = 0;
  std::deque<uint32_t> commits;
  int registers = 0; // a thread's; 0 before the first setmaxnreg
  int wanted = 0;    // by a setmaxnreg.inc that waits
};

struct HopperState {
  std::map<uint32_t, Mbarrier> mbarriers; // by shared address
  std::deque<BulkCopy> copies;
  std::vector<BulkGroups> groups; // by warp
  std::vector<Warpgroup> warpgroups;
  uint32_t bulkTime = 0;
  int64_t freeRegisters = 0; // given back by setmaxnreg
  uint64_t eventsSeen = 0;
  int roundsWaited = 0;
};

void startHopper(Cta &cta);
// Lands bulk copies as the policy says; true if something happened.
bool stepHopper(Cta &cta);

// The mbarrier that a lane names, or nullptr after a finding.
Mbarrier *mbarrierAt(Warp &warp, const Instruction &instruction, int lane, uint64_t address);
// Ends the phase if nothing is missing.
void completePhase(Cta &cta, Mbarrier &mbarrier);
// One arrival with what the warp has done so far. A phase that needs none more is a finding.
void arrive(Warp &warp, const Instruction &instruction, int lane, Mbarrier &mbarrier, uint32_t count);

void landBulkCopy(Cta &cta, size_t index);

// Forms of `cp` that are decoded elsewhere.
void decodeBulkCopy(Form &form);       // cp.async.bulk
void decodeArriveOfCopies(Form &form); // cp.async.mbarrier.arrive

} // namespace attnc::emulator
