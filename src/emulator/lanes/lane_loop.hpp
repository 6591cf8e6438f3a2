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

// --- choosing a kernel when an instruction is decoded: what is known only then becomes a
// template's argument. Not by the standard library's types, whose functions all levels would share.

template <class V>
struct As {
  using type = V;
};
template <bool b>
struct Constant {
  static constexpr bool value = b;
};

/// The PTX type of the C++ integer V.
template <class V>
constexpr ptx::Type integer_type() {
  using enum ptx::Type;
  constexpr bool is_signed = static_cast<V>(-1) < static_cast<V>(0);
  if (sizeof(V) == 1) return is_signed ? s8 : u8;
  if (sizeof(V) == 2) return is_signed ? s16 : u16;
  if (sizeof(V) == 4) return is_signed ? s32 : u32;
  return is_signed ? s64 : u64;
}
/// choose(As<V>) for the one of the integers Vs that `type` is; null: for none.
template <class... Vs, class F>
Execute for_integer(ptx::Type type, F choose) {
  Execute found = nullptr;
  ((type == integer_type<Vs>() ? static_cast<void>(found = choose(As<Vs>{})) : void()), ...);
  return found;
}
template <class F>
Execute for_16_to_64(ptx::Type type, F choose) {
  return for_integer<std::uint16_t, std::int16_t, std::uint32_t, std::int32_t, std::uint64_t,
                     std::int64_t>(type, choose);
}
template <class F>
Execute for_32_and_64(ptx::Type type, F choose) {
  return for_integer<std::uint32_t, std::int32_t, std::uint64_t, std::int64_t>(type, choose);
}
template <class F>
Execute for_8_to_64(ptx::Type type, F choose) {
  if (type == ptx::Type::u8) return choose(As<std::uint8_t>{});
  if (type == ptx::Type::s8) return choose(As<std::int8_t>{});
  return for_16_to_64(type, choose);
}

/// choose(Constant...), a constant for each flag.
template <class F>
Execute for_flags(F choose) {
  return choose();
}
template <class F, class... More>
Execute for_flags(F choose, bool flag, More... more) {
  const auto with = [&](auto first) {
    return for_flags([&](auto... others) { return choose(first, others...); }, more...);
  };
  return flag ? with(Constant<true>{}) : with(Constant<false>{});
}

Execute find_integer(const LaneKey& key);
Execute find_real(const LaneKey& key);
Execute find_compare(const LaneKey& key);
Execute find_logic(const LaneKey& key);
Execute find_convert(const LaneKey& key);
Execute find_half(const LaneKey& key);
Execute find_memory(const MemoryKey& key);

// As MatrixKernels declares them.
void unpack_numbers(const std::uint32_t* words, unsigned count, const MatrixFormat& format,
                    const UnpackedNumbers& to);
void add_aligned(const AlignedProducts& products);
void add_integers(const IntegerProducts& products);
void add_doubles(const DoubleProducts& products);

}  // namespace tilescope::emulator::TILESCOPE_LANES
