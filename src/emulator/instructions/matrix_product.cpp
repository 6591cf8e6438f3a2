#include "emulator/instructions/matrix_product.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/half.hpp"

namespace tilescope::emulator {
namespace {

using ptx::Type;

constexpr std::uint32_t kNanBits = 0x7fffffff;
constexpr std::uint16_t kNanHalf = 0x7fff;

unsigned word_bits(Type type) {
  return type == Type::tf32 || type == Type::b1 ? 32 : ptx::bit_width(type);
}

MatrixFormat format_of(Type type) {
  switch (type) {
    case Type::bf16:
      return {8, 7, 0, true};
    case Type::tf32:  // the chip ignores the low bits
      return {8, 10, 13, true};
    case Type::e4m3:
      return {4, 3, 0, false};
    case Type::e5m2:
      return {5, 2, 0, true};
    default:
      return {5, 10, 0, true};
  }
}

/// The same number in f16.
std::uint32_t e4m3_to_f16(std::uint32_t bits) {
  static const std::array<std::uint16_t, 256> table = [] {
    std::array<std::uint16_t, 256> values{};
    for (unsigned i = 0; i < 256; ++i) {
      const unsigned field = i >> 3 & 15, fraction = i & 7;
      const double magnitude = field != 0 ? std::ldexp(8 + fraction, static_cast<int>(field) - 10)
                                          : std::ldexp(fraction, -9);
      values[i] = (i & 127) == 127 ? kNanHalf : float64_to_float16(magnitude);
      values[i] |= static_cast<std::uint16_t>((i & 128) << 8);
    }
    return values;
  }();
  return table[bits & 255];
}

/// The words to unpack and their format.
MatrixFormat widened(const MatrixPlan& plan, Type type, const std::uint32_t*& words,
                     std::size_t count, std::vector<std::uint32_t>& storage) {
  if (!plan.rule.through_f16) return format_of(type);
  storage.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    storage[i] = type == Type::e4m3 ? e4m3_to_f16(words[i]) : words[i] << 8 & 0xffff;
  }
  words = storage.data();
  return format_of(Type::f16);
}

void unpack_to(const MatrixPlan& plan, Type type, const std::uint32_t* words, std::size_t count,
               std::vector<std::int32_t>& storage, UnpackedNumbers& numbers, bool negative) {
  static thread_local std::vector<std::uint32_t> wide;
  const MatrixFormat format = widened(plan, type, words, count, wide);
  storage.resize(3 * count);
  numbers = {storage.data(), storage.data() + count, storage.data() + 2 * count};
  plan.kernels->unpack(words, static_cast<unsigned>(count), format, numbers);
  if (!negative) return;
  for (std::size_t i = 0; i < count; ++i) numbers.sign[i] = ~numbers.sign[i];
}

std::int32_t integer_value(std::uint32_t bits, Type type) {
  const unsigned shift = 32 - word_bits(type);
  return ptx::is_signed(type) ? static_cast<std::int32_t>(bits << shift) >> shift
                              : static_cast<std::int32_t>(bits << shift >> shift);
}

void integers_to(Type type, const std::uint32_t* words, std::size_t count, std::int32_t* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] = integer_value(words[i], type);
}

int fraction_bits(const MatrixPlan& plan, Type type) {
  return static_cast<int>(format_of(plan.rule.through_f16 ? Type::f16 : type).fraction_bits);
}

std::uint32_t sum_in_ieee(SumFormat format, std::uint32_t x, std::uint32_t y) {
  if (format == SumFormat::f16) {
    const double sum = double{float16_to_float32(static_cast<std::uint16_t>(x))} +
                       double{float16_to_float32(static_cast<std::uint16_t>(y))};
    return sum != sum ? kNanHalf : float64_to_float16(sum);
  }
  const float sum = std::bit_cast<float>(x) + std::bit_cast<float>(y);
  return sum != sum ? kNanBits : std::bit_cast<std::uint32_t>(sum);
}

