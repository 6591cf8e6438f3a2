// The loop of a lane kernel over the 32 lanes, and the layout of lane values in registers.
#pragma once

#include "emulator/context.hpp"
#include "emulator/lane_key.hpp"

#ifndef TILESCOPE_LANES
#define TILESCOPE_LANES baseline
#endif

// Registers overlap completely or not at all, so lanes are independent of each other.
#if defined(__clang__)
#define TILESCOPE_EACH_LANE \
  _Pragma("clang loop vectorize(assume_safety)") for (int l = 0; l < 32; ++l)
#else
#define TILESCOPE_EACH_LANE _Pragma("GCC ivdep") for (int l = 0; l < 32; ++l)
#endif
#define TILESCOPE_INLINE [[gnu::always_inline]] static inline

namespace tilescope::emulator::TILESCOPE_LANES {

// --- values in registers: V is the type computed with, its slot the bits that a register keeps
// ----

template <int bytes>
struct SlotOf {
  using type = std::uint32_t;
};
template <>
struct SlotOf<8> {
  using type = std::uint64_t;
};
template <class V>
using Slot = typename SlotOf<sizeof(V)>::type;

template <class V>
TILESCOPE_INLINE V get(Slot<V> bits) {
  return static_cast<V>(bits);
}
TILESCOPE_INLINE float as_float(std::uint32_t bits) {
  return __builtin_bit_cast(float, bits);
}
TILESCOPE_INLINE double as_double(std::uint64_t bits) {
  return __builtin_bit_cast(double, bits);
}
TILESCOPE_INLINE std::uint32_t bits_of(float v) {
  return __builtin_bit_cast(std::uint32_t, v);
}
TILESCOPE_INLINE std::uint64_t bits_of(double v) {
  return __builtin_bit_cast(std::uint64_t, v);
}

/// Narrow results are kept zero-extended.
TILESCOPE_INLINE std::uint32_t put(std::uint8_t v) {
  return v;
}
TILESCOPE_INLINE std::uint32_t put(std::int8_t v) {
  return static_cast<std::uint8_t>(v);
}
TILESCOPE_INLINE std::uint32_t put(std::uint16_t v) {
  return v;
}
TILESCOPE_INLINE std::uint32_t put(std::int16_t v) {
  return static_cast<std::uint16_t>(v);
}
TILESCOPE_INLINE std::uint32_t put(std::uint32_t v) {
  return v;
}
TILESCOPE_INLINE std::uint32_t put(std::int32_t v) {
  return static_cast<std::uint32_t>(v);
}
TILESCOPE_INLINE std::uint64_t put(std::uint64_t v) {
  return v;
}
TILESCOPE_INLINE std::uint64_t put(std::int64_t v) {
  return static_cast<std::uint64_t>(v);
}

template <class S>
TILESCOPE_INLINE S* slots(Context& w, std::uint32_t offset) {
  return reinterpret_cast<S*>(__builtin_assume_aligned(w.frame + offset, 64));
}

/// d[l] = f(l) for the lanes in the mask, on slots of type S. f runs for every lane, so it must be
/// harmless for any input.
template <class S, class F>
TILESCOPE_INLINE void each_lane(Context& w, std::uint32_t dst, F f) {
  S* d = slots<S>(w, dst);
  if (w.mask == kAllLanes) {
    TILESCOPE_EACH_LANE d[l] = f(l);
  } else {
    alignas(64) S t[32];
    TILESCOPE_EACH_LANE t[l] = f(l);
    const std::uint32_t mask = w.mask;
    TILESCOPE_EACH_LANE d[l] = (mask >> l & 1) != 0 ? t[l] : d[l];
  }
}

/// The lanes in which f holds, as a mask.
template <class F>
TILESCOPE_INLINE std::uint32_t lanes_where(F f) {
  std::uint32_t m = 0;
  for (int l = 0; l < 32; ++l) m |= static_cast<std::uint32_t>(f(l)) << l;
  return m;
}

TILESCOPE_INLINE void set_predicate(Context& w, std::uint32_t dst, std::uint32_t value) {
  std::uint32_t& p = predicate(w, dst);
  p = (p & ~w.mask) | (value & w.mask);
}

Execute find_integer(const LaneKey& key);
Execute find_real(const LaneKey& key);
Execute find_compare(const LaneKey& key);
Execute find_logic(const LaneKey& key);
Execute find_convert(const LaneKey& key);
Execute find_half(const LaneKey& key);
Execute find_memory(const MemoryKey& key);

}  // namespace tilescope::emulator::TILESCOPE_LANES
