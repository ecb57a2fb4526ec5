// Operations on the thirty-two lanes of a warp. Handlers are made from a function of one lane
// and the types that its registers hold; the loops have a fixed length and no branches, so the
// compiler turns them into vector code.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "runtime/emulator/Machine.h"
#include "runtime/emulator/Type.h"

namespace attnc::emulator {

inline constexpr struct LaneBits {
  uint32_t bit[kLanes];
  constexpr LaneBits() : bit() {
    for (int lane = 0; lane < kLanes; ++lane)
      bit[lane] = 1U << lane;
  }
} kLaneBits;

// A register lane holds its value in the low bits of one word, or of two.
template <typename T> using LaneWord = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <typename T> inline T fromWord(LaneWord<T> word) {
  if constexpr (sizeof(T) >= 4)
    return std::bit_cast<T>(word);
  else
    return T(word);
}

template <typename T> inline LaneWord<T> toWord(T value) {
  if constexpr (sizeof(T) >= 4)
    return std::bit_cast<LaneWord<T>>(value);
  else
    return std::make_unsigned_t<T>(value);
}

template <typename T> inline LaneWord<T> *laneWords(Warp &warp, int32_t slot) {
  if constexpr (sizeof(T) == 8)
    return warp.doubleWords(slot);
  else
    return warp.words(slot);
}

// Results go through a buffer: the destination may be a source too.
template <typename T> inline void storeLanes(Warp &warp, int32_t slot, const LaneWord<T> *result, uint32_t mask) {
  LaneWord<T> *const d = laneWords<T>(warp, slot);
  if (mask == kAllLanes)
    std::memcpy(d, result, sizeof(LaneWord<T>) * kLanes);
  else
    for (int lane = 0; lane < kLanes; ++lane)
      d[lane] = (mask & kLaneBits.bit[lane]) != 0 ? result[lane] : d[lane];
}

template <typename R, typename A, typename F> Handler unary(F) {
  return [](Warp &warp, const Instruction &i, uint32_t mask) {
    const auto *a = laneWords<A>(warp, i.a);
    alignas(64) LaneWord<R> result[kLanes];
    for (int lane = 0; lane < kLanes; ++lane)
      result[lane] = toWord<R>(F()(fromWord<A>(a[lane])));
    storeLanes<R>(warp, i.d, result, mask);
    return Flow::Next;
  };
}

template <typename R, typename A, typename B, typename F> Handler binary(F) {
  return [](Warp &warp, const Instruction &i, uint32_t mask) {
    const auto *a = laneWords<A>(warp, i.a);
    const auto *b = laneWords<B>(warp, i.b);
    alignas(64) LaneWord<R> result[kLanes];
    for (int lane = 0; lane < kLanes; ++lane)
      result[lane] = toWord<R>(F()(fromWord<A>(a[lane]), fromWord<B>(b[lane])));
    storeLanes<R>(warp, i.d, result, mask);
    return Flow::Next;
  };
}

template <typename R, typename A, typename B, typename C, typename F> Handler ternary(F) {
  return [](Warp &warp, const Instruction &i, uint32_t mask) {
    const auto *a = laneWords<A>(warp, i.a);
    const auto *b = laneWords<B>(warp, i.b);
    const auto *c = laneWords<C>(warp, i.c);
    alignas(64) LaneWord<R> result[kLanes];
    for (int lane = 0; lane < kLanes; ++lane)
      result[lane] = toWord<R>(F()(fromWord<A>(a[lane]), fromWord<B>(b[lane]), fromWord<C>(c[lane])));
    storeLanes<R>(warp, i.d, result, mask);
    return Flow::Next;
  };
}

// The lanes where `test` holds, as a predicate's bits.
template <typename A, typename F> inline uint32_t testLanes(Warp &warp, int32_t a, int32_t b, F test) {
  const auto *x = laneWords<A>(warp, a);
  const auto *y = laneWords<A>(warp, b);
  alignas(32) uint8_t truths[kLanes];
  for (int lane = 0; lane < kLanes; ++lane)
    truths[lane] = test(fromWord<A>(x[lane]), fromWord<A>(y[lane]));
  uint32_t bits = 0;
  for (int part = 0; part < 4; ++part) { // gathers the lowest bits of eight bytes
    uint64_t eight = 0;
    std::memcpy(&eight, truths + 8 * part, 8);
    bits |= uint32_t(eight * 0x0102040810204080 >> 56) << (8 * part);
  }
  return bits;
}

template <typename F> inline void forLanes(uint32_t mask, F &&visit) {
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1)
    visit(std::countr_zero(rest));
}

inline int firstLane(uint32_t mask) { return mask == 0 ? 0 : std::countr_zero(mask); }

template <typename T> struct TypeTag {
  using type = T;
};

// Calls f with a tag of the type that integers of `type` have; false for other types.
template <typename F> bool withInteger(Type type, F &&f) {
  switch (type) {
  case Type::U8:
  case Type::B8:
    return f(TypeTag<uint8_t>()), true;
  case Type::U16:
  case Type::B16:
    return f(TypeTag<uint16_t>()), true;
  case Type::U32:
  case Type::B32:
    return f(TypeTag<uint32_t>()), true;
  case Type::U64:
  case Type::B64:
    return f(TypeTag<uint64_t>()), true;
  case Type::S8:
    return f(TypeTag<int8_t>()), true;
  case Type::S16:
    return f(TypeTag<int16_t>()), true;
  case Type::S32:
    return f(TypeTag<int32_t>()), true;
  case Type::S64:
    return f(TypeTag<int64_t>()), true;
  default:
    return false;
  }
}

// The same for the integers that arithmetic is done in: 16 to 64 bits.
template <typename F> bool withArithmeticInteger(Type type, F &&f) {
  return bitsOf(type) >= 16 && withInteger(type, [&](auto tag) {
           if constexpr (sizeof(typename decltype(tag)::type) > 1)
             f(tag);
         });
}

} // namespace attnc::emulator
