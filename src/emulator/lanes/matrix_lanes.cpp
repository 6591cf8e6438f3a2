// Matrix products as tensor cores compute them, several columns at once.
#include "emulator/lanes/half_values.hpp"
#include "emulator/matrix_kernels.hpp"

namespace tilescope::emulator::TILESCOPE_LANES {

// --- numbers
// ------------------------------------------------------------------------------------

void unpack_numbers(const std::uint32_t* words, unsigned count, const MatrixFormat& format,
                    const UnpackedNumbers& to) {
  const unsigned fraction_bits = format.fraction_bits, shift = format.shift;
  const unsigned sign_bit = fraction_bits + format.exponent_bits;
  const std::uint32_t hidden = 1u << fraction_bits, all_ones = (1u << sign_bit) - 1;
  const std::uint32_t exponent_mask = (1u << format.exponent_bits) - 1;
  const auto bias = static_cast<std::int32_t>(exponent_mask >> 1);
  constexpr std::uint32_t none = ~0u;  // no number has it
  const std::uint32_t not_finite = format.has_infinity ? exponent_mask : none;
  const std::uint32_t only_nan = format.has_infinity ? none : all_ones;
  std::int32_t* __restrict magnitude = to.magnitude;
  std::int32_t* __restrict exponent = to.exponent;
  std::int32_t* __restrict sign = to.sign;
#pragma GCC ivdep
  for (unsigned i = 0; i < count; ++i) {
    const std::uint32_t bits = words[i] >> shift;
    const std::uint32_t fraction = bits & (hidden - 1),
                        field = bits >> fraction_bits & exponent_mask;
    const std::uint32_t significand = fraction | (field != 0 ? hidden : 0);
    std::int32_t e = static_cast<std::int32_t>(field | (field == 0 ? 1u : 0u)) - bias;
    e = significand == 0 ? kZeroExponent : e;
    const std::int32_t special = fraction != 0 ? kNanExponent : kInfiniteExponent;
    e = field == not_finite ? special : e;
    e = (bits & all_ones) == only_nan ? kNanExponent : e;
    exponent[i] = e;
    magnitude[i] = static_cast<std::int32_t>(significand);
    sign[i] = -static_cast<std::int32_t>(bits >> sign_bit & 1);
  }
}

namespace {

/// The addend's significand with 25 bits behind the point.
constexpr int kAddendBits = 25;

struct Addend {
  std::int32_t magnitude, exponent, sign;
};

template <SumFormat format>
TILESCOPE_INLINE Addend addend(std::uint32_t bits) {
  constexpr bool half = format == SumFormat::f16;
  constexpr unsigned fraction_bits = half ? 10 : 23;
  constexpr std::uint32_t exponent_mask = half ? 31 : 255;
  const std::uint32_t fraction = bits & ((1u << fraction_bits) - 1);
  const std::uint32_t field = bits >> fraction_bits & exponent_mask;
  const std::uint32_t significand = field != 0 ? fraction | 1u << fraction_bits : fraction;
  std::int32_t e = static_cast<std::int32_t>(field != 0 ? field : 1) -
                   static_cast<std::int32_t>(exponent_mask >> 1);
  e = significand == 0 ? kZeroExponent : e;
  e = field == exponent_mask ? (fraction != 0 ? kNanExponent : kInfiniteExponent) : e;
  return {static_cast<std::int32_t>(significand << (kAddendBits - fraction_bits)), e,
          -static_cast<std::int32_t>(bits >> (half ? 15 : 31) & 1)};
}

/// Negative numbers that become zero lose their sign.
template <SumFormat format>
TILESCOPE_INLINE std::uint32_t result(double value) {
  if (format == SumFormat::f16) {
    const std::uint32_t bits = F16::narrow(value);
    return bits == F16::sign ? 0 : bits;
  }
  // Rounded to nearest, then one step back if that was away from zero.
  const float nearest = static_cast<float>(value);
  const double size = value < 0 ? -value : value;
  const double rounded = nearest < 0 ? -static_cast<double>(nearest) : static_cast<double>(nearest);
  const std::uint32_t bits = bits_of(nearest) - (rounded > size && size < 0x1p128 ? 1u : 0u);
  const std::uint32_t kept = format == SumFormat::f32_13 ? bits & ~0x3ffu : bits;
  return kept == 0x80000000u ? 0 : kept;
}

// --- products of floating point numbers
// ---------------------------------------------------------

/// A result that is not finite: NaN, or the one infinity among products and addend.
template <SumFormat format>
std::uint32_t infinite_result(const AlignedProducts& p, unsigned row, unsigned first,
                              unsigned column) {
  constexpr std::int32_t least = kInfiniteExponent + 2 * kZeroExponent;
  bool nan = false, infinite[2] = {false, false};
  for (unsigned k = first; k < first + p.step; ++k) {
    const unsigned i = row * p.k + k, j = p.meets[i] * p.columns + column;
    const std::int32_t ea = p.a.exponent[i], eb = p.b.exponent[j];
    if (ea + eb < least) continue;
    nan = nan || ea == kNanExponent || eb == kNanExponent || p.a.magnitude[i] == 0 ||
          p.b.magnitude[j] == 0;
    infinite[(p.a.sign[i] ^ p.b.sign[j]) & 1] = true;
  }
  const Addend c = addend<format>(p.sum[row * p.columns + column]);
  nan = nan || c.exponent == kNanExponent;
  if (c.exponent == kInfiniteExponent) infinite[c.sign & 1] = true;
  if (nan || (infinite[0] && infinite[1])) return format == SumFormat::f16 ? 0x7fff : 0x7fffffff;
  if (format == SumFormat::f16) return infinite[1] ? 0xfc00 : 0x7c00;
  return infinite[1] ? 0xff800000u : 0x7f800000u;
}

template <int width>
struct Columns {
  typedef std::int32_t Vector __attribute__((vector_size(width * 4)));
};

/// `width` columns of one row and step.
template <int width, SumFormat format>
TILESCOPE_INLINE void add_step(const AlignedProducts& p, unsigned row, unsigned first,
                               unsigned column) {
  using Vector = typename Columns<width>::Vector;
  const std::int32_t *am = p.a.magnitude + row * p.k, *ae = p.a.exponent + row * p.k,
                     *as = p.a.sign + row * p.k;
  const std::uint16_t* meets = p.meets + row * p.k;
  std::uint32_t* const sum = p.sum + row * p.columns + column;
  alignas(Vector) std::int32_t magnitudes[width], exponents[width], signs[width];
#pragma GCC ivdep
  for (int l = 0; l < width; ++l) {
    const Addend c = addend<format>(sum[l]);
    magnitudes[l] = c.magnitude;
    exponents[l] = c.exponent;
    signs[l] = c.sign;
  }
  Vector addend_exponent, e, v;
  __builtin_memcpy(&addend_exponent, exponents, sizeof v);
  const auto load = [&](Vector& to, const std::int32_t* from, unsigned k) {
    __builtin_memcpy(&to, from + meets[k] * p.columns + column, sizeof to);
  };
  const unsigned end = first + p.step;
  constexpr std::int32_t lowest = -300;  // below every number but zero
  Vector top = addend_exponent > lowest ? addend_exponent : Vector{} + lowest;
  for (unsigned k = first; k < end; ++k) {
    load(e, p.b.exponent, k);
    e += ae[k];
    top = e > top ? e : top;
  }
  // The sum of the step's products, in units of 2^(top - fraction_bits).
  const int raise = p.fraction_bits - p.product_bits;
  Vector total = {};
  for (unsigned k = first; k < end; ++k) {
    load(e, p.b.exponent, k);
    Vector down = top - e - ae[k];
    down = down > 31 ? Vector{} + 31 : down;
    load(v, p.b.magnitude, k);
    v = (v * (am[k] << raise)) >> down;
    load(e, p.b.sign, k);
    e ^= as[k];
    total += (v ^ e) - e;
  }
  alignas(Vector) std::int32_t tops[width], totals[width];
  __builtin_memcpy(tops, &top, sizeof tops);
  __builtin_memcpy(totals, &total, sizeof totals);
  constexpr std::int32_t least = kInfiniteExponent + 2 * kZeroExponent;
  std::uint32_t results[width];
#pragma GCC ivdep
  for (int l = 0; l < width; ++l) {
    const std::int32_t drop = tops[l] - exponents[l] + kAddendBits - p.fraction_bits;
    const std::int32_t cut = magnitudes[l] >> (drop > 31 ? 31 : drop);
    const auto scale = static_cast<std::uint64_t>(tops[l] - p.fraction_bits + 1023) << 52;
    const double exact =
        static_cast<double>(totals[l]) + static_cast<double>((cut ^ signs[l]) - signs[l]);
    results[l] = result<format>(exact * as_double(scale));
  }
  bool finite = true;
  for (int l = 0; l < width; ++l) finite &= tops[l] < least;
  if (!finite) {
    for (int l = 0; l < width; ++l) {
      if (tops[l] < least) continue;
      results[l] = infinite_result<format>(p, row, first, column + static_cast<unsigned>(l));
    }
  }
  __builtin_memcpy(sum, results, sizeof results);
}

template <SumFormat format>
void add_all(const AlignedProducts& p) {
  constexpr unsigned wide = 16, narrow = 8;
  unsigned column = 0;
  for (; column + wide <= p.columns; column += wide) {
    for (unsigned row = 0; row < p.rows; ++row) {
      for (unsigned k = 0; k < p.k; k += p.step) add_step<wide, format>(p, row, k, column);
    }
  }
  if (column == p.columns) return;  // else 8 more
  for (unsigned row = 0; row < p.rows; ++row) {
    for (unsigned k = 0; k < p.k; k += p.step) add_step<narrow, format>(p, row, k, column);
  }
}

}  // namespace

void add_aligned(const AlignedProducts& p) {
  switch (p.format) {
    case SumFormat::f32:
      return add_all<SumFormat::f32>(p);
    case SumFormat::f32_13:
      return add_all<SumFormat::f32_13>(p);
    case SumFormat::f16:
      return add_all<SumFormat::f16>(p);
  }
}

// --- integers
// -----------------------------------------------------------------------------------

namespace {

template <class Combine>
TILESCOPE_INLINE void integers(const IntegerProducts& p, Combine combine) {
  constexpr unsigned width = 8;
  for (unsigned row = 0; row < p.rows; ++row) {
    for (unsigned column = 0; column < p.columns; column += width) {
      std::int32_t total[width] = {};
      for (unsigned k = 0; k < p.k; ++k) {
        const std::int32_t x = p.a[row * p.k + k];
        const std::int32_t* y = p.b + p.meets[row * p.k + k] * p.columns + column;
        for (unsigned l = 0; l < width; ++l) total[l] += combine(x, y[l]);
      }
      std::uint32_t* const sum = p.sum + row * p.columns + column;
      for (unsigned l = 0; l < width; ++l) {
        const auto wrapped =
            static_cast<std::int32_t>(sum[l] + static_cast<std::uint32_t>(total[l]));
        const std::int64_t exact = std::int64_t{static_cast<std::int32_t>(sum[l])} + total[l];
        const std::int32_t limit = total[l] < 0 ? INT32_MIN : INT32_MAX;
        sum[l] = static_cast<std::uint32_t>(p.saturate && exact != wrapped ? limit : wrapped);
      }
    }
  }
}

TILESCOPE_INLINE std::int32_t ones(std::int32_t bits) {
  auto v = static_cast<std::uint32_t>(bits);
  v -= v >> 1 & 0x55555555u;
  v = (v & 0x33333333u) + (v >> 2 & 0x33333333u);
  return static_cast<std::int32_t>(((v + (v >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24);
}

}  // namespace

void add_integers(const IntegerProducts& p) {
  switch (p.kind) {
    case IntegerProducts::Kind::multiply:
      return integers(p, [](std::int32_t x, std::int32_t y) { return x * y; });
    case IntegerProducts::Kind::and_bits:
      return integers(p, [](std::int32_t x, std::int32_t y) { return ones(x & y); });
    case IntegerProducts::Kind::xor_bits:
      return integers(p, [](std::int32_t x, std::int32_t y) { return ones(x ^ y); });
  }
}

// --- doubles
// ------------------------------------------------------------------------------------

void add_doubles(const DoubleProducts& p) {
  constexpr unsigned columns = 8;
  for (unsigned row = 0; row < p.rows; ++row) {
    double* const to = p.sum + row * columns;
    double sums[columns];
    for (unsigned j = 0; j < columns; ++j) sums[j] = to[j];
    for (unsigned k = 0; k < p.k; ++k) {
      const double x = p.a[row * p.k + k];
      const double* y = p.b + k * columns;
      for (unsigned j = 0; j < columns; ++j) sums[j] = __builtin_fma(x, y[j], sums[j]);
    }
    for (unsigned j = 0; j < columns; ++j) to[j] = sums[j];
  }
}

}  // namespace tilescope::emulator::TILESCOPE_LANES
