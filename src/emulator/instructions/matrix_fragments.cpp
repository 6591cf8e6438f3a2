#include "emulator/instructions/matrix_fragments.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "base/half.hpp"
#include "emulator/context.hpp"
#include "emulator/instructions/number_format.hpp"

namespace tilescope::emulator {
namespace {

using ptx::Type;

// The largest matrices are 32 x 16, 16 x 32 and 16 x 256 (one-bit elements).
constexpr unsigned kMostElements = 16 * 256;

unsigned bits_of(Type type) {
  return type == Type::tf32 ? 32 : ptx::bit_width(type);
}

double real_value(std::uint64_t bits, Type type) {
  switch (type) {
    case Type::f64:
      return std::bit_cast<double>(bits);
    case Type::f32:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    // The chip ignores the low bits that tf32 drops.
    case Type::tf32:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits) & 0xffffe000u);
    case Type::f16:
      return float16_to_float32(static_cast<std::uint16_t>(bits));
    case Type::bf16:
      return bfloat16_to_float32(static_cast<std::uint16_t>(bits));
    default:
      return decode(static_cast<std::uint32_t>(bits), *number_format(type));
  }
}

std::uint64_t real_bits(double value, Type type) {
  switch (type) {
    case Type::f64:
      return value != value ? 0xfff8000000000000u : std::bit_cast<std::uint64_t>(value);
    case Type::f32:
      return value != value ? 0x7fffffffu : std::bit_cast<std::uint32_t>(static_cast<float>(value));
    default:
      return value != value ? 0x7fff : float64_to_float16(value);
  }
}

std::int32_t integer_value(std::uint64_t bits, Type type) {
  const unsigned shift = 32 - bits_of(type);
  const auto moved = static_cast<std::uint32_t>(bits) << shift;
  return ptx::is_signed(type) ? static_cast<std::int32_t>(moved) >> shift
                              : static_cast<std::int32_t>(moved >> shift);
}

template <class T, class Convert>
void gather(Context& w, const Fragment& f, T* matrix, Convert convert) {
  for (unsigned r = 0; r < f.registers; ++r) {
    for (unsigned lane = 0; lane < 32; ++lane) {
      for (unsigned e = 0; e < f.per_register; ++e) {
        const Fragment::Position at = f.position(lane, r, e);
        matrix[at.row * f.columns + at.column] = convert(fragment_element(w, f, lane, r, e));
      }
    }
  }
}

template <class T, class Convert>
void scatter(Context& w, const Fragment& f, const T* matrix, Convert convert) {
  for (unsigned r = 0; r < f.registers; ++r) {
    for (unsigned lane = 0; lane < 32; ++lane) {
      for (unsigned e = 0; e < f.per_register; ++e) {
        const Fragment::Position at = f.position(lane, r, e);
        set_fragment_element(w, f, lane, r, e, convert(matrix[at.row * f.columns + at.column]));
      }
    }
  }
}

void multiply_real(Context& w, const Product& p) {
  static thread_local std::vector<double> a(kMostElements), b(kMostElements), c(kMostElements);
  gather(w, p.a, a.data(), [&](std::uint64_t v) { return real_value(v, p.a.type); });
  gather(w, p.b, b.data(), [&](std::uint64_t v) { return real_value(v, p.b.type); });
  gather(w, p.c, c.data(), [&](std::uint64_t v) { return real_value(v, p.c.type); });
  const unsigned rows = p.a.rows, inner = p.a.columns, columns = p.b.columns;
  const bool fused = p.d.type == Type::f64;
  for (unsigned i = 0; i < rows; ++i) {
    double* sum = c.data() + i * columns;
    for (unsigned k = 0; k < inner; ++k) {
      const double x = a[i * inner + k];
      const double* y = b.data() + k * columns;
      if (fused) {
        for (unsigned j = 0; j < columns; ++j) sum[j] = std::fma(x, y[j], sum[j]);
      } else {
        for (unsigned j = 0; j < columns; ++j) sum[j] += x * y[j];
      }
    }
  }
  scatter(w, p.d, c.data(), [&](double v) { return real_bits(v, p.d.type); });
}