void multiply_aligned(const MatrixPlan& plan, const std::uint32_t* a, const MatrixRight& b,
                      const std::uint16_t* meets, std::uint32_t* sum) {
  static thread_local std::vector<std::int32_t> storage;
  static thread_local std::vector<std::uint32_t> addend;
  AlignedProducts p;
  unpack_to(plan, plan.a_type, a, std::size_t{plan.rows} * plan.k, storage, p.a, plan.negative_a);
  p.b = b.numbers();
  p.meets = meets;
  p.sum = sum;
  p.rows = plan.rows;
  p.k = plan.k;
  p.columns = plan.columns;
  p.step = plan.rule.step;
  p.fraction_bits = plan.rule.fraction_bits;
  p.product_bits = fraction_bits(plan, plan.a_type) + fraction_bits(plan, plan.b_type);
  p.format = plan.rule.format;
  const std::size_t count = std::size_t{plan.rows} * plan.columns;
  if (plan.rule.addend_last) {
    addend.assign(sum, sum + count);
    std::fill_n(sum, count, 0);
  }
  plan.kernels->add_aligned(p);
  if (!plan.rule.addend_last) return;
  for (std::size_t i = 0; i < count; ++i) sum[i] = sum_in_ieee(p.format, addend[i], sum[i]);
}

void multiply_integers(const MatrixPlan& plan, const std::uint32_t* a, const MatrixRight& b,
                       const std::uint16_t* meets, std::uint32_t* sum) {
  static thread_local std::vector<std::int32_t> values;
  values.resize(std::size_t{plan.rows} * plan.k);
  integers_to(plan.a_type, a, values.size(), values.data());
  plan.kernels->add_integers({values.data(), b.integers(), meets, sum, plan.rows, plan.k,
                              plan.columns, plan.integers, plan.saturate});
}

/// f16 operands in ordinary instructions.
void multiply_in_chains(const MatrixPlan& plan, const std::uint32_t* a, const MatrixRight& b,
                        const std::uint16_t* meets, std::uint32_t* sum) {
  const auto half = [](std::uint32_t bits) {
    return float16_to_float32(static_cast<std::uint16_t>(bits));
  };
  for (unsigned i = 0; i < plan.rows; ++i) {
    for (unsigned j = 0; j < plan.columns; ++j) {
      float x[4], y[4];
      for (unsigned k = 0; k < 4; ++k) {
        x[k] = half(a[i * 4 + k]);
        y[k] = half(static_cast<std::uint32_t>(b.integers()[meets[i * 4 + k] * plan.columns + j]));
      }
      float c = std::bit_cast<float>(sum[i * plan.columns + j]);
      if (plan.rule.kind == MatrixRule::Kind::chain) {
        float products = 0;
        for (int k = 0; k < 4; ++k) products = std::fma(x[k], y[k], products);
        c += products;
      } else {
        c += std::fma(x[1], y[1], x[0] * y[0]);
        c += std::fma(x[3], y[3], x[2] * y[2]);
      }
      sum[i * plan.columns + j] = c != c ? kNanBits : std::bit_cast<std::uint32_t>(c);
    }
  }
}

/// Calls each(register, lane of its first, matrix index of its first) for every four neighbouring
/// lanes of an accumulator: they hold four neighbours of a row.
template <class Each>
void each_quad(const MatrixPlan& plan, Type type, Each each) {
  const unsigned halves = plan.rows / 8, width = type == Type::f16 ? 8 : 4;
  const unsigned per_column_group = type == Type::f16 ? 1 : 2;
  for (unsigned row = 0; row < plan.rows; ++row) {
    for (unsigned q = 0; q < plan.columns / width; ++q) {
      const unsigned r =
          (q / per_column_group * halves + row / 8) * per_column_group + q % per_column_group;
      each(r, row % 8 * 4, row * plan.columns + q * width);
    }
  }
}

std::uint32_t to_sum(const MatrixPlan& plan, std::uint32_t c) {
  if (plan.c_type != Type::f16 || plan.rule.format == SumFormat::f16) return c;
  return std::bit_cast<std::uint32_t>(float16_to_float32(static_cast<std::uint16_t>(c)));
}

std::uint32_t from_sum(const MatrixPlan& plan, std::uint32_t sum) {
  if (plan.d_type != Type::f16 || plan.rule.format == SumFormat::f16) return sum;
  const float value = std::bit_cast<float>(sum);
  return value != value ? kNanHalf : float64_to_float16(value);
}

}  // namespace

void MatrixRight::unpack(const MatrixPlan& plan, const std::uint32_t* words) {
  count_ = std::size_t{plan.b_rows} * plan.columns;
  if (plan.rule.kind == MatrixRule::Kind::aligned) {
    UnpackedNumbers numbers;
    unpack_to(plan, plan.b_type, words, count_, storage_, numbers, plan.negative_b);
    return;
  }
  storage_.resize(count_);
  if (plan.rule.kind == MatrixRule::Kind::integers) {
    integers_to(plan.b_type, words, count_, storage_.data());
  } else {
    std::memcpy(storage_.data(), words, count_ * sizeof *words);
  }
}

