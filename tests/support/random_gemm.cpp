#include "support/random_gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "base/float8.hpp"
#include "base/half.hpp"

namespace tilescope::testing {

double load_element(const std::byte* at, DataType type) {
  const auto read = [at]<typename T>(T value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (type) {
    case DataType::float16:
      return float16_to_float32(read(std::uint16_t{}));
    case DataType::bfloat16:
      return bfloat16_to_float32(read(std::uint16_t{}));
    case DataType::float8_e4m3:
      return e4m3_to_float32(read(std::uint8_t{}));
    case DataType::float8_e5m2:
      return e5m2_to_float32(read(std::uint8_t{}));
    case DataType::int8:
      return read(std::int8_t{});
    case DataType::int32:
      return read(std::int32_t{});
    case DataType::float32:
      return read(float{});
    default:
      return read(double{});
  }
}

void store_element(std::byte* at, DataType type, double value) {
  const auto write = [at](const auto& converted) { std::memcpy(at, &converted, sizeof converted); };
  switch (type) {
    case DataType::float16:
      return write(float64_to_float16(value));
    case DataType::bfloat16:
      return write(float64_to_bfloat16(value));
    case DataType::float8_e4m3:
      return write(float64_to_e4m3(value));
    case DataType::float8_e5m2:
      return write(float64_to_e5m2(value));
    case DataType::int8:
      return write(static_cast<std::int8_t>(value));
    case DataType::float32:
      return write(static_cast<float>(value));
    default:
      return write(value);
  }
}

GemmMatrices::GemmMatrices(const GemmOperand& operand, std::int64_t rows, std::int64_t columns,
                           std::int64_t batch, std::int64_t shift)
    : operand_(operand), rows_(rows), columns_(columns), batch_(batch) {
  const bool by_rows = operand.order == Order::row_major;
  const std::int64_t vectors = by_rows ? rows : columns;
  const std::int64_t elements =
      std::max<std::int64_t>(batch - 1, 0) * operand.batch_stride + vectors * operand.leading;
  first_ = guard_bytes + static_cast<std::size_t>(shift) * size_of(operand.type);
  image_.assign(first_ + static_cast<std::size_t>(elements) * size_of(operand.type) + guard_bytes,
                guard);
}

bool GemmMatrices::guards_are_untouched() const {
  std::vector<std::byte> rest = image_;
  each([&](auto b, auto i, auto j) {
    std::fill_n(rest.begin() + static_cast<std::ptrdiff_t>(offset(b, i, j)), size_of(operand_.type),
                guard);
  });
  return std::all_of(rest.begin(), rest.end(), [](std::byte byte) { return byte == guard; });
}

std::size_t GemmMatrices::offset(std::int64_t b, std::int64_t i, std::int64_t j) const {
  const bool by_rows = operand_.order == Order::row_major;
  const std::int64_t at =
      b * operand_.batch_stride + (by_rows ? i : j) * operand_.leading + (by_rows ? j : i);
  return first_ + static_cast<std::size_t>(at) * size_of(operand_.type);
}

double rounded_operand(double x, Precision precision) {
  switch (precision) {
    case Precision::fp64:
      return x;
    case Precision::bf16:
      return bfloat16_to_float32(float64_to_bfloat16(x));
    case Precision::fp16:
      return float16_to_float32(float64_to_float16(x));
    case Precision::tf32: {
      // 11 significant bits, the rest cut off.
      const auto single = static_cast<double>(static_cast<float>(x));
      if (single == 0.0 || !std::isfinite(single)) return single;
      int exponent = 0;
      const double fraction = std::frexp(single, &exponent);
      // Float32's subnormals have fewer bits, at fixed places.
      const int least = std::max(exponent, -125) - 11;
      return std::ldexp(std::trunc(std::ldexp(fraction, exponent - least)), least);
    }
    default:
      return static_cast<float>(x);
  }
}

double sum_roundoff(Precision precision, bool tensor_cores) {
  if (precision == Precision::fp64) return 0x1p-53;
  const bool cut =
      precision == Precision::bf16 || precision == Precision::fp16 || precision == Precision::tf32;
  return tensor_cores && cut ? 0x1p-23 : 0x1p-24;
}

RoundedOperands::RoundedOperands(const GemmCase& of, std::int64_t matrix) : b(matrix) {
  const operations::GemmProblem& p = of.problem;
  for (std::int64_t i = 0; i < p.shape.m; ++i) {
    for (std::int64_t l = 0; l < p.shape.k; ++l) {
      rows_of_a.push_back(rounded_operand(of.a.get(matrix, i, l), p.precision));
    }
  }
  for (std::int64_t j = 0; j < p.shape.n; ++j) {
    for (std::int64_t l = 0; l < p.shape.k; ++l) {
      columns_of_b.push_back(rounded_operand(of.b.get(matrix, l, j), p.precision));
    }
  }
}

GemmExpected expected_element(const GemmCase& of, const RoundedOperands& operands, std::int64_t i,
                              std::int64_t j, bool tensor_cores) {
  const GemmProblem& p = of.problem;
  const std::int64_t b = operands.b;
  long double sum = 0, magnitude = 0;
  const double* const row = operands.rows_of_a.data() + i * p.shape.k;
  const double* const column = operands.columns_of_b.data() + j * p.shape.k;
  for (std::int64_t l = 0; l < p.shape.k; ++l) {
    const long double product = static_cast<long double>(row[l]) * column[l];
    sum += product;
    magnitude += product < 0 ? -product : product;
  }
  long double value = p.alpha * sum;
  magnitude *= std::abs(p.alpha);
  if (p.beta != 0.0) {
    const long double old = static_cast<long double>(p.beta) * of.c.get(b, i, j);
    value += old;
    magnitude += std::abs(old);
  }
  if (p.has_bias) {
    const float bias = of.bias[static_cast<std::size_t>(p.bias_per_row ? i : j)];
    value += bias;
    magnitude += std::abs(bias);
  }
  const double u = sum_roundoff(p.precision, tensor_cores);
  const long double roundings =
      2.0L + (of.sums_are_exact ? 2.0L : static_cast<long double>(p.shape.k));
  long double bound = roundings * u * magnitude;
  // Four steps of tensor cores between promotions: 33 terms and the sum are cut to 13 bits.
  if (operations::has_float8_operands(p.precision) && !of.sums_are_exact && tensor_cores) {
    bound += 4.0L * 34.0L * 0x1p-13L * magnitude;
  }
  if (p.precision == Precision::int8) return {static_cast<double>(value), 0.0};
  if (p.activation == Activation::relu && value < 0.0L) value = 0.0L;
  if (p.activation == Activation::gelu) {
    value = value / 2.0L * std::erfc(-value / std::sqrt(2.0L));
    // GELU's slope is at most 1.13; its own evaluation is good to a few units.
    bound = 1.13L * bound + 16.0L * u * std::abs(value);
  }
  struct Rounding {
    double relative, absolute;
  };
  const Rounding last = p.c.type == DataType::float16    ? Rounding{0x1p-11, 0x1p-25}
                        : p.c.type == DataType::bfloat16 ? Rounding{0x1p-8, 0x1p-134}
                        : p.c.type == DataType::float32  ? Rounding{0x1p-24, 0x1p-150}
                                                         : Rounding{0x1p-53, 0x1p-1074};
  // A sum may have lost anything below the least float32.
  if (p.precision != Precision::fp64) bound += 0x1p-149L;
  bound += last.relative * (std::abs(value) + bound) + last.absolute;
  return {static_cast<double>(value), static_cast<double>(bound)};
}

std::string defects(const GemmCase& of, const GemmMatrices& computed, bool tensor_cores) {
  std::string first;
  int wrong = 0;
  std::optional<RoundedOperands> operands;
  computed.each([&](auto b, auto i, auto j) {
    if (!operands || operands->b != b) operands.emplace(of, b);
    const GemmExpected expected = expected_element(of, *operands, i, j, tensor_cores);
    const double value = computed.get(b, i, j);
    const bool right = std::isnan(expected.value) ? std::isnan(value)
                       : std::isinf(expected.value)
                           ? value == expected.value
                           : std::abs(value - expected.value) <= expected.bound;
    if (!right && wrong++ == 0) {
      first = fmt::format("C[{}]({}, {}) is {}, expected {} +- {}", b, i, j, value, expected.value,
                          expected.bound);
    }
  });
  if (wrong > 0) return fmt::format("{}: {}; {} elements are wrong", of.text, first, wrong);
  if (!computed.guards_are_untouched()) return of.text + ": bytes beside C's elements changed";
  return {};
}

GemmProblem GemmGenerator::problem() {
  GemmProblem p;
  p.precision = pick({Precision::fp32, Precision::fp32_fast, Precision::tf32, Precision::bf16,
                      Precision::fp16, Precision::fp64});
  const DataType natural = operations::operand_type(p.precision);
  const bool mixed = one_in(3);
  p.a.type = mixed ? any_type() : natural;
  p.b.type = mixed ? any_type() : natural;
  p.c.type = mixed ? any_type() : one_in(2) ? natural : wider(natural);
  do {
    p.shape = {extent(), extent(), extent()};
    p.batch = one_in(4) ? number(0, 4) : 1;
  } while (p.shape.flops() * static_cast<double>(p.batch) > 6e6);
  place(p.a, p.shape.m, p.shape.k, p.batch, true);
  place(p.b, p.shape.k, p.shape.n, p.batch, true);
  place(p.c, p.shape.m, p.shape.n, p.batch, false);
  p.alpha = one_in(2) ? 1.0 : pick({-1.0, 0.5, 0.0, -1.75, 3.25});
  p.beta = one_in(2) ? 0.0 : pick({1.0, -0.5, 0.75, 2.0});
  p.has_bias = one_in(2);
  p.bias_per_row = p.has_bias && one_in(2);
  p.activation = pick({Activation::none, Activation::none, Activation::relu, Activation::gelu});
  return p;
}

GemmProblem GemmGenerator::problem_of_8_bits() {
  GemmProblem p = problem();
  p.precision = pick({Precision::fp8_e4m3, Precision::fp8_e5m2, Precision::int8});
  p.a.type = p.b.type = operations::operand_type(p.precision);
  p.c.type = pick({DataType::bfloat16, DataType::float16, DataType::float32, DataType::float32,
                   DataType::float64});
  if (p.precision == Precision::int8) {
    p.c.type = DataType::int32;
    p.alpha = 1.0;
    p.beta = 0.0;
    p.has_bias = p.bias_per_row = false;
    p.activation = Activation::none;
  }
  place(p.a, p.shape.m, p.shape.k, p.batch, true);
  place(p.b, p.shape.k, p.shape.n, p.batch, true);
  place(p.c, p.shape.m, p.shape.n, p.batch, false);
  return p;
}

GemmCase GemmGenerator::filled(const GemmProblem& p) {
  const MatmulShape& s = p.shape;
  const auto shift = [&] { return one_in(3) ? number(1, 9) : 0; };
  GemmCase of{.problem = p,
              .a = {p.a, s.m, s.k, p.batch, shift()},
              .b = {p.b, s.k, s.n, p.batch, shift()},
              .c = {p.c, s.m, s.n, p.batch, shift()},
              .bias = {},
              .text = {}};
  const bool special = one_in(16) && p.precision != Precision::int8;
  of.sums_are_exact = operations::has_float8_operands(p.precision) && one_in(2);
  fill(of.a, special, of.sums_are_exact);
  fill(of.b, special, of.sums_are_exact);
  if (p.beta != 0.0) fill(of.c, special);  // else NaN, which must not be read
  if (p.has_bias) {
    of.bias.resize(static_cast<std::size_t>(p.bias_per_row ? s.m : s.n));
    for (float& value : of.bias) value = static_cast<float>(uniform());
  }
  of.text = text(of, special);
  return of;
}

std::int64_t GemmGenerator::number(std::int64_t least, std::int64_t most) {
  return std::uniform_int_distribution<std::int64_t>(least, most)(generator_);
}

std::int64_t GemmGenerator::extent() {
  switch (number(0, 9)) {
    case 0:
      return number(0, 1);
    case 1:
    case 2:
      return number(1, 17);
    case 3:
      return 16 * number(1, 5);
    case 4:
      return 64 * number(1, 5);
    case 5:
      return number(200, 700);
    default:
      return number(1, 150);
  }
}

void GemmGenerator::place(GemmOperand& operand, std::int64_t rows, std::int64_t columns,
                          std::int64_t batch, bool may_repeat) {
  if (may_repeat && one_in(2)) operand.order = Order::column_major;
  const bool by_rows = operand.order == Order::row_major;
  const std::int64_t length = by_rows ? columns : rows, vectors = by_rows ? rows : columns;
  const std::int64_t whole = 16 / static_cast<std::int64_t>(size_of(operand.type));
  operand.leading = length;
  if (one_in(2)) operand.leading += number(1, 20);
  if (one_in(2)) operand.leading = (operand.leading + whole - 1) / whole * whole;
  operand.batch_stride = vectors * operand.leading;
  if (batch > 1 && one_in(3)) operand.batch_stride += number(1, 40);
  if (batch > 1 && may_repeat && one_in(5)) operand.batch_stride = 0;
}

double GemmGenerator::element(DataType type, bool exact) {
  if (type == DataType::int8) return static_cast<double>(number(-128, 127));
  if (!is_float8(type)) return uniform();
  if (exact) return static_cast<double>(number(-8, 8)) / 8.0;
  return std::ldexp(uniform(), static_cast<int>(number(-4, 4)));
}

void GemmGenerator::fill(GemmMatrices& matrices, bool special, bool exact) {
  const DataType type = matrices.operand().type;
  matrices.each([&](auto b, auto i, auto j) { matrices.set(b, i, j, element(type, exact)); });
  if (!special || matrices.is_empty()) return;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const double value : {infinity, -infinity, std::numeric_limits<double>::quiet_NaN()}) {
    if (!one_in(2)) continue;
    matrices.set(0, number(0, matrices.rows() - 1), number(0, matrices.columns() - 1), value);
  }
}

std::string GemmGenerator::text(const GemmCase& of, bool special) {
  const GemmProblem& p = of.problem;
  const auto operand = [](const char* name, const GemmMatrices& m) {
    const GemmOperand& o = m.operand();
    return fmt::format("{} {}{} leading {} stride {} shift {}", name, name_of(o.type),
                       o.order == Order::row_major ? "" : " by columns", o.leading, o.batch_stride,
                       (m.first() - GemmMatrices::guard_bytes) / size_of(o.type));
  };
  return fmt::format("{} batch {} precision {}, {}, {}, {}, alpha {} beta {}{}{}{}",
                     shape_text(p.shape), p.batch, static_cast<int>(p.precision),
                     operand("A", of.a), operand("B", of.b), operand("C", of.c), p.alpha, p.beta,
                     !p.has_bias      ? ""
                     : p.bias_per_row ? ", bias per row"
                                      : ", bias per column",
                     p.activation == Activation::none   ? ""
                     : p.activation == Activation::relu ? ", relu"
                                                        : ", gelu",
                     special ? ", with NaN and infinities" : "");
}

std::vector<GemmCase> random_gemms(int count, unsigned seed) {
  GemmGenerator generator(seed);
  std::vector<GemmCase> cases;
  for (int i = 0; i < count; ++i) cases.push_back(generator.next());
  return cases;
}

std::vector<GemmCase> random_gemms_of_8_bits(int count, unsigned seed) {
  GemmGenerator generator(seed);
  std::vector<GemmCase> cases;
  for (int i = 0; i < count; ++i) {
    cases.push_back(generator.filled(generator.problem_of_8_bits()));
  }
  return cases;
}

}  // namespace tilescope::testing
