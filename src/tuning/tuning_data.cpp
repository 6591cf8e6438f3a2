#include "tuning/tuning_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <random>
#include <span>
#include <tilescope/error.hpp>

#include "base/format.hpp"
#include "base/parallel.hpp"
#include "operations/gemm/general/general.hpp"
#include "operations/gemm/problem/accuracy.hpp"
#include "operations/numerics/random.hpp"
#include "operations/rung/operation.hpp"

namespace tilescope::tuning {
namespace {

using operations::GemmOperand;
using operations::GemmProblem;
using operations::HostArray;

constexpr int unwritten = 0xFF;  // in every byte: NaN in all types

std::size_t elements_of(const GemmOperand& operand, std::int64_t rows, std::int64_t columns,
                        std::int64_t batch) {
  const std::int64_t vectors = operand.order == Order::row_major ? rows : columns;
  return static_cast<std::size_t>((batch - 1) * operand.batch_stride + vectors * operand.leading);
}

std::size_t index_of(const GemmOperand& operand, std::int64_t batch, std::int64_t i,
                     std::int64_t j) {
  const std::int64_t within =
      operand.order == Order::row_major ? i * operand.leading + j : i + j * operand.leading;
  return static_cast<std::size_t>(batch * operand.batch_stride + within);
}

double value_at(const HostArray& array, std::size_t i) {
  double value = 0.0;
  operations::widen(array.view(), i, {&value, 1});
  return value;
}

// Reals lie in [-1, 1), integers in [-2, 2].
double random_value(std::mt19937_64& generator, bool integer) {
  if (integer) return static_cast<double>(generator() % 5) - 2.0;
  return static_cast<double>(generator() >> 11U) * 0x1p-52 - 1.0;
}

HostArray random_matrix(DataType type, std::size_t count, bool integers, std::uint64_t seed) {
  HostArray matrix(type, count);
  operations::generate(count, seed, [&](std::mt19937_64& generator, std::size_t i) {
    matrix.set(i, random_value(generator, integers));
  });
  return matrix;
}

double activated(double x, Activation activation) {
  if (activation == Activation::relu) return x < 0.0 ? 0.0 : x;
  if (activation == Activation::gelu) return 0.5 * x * std::erfc(-x * std::sqrt(0.5));
  return x;
}

// The first, the last, and some between them.
std::vector<std::int64_t> samples_of(std::int64_t extent) {
  constexpr std::int64_t most = 40;
  std::vector<std::int64_t> samples;
  const std::int64_t count = std::min(extent, most);
  for (std::int64_t i = 0; i < count; ++i) {
    samples.push_back(count == 1 ? 0 : i * (extent - 1) / (count - 1));
  }
  return samples;
}

// Element (vector v of the samples, p): A's rows or B's columns as the precision multiplies them.
std::vector<double> sampled(const HostArray& array, const GemmProblem& problem, bool of_a,
                            std::int64_t batch, const std::vector<std::int64_t>& samples) {
  const auto k = static_cast<std::size_t>(problem.shape.k);
  std::vector<double> values(samples.size() * k);
  parallel_for(samples.size(), [&](std::size_t v) {
    for (std::size_t p = 0; p < k; ++p) {
      const auto at = static_cast<std::int64_t>(p);
      const std::size_t index = of_a ? index_of(problem.a, batch, samples[v], at)
                                     : index_of(problem.b, batch, at, samples[v]);
      operations::widen_operand(array.view(), problem.precision, index, {&values[v * k + p], 1});
    }
  });
  return values;
}

// The lengths of the rows of A or the columns of B, `k` elements each, matrix after matrix.
// Elements that are neighbours in memory are read together: they belong to one vector if the
// operand's order is `along_k`, else to many.
std::vector<double> norms(const HostArray& array, const GemmOperand& operand, std::int64_t vectors,
                          std::int64_t k, std::int64_t batch, Order along_k) {
  constexpr std::int64_t piece = 256;
  const bool is_along_k = operand.order == along_k;
  const std::int64_t lots = is_along_k ? vectors : (vectors + piece - 1) / piece;
  std::vector<double> sums(static_cast<std::size_t>(vectors * batch));
  parallel_for(static_cast<std::size_t>(lots * batch), [&](std::size_t index) {
    const std::int64_t matrix = static_cast<std::int64_t>(index) / lots;
    const std::int64_t lot = static_cast<std::int64_t>(index) % lots;
    double* const into = sums.data() + matrix * vectors;
    const auto start = [&](std::int64_t line) {
      return static_cast<std::size_t>(matrix * operand.batch_stride + line * operand.leading);
    };
    std::vector<double> values(static_cast<std::size_t>(piece));
    const auto read = [&](std::size_t at, std::int64_t count) {
      const std::span<double> wanted = std::span(values).first(static_cast<std::size_t>(count));
      operations::widen(array.view(), at, wanted);
      return wanted;
    };
    if (is_along_k) {
      for (std::int64_t q = 0; q < k; q += piece) {
        for (const double x :
             read(start(lot) + static_cast<std::size_t>(q), std::min(piece, k - q))) {
          into[lot] += x * x;
        }
      }
    } else {
      const std::int64_t first = lot * piece, count = std::min(piece, vectors - first);
      for (std::int64_t q = 0; q < k; ++q) {
        double* sum = into + first;
        for (const double x : read(start(q) + static_cast<std::size_t>(first), count)) {
          *sum++ += x * x;
        }
      }
    }
  });
  for (double& sum : sums) sum = std::sqrt(sum);
  return sums;
}

}  // namespace

TuningData::TuningData(Device& device, const GemmProblem& problem, std::uint64_t seed)
    : device_(device), problem_(problem), general_(operations::prepare_general(device, problem)) {
  integers_ = made(true, 1, seed);
  const std::size_t bytes = integers_.a.bytes() + integers_.b.bytes() + integers_.c.bytes();
  reals_ = made(false, operations::input_sets(device, bytes), seed + 1);
  measure_magnitudes();
  require_right(integers_, true);
  require_right(reals_, false);
  general_.reset();  // it may have scratch memory
}

TuningData::Set TuningData::made(bool integers, std::size_t copies, std::uint64_t seed) {
  const GemmProblem& p = problem_;
  const MatmulShape& s = p.shape;
  Set set;
  set.a = random_matrix(p.a.type, elements_of(p.a, s.m, s.k, p.batch), integers, 4 * seed);
  set.b = random_matrix(p.b.type, elements_of(p.b, s.k, s.n, p.batch), integers, 4 * seed + 1);
  const std::int64_t biases = !p.has_bias ? 0 : p.bias_per_row ? s.m : s.n;
  set.bias =
      random_matrix(DataType::float32, static_cast<std::size_t>(biases), integers, 4 * seed + 2);
  // Nothing may write between the rows.
  set.c_before = HostArray(p.c.type, elements_of(p.c, s.m, s.n, p.batch));
  std::memset(set.c_before.data(), unwritten, set.c_before.bytes());
  if (p.beta != 0.0) {
    operations::generate(static_cast<std::size_t>(p.batch * s.m), 4 * seed + 3,
                         [&](std::mt19937_64& generator, std::size_t row) {
                           const auto at = static_cast<std::int64_t>(row);
                           for (std::int64_t j = 0; j < s.n; ++j) {
                             set.c_before.set(index_of(p.c, at / s.m, at % s.m, j),
                                              random_value(generator, integers));
                           }
                         });
  }
  for (std::size_t copy = 0; copy < copies; ++copy) {
    const auto put = [&](const HostArray& array, const char* name) {
      set.buffers.push_back(device_.allocate(array.bytes(), name));
      const DeviceAddress to = set.buffers.back().address();
      device_.copy_to_device(to, array.data(), array.bytes());
      return to;
    };
    set.addresses.push_back({.a = put(set.a, "A"),
                             .b = put(set.b, "B"),
                             .c = put(set.c_before, "C"),
                             .bias = put(set.bias, "bias")});
  }
  set.c = result(set, *general_, 0);
  return set;
}

void TuningData::run(operations::GemmRun& run, int i) const {
  run.run(reals_.addresses[static_cast<std::size_t>(i) % reals_.addresses.size()]);
}

HostArray TuningData::result(const Set& set, operations::GemmRun& run, std::size_t copy) const {
  const operations::GemmAddresses& at = set.addresses[copy % set.addresses.size()];
  device_.copy_to_device(at.c, set.c_before.data(), set.c_before.bytes());
  run.run(at);
  device_.synchronize();
  HostArray c(set.c_before.type(), set.c_before.count());
  device_.copy_to_host(c.data(), at.c, c.bytes());
  return c;
}

std::string TuningData::defect_of_integers(operations::GemmRun& run) const {
  return defect(integers_, run, 0, true);
}

std::string TuningData::defect_of_reals(operations::GemmRun& run, int i) const {
  return defect(reals_, run, static_cast<std::size_t>(i), false);
}

// Sums of |a||b| are no larger than the product of the two vectors' lengths.
void TuningData::measure_magnitudes() {
  const MatmulShape& s = problem_.shape;
  row_norms_ = norms(reals_.a, problem_.a, s.m, s.k, problem_.batch, Order::row_major);
  column_norms_ = norms(reals_.b, problem_.b, s.n, s.k, problem_.batch, Order::column_major);
}

// The bound of element `index` of C. Positions between rows have none.
double TuningData::bound(std::size_t index, double value, bool exact) const {
  const GemmProblem& p = problem_;
  constexpr double slope_of_gelu = 1.13;
  // Integers are summed without error. The error of GELU is a share of its argument, which is
  // hardly beyond six standard deviations of such sums.
  if (exact && p.activation != Activation::gelu) return 0.0;
  if (exact) {
    const double argument = 12.0 * std::sqrt(static_cast<double>(p.shape.k)) + std::abs(value);
    return operations::product_bound(p.precision, p.c.type, 0, value, argument);
  }
  const auto at = static_cast<std::int64_t>(index);
  const std::int64_t batch = p.batch > 1 ? at / p.c.batch_stride : 0;
  const std::int64_t within = at - batch * p.c.batch_stride;
  const std::int64_t i = within / p.c.leading, j = within % p.c.leading;
  if (i >= p.shape.m || j >= p.shape.n) return 0.0;
  const double magnitude = std::abs(p.alpha) *
                               row_norms_[static_cast<std::size_t>(batch * p.shape.m + i)] *
                               column_norms_[static_cast<std::size_t>(batch * p.shape.n + j)] +
                           std::abs(p.beta) + (p.has_bias ? 1.0 : 0.0);
  return operations::product_bound(p.precision, p.c.type, p.shape.k, value, magnitude) *
         (p.activation == Activation::gelu ? slope_of_gelu : 1.0);
}

std::string TuningData::defect(const Set& set, operations::GemmRun& run, std::size_t copy,
                               bool exact) const {
  const HostArray c = result(set, run, copy);
  constexpr std::size_t piece = 1 << 16;
  const std::size_t element = size_of(c.type());
  std::atomic<std::size_t> wrong{0}, first{c.count()};
  parallel_for((c.count() + piece - 1) / piece, [&](std::size_t index) {
    const std::size_t start = index * piece, count = std::min(piece, c.count() - start);
    const auto* const got = static_cast<const std::byte*>(c.data()) + start * element;
    const auto* const right = static_cast<const std::byte*>(set.c.data()) + start * element;
    if (std::memcmp(got, right, count * element) == 0) return;
    std::vector<double> values(count), references(count);
    operations::widen(c.view(), start, values);
    operations::widen(set.c.view(), start, references);
    for (std::size_t i = 0; i < count; ++i) {
      if (std::memcmp(got + i * element, right + i * element, element) == 0) continue;
      const double off = std::abs(values[i] - references[i]);
      if (off <= 2.0 * bound(start + i, references[i], exact)) continue;
      ++wrong;
      std::size_t least = first;
      while (start + i < least && !first.compare_exchange_weak(least, start + i)) {
      }
    }
  });
  if (wrong == 0) return {};
  return fmt::format("{} of {} elements are wrong, the first at {}: {:g}, not {:g}",
                     format_count(std::uint64_t{wrong}), format_count(std::uint64_t{c.count()}),
                     first.load(), value_at(c, first), value_at(set.c, first));
}

void TuningData::require_right(const Set& set, bool exact) const {
  const GemmProblem& p = problem_;
  const std::vector<std::int64_t> rows = samples_of(p.shape.m), columns = samples_of(p.shape.n);
  const auto k = static_cast<std::size_t>(p.shape.k);
  for (const std::int64_t batch : {std::int64_t{0}, p.batch - 1}) {
    const std::vector<double> a = sampled(set.a, p, true, batch, rows);
    const std::vector<double> b = sampled(set.b, p, false, batch, columns);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      for (std::size_t q = 0; q < columns.size(); ++q) {
        double sum = 0.0;
        for (std::size_t l = 0; l < k; ++l) sum += a[r * k + l] * b[q * k + l];
        const std::size_t index = index_of(p.c, batch, rows[r], columns[q]);
        double value = p.alpha * sum;
        if (p.beta != 0.0) value += p.beta * value_at(set.c_before, index);
        if (p.has_bias) {
          value +=
              value_at(set.bias, static_cast<std::size_t>(p.bias_per_row ? rows[r] : columns[q]));
        }
        HostArray rounded(p.c.type, 1);
        value = activated(value, p.activation);
        rounded.set(0, value);
        const double got = value_at(set.c, index), right = exact ? value_at(rounded, 0) : value;
        if (std::abs(got - right) <= bound(index, right, exact)) continue;
        throw Error(ErrorKind::wrong_result,
                    fmt::format("nothing is tuned: variant general computes {:g} at row {}, "
                                "column {} of {}, not {:g}",
                                got, rows[r], columns[q], shape_text(p.shape), right));
      }
    }
  }
}

}  // namespace tilescope::tuning
