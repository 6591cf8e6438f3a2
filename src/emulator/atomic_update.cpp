#include "emulator/atomic_update.hpp"

#include <bit>
#include <cmath>

#include "base/half.hpp"
#include "base/one_of.hpp"

namespace tilescope::emulator {
namespace {

using ptx::ReduceOp;
using ptx::Type;

float flushed(float v) {
  return std::fpclassify(v) == FP_SUBNORMAL ? std::copysign(0.0f, v) : v;
}

std::uint32_t canonical(float v) {
  return v != v ? 0x7fffffffu : std::bit_cast<std::uint32_t>(v);
}
std::uint64_t canonical(double v) {
  return v != v ? 0xfff8000000000000u : std::bit_cast<std::uint64_t>(v);
}

bool is_nan(std::uint64_t bits) {
  return std::isnan(std::bit_cast<double>(bits));
}

/// One 16-bit float combined with another.
template <bool brain>
std::uint16_t combine_half(ReduceOp op, std::uint16_t x, std::uint16_t y) {
  const float a = brain ? bfloat16_to_float32(x) : float16_to_float32(x);
  const float b = brain ? bfloat16_to_float32(y) : float16_to_float32(y);
  if (op == ReduceOp::add) {
    // Exact in double up to distances where the smaller operand cannot matter.
    const double sum = static_cast<double>(a) + static_cast<double>(b);
    if (sum != sum) return 0x7fff;
    return brain ? float64_to_bfloat16(sum) : float64_to_float16(sum);
  }
  if (a != a && b != b) return 0x7fff;
  if (a != a) return y;
  if (b != b) return x;
  const bool less = a < b || (a == b && std::signbit(a) && !std::signbit(b));
  return less == (op == ReduceOp::min) ? x : y;
}
template <bool brain>
std::uint32_t combine_pair(ReduceOp op, std::uint32_t x, std::uint32_t y) {
  const auto low =
      combine_half<brain>(op, static_cast<std::uint16_t>(x), static_cast<std::uint16_t>(y));
  const auto high = combine_half<brain>(op, static_cast<std::uint16_t>(x >> 16),
                                        static_cast<std::uint16_t>(y >> 16));
  return low | static_cast<std::uint32_t>(high) << 16;
}

template <class U, class S>
U combine_integer(ReduceOp op, bool is_signed, U old, U b, U c) {
  switch (op) {
    case ReduceOp::add:
      return static_cast<U>(old + b);
    case ReduceOp::min:
      return (is_signed ? static_cast<S>(b) < static_cast<S>(old) : b < old) ? b : old;
    case ReduceOp::max:
      return (is_signed ? static_cast<S>(b) > static_cast<S>(old) : b > old) ? b : old;
    case ReduceOp::inc:
      return old >= b ? U{0} : static_cast<U>(old + 1);
    case ReduceOp::dec:
      return old == 0 || old > b ? b : static_cast<U>(old - 1);
    case ReduceOp::and_:
      return old & b;
    case ReduceOp::or_:
      return old | b;
    case ReduceOp::xor_:
      return old ^ b;
    case ReduceOp::exch:
      return b;
    case ReduceOp::cas:
      return old == b ? c : old;
    default:
      return old;
  }
}

}  // namespace

bool update_commutes(ReduceOp op, Type type) {
  return !ptx::is_float(type) && is_one_of(op, {ReduceOp::add, ReduceOp::min, ReduceOp::max,
                                                ReduceOp::and_, ReduceOp::or_, ReduceOp::xor_});
}

std::uint64_t AtomicUpdate::of(std::uint64_t old, std::uint64_t b, std::uint64_t third) const {
  switch (type) {
    case Type::f32: {
      float x = std::bit_cast<float>(static_cast<std::uint32_t>(old));
      float y = std::bit_cast<float>(static_cast<std::uint32_t>(b));
      if (flushes) return canonical(flushed(flushed(x) + flushed(y)));
      return canonical(x + y);
    }
    case Type::f64:
      if (keeps_nan && is_nan(old)) return old;
      if (keeps_nan && is_nan(b)) return b;
      return canonical(std::bit_cast<double>(old) + std::bit_cast<double>(b));
    case Type::f16:
      return combine_half<false>(op, static_cast<std::uint16_t>(old),
                                 static_cast<std::uint16_t>(b));
    case Type::bf16:
      return combine_half<true>(op, static_cast<std::uint16_t>(old), static_cast<std::uint16_t>(b));
    case Type::f16x2:
      return combine_pair<false>(op, static_cast<std::uint32_t>(old),
                                 static_cast<std::uint32_t>(b));
    case Type::bf16x2:
      return combine_pair<true>(op, static_cast<std::uint32_t>(old), static_cast<std::uint32_t>(b));
    case Type::b16:
    case Type::u16:
    case Type::s16:
      return combine_integer<std::uint16_t, std::int16_t>(
          op, false, static_cast<std::uint16_t>(old), static_cast<std::uint16_t>(b),
          static_cast<std::uint16_t>(third));
    case Type::s64:
    case Type::u64:
    case Type::b64:
      return combine_integer<std::uint64_t, std::int64_t>(op, type == Type::s64, old, b, third);
    default:
      return combine_integer<std::uint32_t, std::int32_t>(
          op, type == Type::s32, static_cast<std::uint32_t>(old), static_cast<std::uint32_t>(b),
          static_cast<std::uint32_t>(third));
  }
}

namespace {

template <class T>
T exchange(const AtomicUpdate& update, std::uint8_t* at, std::uint64_t& changes, std::uint64_t b,
           std::uint64_t third) {
  auto* target = reinterpret_cast<T*>(at);
  T old = __atomic_load_n(target, __ATOMIC_RELAXED);
  for (;;) {
    const T updated = static_cast<T>(update.of(old, b, third));
    if (__atomic_compare_exchange_n(target, &old, updated, true, __ATOMIC_SEQ_CST,
                                    __ATOMIC_RELAXED)) {
      changes += updated != old;
      return old;
    }
  }
}

}  // namespace

std::uint64_t AtomicUpdate::apply(std::uint8_t* at, unsigned bytes, std::uint64_t& changes,
                                  std::uint64_t b, std::uint64_t third) const {
  return bytes == 8   ? exchange<std::uint64_t>(*this, at, changes, b, third)
         : bytes == 4 ? exchange<std::uint32_t>(*this, at, changes, b, third)
                      : exchange<std::uint16_t>(*this, at, changes, b, third);
}

}  // namespace tilescope::emulator