UnpackedNumbers MatrixRight::numbers() const {
  return {storage_.data(), storage_.data() + count_, storage_.data() + 2 * count_};
}

void gather(Context& w, const MatrixFragment& f, const MatrixPlan& plan, Type type,
            std::uint32_t* matrix) {
  if (f.accumulator) {
    each_quad(plan, type, [&](unsigned r, unsigned lane, unsigned at) {
      const std::uint32_t* from = r32(w, f.registers[r]) + lane;
      if (type != Type::f16) {
        std::memcpy(matrix + at, from, 4 * sizeof *from);
        return;
      }
      for (unsigned e = 0; e < 8; ++e) matrix[at + e] = from[e / 2] >> e % 2 * 16 & 0xffff;
    });
    return;
  }
  const unsigned bits = 32 / f.per_register;
  const std::uint32_t mask = bits == 32 ? ~0u : (1u << bits) - 1;
  const std::uint16_t* place = f.places.data();
  for (const std::uint32_t offset : f.registers) {
    const std::uint32_t* from = r32(w, offset);
    for (unsigned lane = 0; lane < 32; ++lane) {
      for (unsigned e = 0; e < f.per_register; ++e) {
        matrix[*place++] = from[lane] >> e * bits & mask;
      }
    }
  }
}

void gather_addend(Context& w, const MatrixPlan& plan, std::uint32_t* sum) {
  gather(w, plan.c, plan, plan.c_type, sum);
  if (plan.c_type != Type::f16 || plan.rule.format == SumFormat::f16) return;
  for (std::size_t i = 0; i < std::size_t{plan.rows} * plan.columns; ++i) {
    sum[i] = to_sum(plan, sum[i]);
  }
}

void scatter(Context& w, const MatrixPlan& plan, const std::uint32_t* sum) {
  const MatrixFragment& f = plan.d;
  const bool half = plan.d_type == Type::f16;
  const auto put = [&](std::uint32_t* to, unsigned lane, std::uint32_t value) {
    if ((w.mask >> lane & 1) != 0) to[lane] = value;
  };
  if (f.accumulator) {
    each_quad(plan, plan.d_type, [&](unsigned r, unsigned lane, unsigned at) {
      std::uint32_t* to = r32(w, f.registers[r]);
      if (!half && w.mask == kAllLanes) {
        std::memcpy(to + lane, sum + at, 4 * sizeof *to);
        return;
      }
      for (unsigned i = 0; i < 4; ++i) {
        put(to, lane + i,
            half ? from_sum(plan, sum[at + 2 * i]) | from_sum(plan, sum[at + 2 * i + 1]) << 16
                 : sum[at + i]);
      }
    });
    return;
  }
  const std::uint16_t* place = f.places.data();
  for (const std::uint32_t offset : f.registers) {
    std::uint32_t* to = r32(w, offset);
    for (unsigned lane = 0; lane < 32; ++lane) {
      std::uint32_t value = from_sum(plan, sum[*place++]);
      if (half) value |= from_sum(plan, sum[*place++]) << 16;
      put(to, lane, value);
    }
  }
}

void multiply(const MatrixPlan& plan, const std::uint32_t* a, const MatrixRight& b,
              const std::uint16_t* meets, std::uint32_t* sum) {
  switch (plan.rule.kind) {
    case MatrixRule::Kind::aligned:
      return multiply_aligned(plan, a, b, meets, sum);
    case MatrixRule::Kind::integers:
      return multiply_integers(plan, a, b, meets, sum);
    case MatrixRule::Kind::chain:
    case MatrixRule::Kind::chains_2:
      return multiply_in_chains(plan, a, b, meets, sum);
    case MatrixRule::Kind::doubles:
      return;  // multiply_doubles()
  }
}

unsigned accumulator_position(Type type, unsigned column) {
  if (type == Type::f16) return column;
  return (column / 8 * 2 + column % 2) * 4 + column % 8 / 2;
}

unsigned place_along_k(const MatrixRule& rule, unsigned e, unsigned k) {
  if (!rule.pairs_apart) return e;
  return e % 4 / 2 * (k / 2) + e / 4 * 2 + e % 2;
}

}  // namespace tilescope::emulator
