// What the checker knows of a CTA's shared memory: of every 32-bit word who wrote it last, who
// has read it since, and which bytes were ever written. Accesses are ordered by vector clocks.
//
// An agent is whoever accesses memory in an order of its own: each warp, each warp's engine for
// cp.async, and the bulk copy and wgmma engines. Agent x has seen y's access at y's time t when
// x's clock for y is at least t. Barriers and waits join clocks; after an edge leaves an agent
// its own clock goes up by one, so that what it does later is not covered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace attnc::emulator {

class SharedShadow {
public:
  struct Access {
    int agent = 0;
    const uint32_t *clock = nullptr; // of the agent, one entry an agent
    int lane = kManyLanes;
    uint32_t epoch = 0; // of the warp: bar.warp.sync starts a new one
  };
  static constexpr int kManyLanes = 255; // of a collective access
  static constexpr int kNobody = 255;

  enum class Problem : uint8_t { None, Uninitialised, AfterWrite, AfterRead, Lanes };
  struct Verdict {
    Problem problem = Problem::None;
    int other = 0; // the agent, or of Lanes the lane
    uint32_t address = 0;
  };

  // Agents from `readers` on never read.
  void reset(uint32_t bytes, int readers);
  // The access must lie inside. Reports the first problem and forgets it.
  Verdict read(const Access &access, uint32_t address, uint32_t bytes);
  Verdict write(const Access &access, uint32_t address, uint32_t bytes);

private:
  struct Word {
    uint32_t clock = 0; // of the writer
    uint32_t epoch = 0;
    uint8_t writer = kNobody;
    uint8_t lane = 0;
    uint8_t writtenBytes = 0; // by that write
    uint8_t initialised = 0;  // bytes, a bit each
  };

  // The last read of a word by an agent: its clock in the upper bits, the bytes in four.
  uint32_t *readsOf(int agent) { return reads.data() + size_t(agent) * words.size(); }

  std::vector<Word> words;
  std::vector<uint32_t> reads; // by agent, then word
  std::vector<bool> hasRead;   // by agent: those that never read need no look
  int readers = 0;
};

} // namespace attnc::emulator
