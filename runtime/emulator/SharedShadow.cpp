#include "runtime/emulator/SharedShadow.h"

#include <algorithm>

namespace attnc::emulator {

void SharedShadow::reset(uint32_t bytes, int readerCount) {
  readers = readerCount;
  words.assign((bytes + 3) / 4, Word());
  reads.assign(words.size() * size_t(readers), 0);
  hasRead.assign(size_t(readers), false);
}

namespace {

// Which bytes of the word at 4 * word the access [address, address + bytes) covers.
inline uint8_t bytesOfWord(uint32_t word, uint32_t address, uint32_t bytes) {
  const uint32_t begin = std::max(address, 4 * word) - 4 * word;
  const uint32_t end = std::min(address + bytes, 4 * word + 4) - 4 * word;
  return uint8_t((1U << end) - (1U << begin));
}

} // namespace

SharedShadow::Verdict SharedShadow::read(const Access &access, uint32_t address, uint32_t bytes) {
  Verdict verdict;
  const auto note = [&](Problem problem, int other, uint32_t word) {
    if (verdict.problem == Problem::None)
      verdict = {problem, other, 4 * word};
  };
  uint32_t *const seen = readsOf(access.agent);
  const uint32_t now = access.clock[access.agent] << 4;
  hasRead[size_t(access.agent)] = true;
  for (uint32_t w = address / 4, end = (address + bytes + 3) / 4; w < end; ++w) {
    Word &word = words[w];
    const uint8_t mask = bytesOfWord(w, address, bytes);
    // The usual case: initialised by another agent, and that is known here.
    if (word.initialised == 15 && word.writer != access.agent && word.writer != kNobody &&
        access.clock[word.writer] >= word.clock) {
      seen[w] = (seen[w] & ~15U) == now ? seen[w] | mask : now | mask;
      continue;
    }
    if ((word.initialised & mask) != mask) {
      note(Problem::Uninitialised, 0, w);
      word.initialised |= mask;
    }
    if (word.writer != kNobody && (word.writtenBytes & mask) != 0) {
      if (word.writer != access.agent) {
        if (access.clock[word.writer] < word.clock) {
          note(Problem::AfterWrite, word.writer, w);
          word.writer = kNobody;
        }
      } else if (word.lane != access.lane && word.epoch == access.epoch && word.lane != kManyLanes) {
        note(Problem::Lanes, word.lane, w);
        word.lane = kManyLanes;
      }
    }
    seen[w] = (seen[w] >> 4 << 4) == now ? seen[w] | mask : now | mask;
  }
  return verdict;
}

SharedShadow::Verdict SharedShadow::write(const Access &access, uint32_t address, uint32_t bytes) {
  Verdict verdict;
  const auto note = [&](Problem problem, int other, uint32_t word) {
    if (verdict.problem == Problem::None)
      verdict = {problem, other, 4 * word};
  };
  const uint32_t first = address / 4, end = (address + bytes + 3) / 4;
  for (int agent = 0; agent < readers; ++agent) {
    if (agent == access.agent || !hasRead[size_t(agent)])
      continue;
    uint32_t *const seen = readsOf(agent);
    for (uint32_t w = first; w < end; ++w)
      if (seen[w] >> 4 > access.clock[agent] && (seen[w] & bytesOfWord(w, address, bytes)) != 0) {
        note(Problem::AfterRead, agent, w);
        seen[w] = 0;
      }
  }
  for (uint32_t w = first; w < end; ++w) {
    Word &word = words[w];
    const uint8_t mask = bytesOfWord(w, address, bytes);
    if (word.writer != kNobody && (word.writtenBytes & mask) != 0) {
      if (word.writer != access.agent && access.clock[word.writer] < word.clock)
        note(Problem::AfterWrite, word.writer, w);
      else if (word.writer == access.agent && word.lane != access.lane && word.epoch == access.epoch &&
               word.lane != kManyLanes && access.lane != kManyLanes)
        note(Problem::Lanes, word.lane, w);
    }
    const bool isSameWrite = word.writer == access.agent && word.clock == access.clock[access.agent] &&
                             word.lane == access.lane && word.epoch == access.epoch;
    word.writtenBytes = isSameWrite ? word.writtenBytes | mask : mask;
    word.writer = uint8_t(access.agent);
    word.lane = uint8_t(access.lane);
    word.clock = access.clock[access.agent];
    word.epoch = access.epoch;
    word.initialised |= mask;
  }
  return verdict;
}

} // namespace attnc::emulator
