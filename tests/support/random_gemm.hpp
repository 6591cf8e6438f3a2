// Random GEMM problems with their data and a reference, for every kernel that computes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <tilescope/types.hpp>
#include <vector>

#include "operations/gemm/problem/gemm_problem.hpp"

namespace tilescope::testing {

using operations::GemmOperand;
using operations::GemmProblem;

/// An element in memory as a double, and back, rounded once to nearest even.
double load_element(const std::byte* at, DataType type);

void store_element(std::byte* at, DataType type, double value);

/// The matrices of one operand between guards. Guards, gaps between vectors and gaps between
/// matrices are bytes of 0xFF: NaN in every type, so that a value read from there shows.
class GemmMatrices {
 public:
  static constexpr std::size_t guard_bytes = 256;
  static constexpr std::byte guard{0xFF};

  /// `shift` elements lie between the guard, whose end is a multiple of 256, and the matrices.
  GemmMatrices(const GemmOperand& operand, std::int64_t rows, std::int64_t columns,
               std::int64_t batch, std::int64_t shift);

  double get(std::int64_t b, std::int64_t i, std::int64_t j) const {
    return load_element(image_.data() + offset(b, i, j), operand_.type);
  }
  void set(std::int64_t b, std::int64_t i, std::int64_t j, double value) {
    store_element(image_.data() + offset(b, i, j), operand_.type, value);
  }
  template <typename Visit>
  void each(const Visit& visit) const {
    for (std::int64_t b = 0; b < batch_; ++b) {
      for (std::int64_t i = 0; i < rows_; ++i) {
        for (std::int64_t j = 0; j < columns_; ++j) visit(b, i, j);
      }
    }
  }

  /// All bytes, guards included, and where the first element lies in them.
  const std::vector<std::byte>& image() const { return image_; }
  std::vector<std::byte>& image() { return image_; }
  std::size_t first() const { return first_; }
  bool is_empty() const { return rows_ == 0 || columns_ == 0 || batch_ == 0; }
  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  const GemmOperand& operand() const { return operand_; }

  /// Whether the bytes that belong to no element are unchanged.
  bool guards_are_untouched() const;

 private:
  std::size_t offset(std::int64_t b, std::int64_t i, std::int64_t j) const;

  GemmOperand operand_;
  std::int64_t rows_, columns_, batch_;
  std::size_t first_ = 0;
  std::vector<std::byte> image_;
};

/// A problem, its operands, and how they were made.
struct GemmCase {
  GemmProblem problem;
  GemmMatrices a, b, c;
  std::vector<float> bias;
  std::string text;
  bool sums_are_exact = false;  ///< in 14 bits, those of every 128 products
};

/// The right value of an element of C, and the bound on the error of a computed one.
struct GemmExpected {
  double value, bound;
};

/// x as arithmetic of a precision takes it.
double rounded_operand(double x, Precision precision);

/// The relative error of each rounding of a sum in `precision`, at most: `tensor_cores` cut where
/// FMA units round to nearest.
double sum_roundoff(Precision precision, bool tensor_cores);

/// A matrix of A row by row and that of B column by column, as arithmetic takes them: each
/// element is rounded once, not for each sum.
struct RoundedOperands {
  RoundedOperands(const GemmCase& of, std::int64_t matrix);

  std::int64_t b;  ///< the matrix
  std::vector<double> rows_of_a, columns_of_b;
};

/// Element (i, j) of the operands' matrix of C, summed in long double.
GemmExpected expected_element(const GemmCase& of, const RoundedOperands& operands, std::int64_t i,
                              std::int64_t j, bool tensor_cores);

/// The defects of C in `computed`; empty if there is none.
std::string defects(const GemmCase& of, const GemmMatrices& computed, bool tensor_cores);

/// Draws problems of every kind: the same for the same seed.
class GemmGenerator {
 public:
  explicit GemmGenerator(unsigned seed) : generator_(seed) {}

  GemmCase next() { return filled(problem()); }

  /// A problem without its operands.
  GemmProblem problem();

  /// A problem whose operands have 8 bits, without them.
  GemmProblem problem_of_8_bits();

  /// Operands for a problem: uniform in [-1, 1), in one of 16 cases with some NaN and infinities.
  /// 8-bit floats: in half of the cases multiples of 1/8, whose sums are exact; else with exponents
  /// of the whole range. int8: every value.
  GemmCase filled(const GemmProblem& p);

 private:
  std::int64_t number(std::int64_t least, std::int64_t most);
  bool one_in(std::int64_t n) { return number(1, n) == 1; }
  double uniform() { return std::uniform_real_distribution<double>(-1.0, 1.0)(generator_); }
  template <typename T>
  T pick(std::initializer_list<T> from) {
    return from.begin()[number(0, static_cast<std::int64_t>(from.size()) - 1)];
  }
  DataType any_type() {
    return pick({DataType::float16, DataType::bfloat16, DataType::float32, DataType::float64});
  }
  static DataType wider(DataType type) { return size_of(type) == 2 ? DataType::float32 : type; }
  std::int64_t extent();
  // Leading dimensions with and without gaps; whole 16 bytes in half of the cases.
  void place(GemmOperand& operand, std::int64_t rows, std::int64_t columns, std::int64_t batch,
             bool may_repeat);
  double element(DataType type, bool exact);
  void fill(GemmMatrices& matrices, bool special, bool exact = false);

  static std::string text(const GemmCase& of, bool special);

  std::mt19937 generator_;
};

/// The problems at which every GEMM kernel is verified.
std::vector<GemmCase> random_gemms(int count = 200, unsigned seed = 1);

/// The same with operands of 8 bits.
std::vector<GemmCase> random_gemms_of_8_bits(int count = 200, unsigned seed = 1);

}  // namespace tilescope::testing