void multiply_integer(Context& w, const Product& p) {
  static thread_local std::vector<std::int32_t> a(kMostElements), b(kMostElements);
  static thread_local std::vector<std::int64_t> c(kMostElements);
  gather(w, p.a, a.data(), [&](std::uint64_t v) { return integer_value(v, p.a.type); });
  gather(w, p.b, b.data(), [&](std::uint64_t v) { return integer_value(v, p.b.type); });
  gather(w, p.c, c.data(), [&](std::uint64_t v) {
    return std::int64_t{static_cast<std::int32_t>(static_cast<std::uint32_t>(v))};
  });
  const unsigned rows = p.a.rows, inner = p.a.columns, columns = p.b.columns;
  const bool one_bit = p.a.type == Type::b1;
  for (unsigned i = 0; i < rows; ++i) {
    for (unsigned k = 0; k < inner; ++k) {
      const std::int32_t x = a[i * inner + k];
      for (unsigned j = 0; j < columns; ++j) {
        const std::int32_t y = b[k * columns + j];
        c[i * columns + j] += !one_bit ? std::int64_t{x} * y : p.bits_and ? x & y : x ^ y;
      }
    }
  }
  scatter(w, p.d, c.data(), [&](std::int64_t v) {
    if (p.saturate) v = std::clamp<std::int64_t>(v, INT32_MIN, INT32_MAX);
    return std::uint64_t{static_cast<std::uint32_t>(v)};
  });
}

}  // namespace

unsigned elements_per_register(Type type) {
  const unsigned bits = bits_of(type);
  return bits >= 32 ? 1 : 32 / bits;
}

Fragment::Position Fragment::position(unsigned lane, unsigned r, unsigned e) const {
  const unsigned group = lane / 4, thread = lane % 4;
  switch (layout) {
    case FragmentLayout::mma_a: {
      const unsigned halves = rows / 8;  // registers take turns between rows 0..7 and 8..15
      return {group + 8 * (r % halves), thread * per_register + e + r / halves * 4 * per_register};
    }
    case FragmentLayout::mma_b:
      return {thread * per_register + e + r * 4 * per_register, group};
    case FragmentLayout::mma_c: {
      const unsigned index = r * per_register + e;  // two neighbours in each row
      return {group + 8 * (index / 2), thread * 2 + index % 2};
    }
    case FragmentLayout::by_rows:
    case FragmentLayout::by_columns:
      break;
  }
  // Registers with room for more hold elements several times.
  const unsigned index =
      (lane * registers * per_register + r * per_register + e) % (rows * columns);
  if (layout == FragmentLayout::by_columns) return {index % rows, index / rows};
  return {index / columns, index % columns};
}

std::uint64_t fragment_element(Context& w, const Fragment& f, unsigned lane, unsigned r,
                               unsigned e) {
  if (f.type == Type::f64) return r64(w, f.list[r])[lane];
  const std::uint32_t v = r32(w, f.list[r])[lane];
  if (f.per_register == 1) return v;
  const unsigned bits = 32 / f.per_register;
  return v >> e * bits & ((1u << bits) - 1);
}

void set_fragment_element(Context& w, const Fragment& f, unsigned lane, unsigned r, unsigned e,
                          std::uint64_t bits) {
  if (f.type == Type::f64) {
    r64(w, f.list[r])[lane] = bits;
    return;
  }
  std::uint32_t& v = r32(w, f.list[r])[lane];
  if (f.per_register == 1) {
    v = static_cast<std::uint32_t>(bits);
    return;
  }
  const unsigned width = 32 / f.per_register;
  const std::uint32_t keep = (1u << width) - 1;
  v = (v & ~(keep << e * width)) | (static_cast<std::uint32_t>(bits) & keep) << e * width;
}

void multiply(Context& w, const Product& product) {
  if (product.d.type == Type::s32) {
    multiply_integer(w, product);
  } else {
    multiply_real(w, product);
  }
}

}  // namespace tilescope::emulator
