#include "samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>
#include <numeric>
#include <random>

#include "base/parallel.hpp"
#include "operations/gemm/problem/accuracy.hpp"

namespace tilescope::products {
namespace {

using operations::GemmProblem;

constexpr std::size_t lanes = 32;          // samples that are worked out together
constexpr std::size_t block = 64;          // outputs of one task
constexpr std::int64_t piece = 256;        // steps along k whose operands stay in the cache
constexpr std::size_t register_lanes = 8;  // sums that fit in registers

std::vector<std::int64_t> draw(std::int64_t extent, std::size_t count, std::uint64_t seed) {
  std::vector<std::int64_t> drawn;
  if (extent <= static_cast<std::int64_t>(count)) {
    drawn.resize(static_cast<std::size_t>(extent));
    std::iota(drawn.begin(), drawn.end(), 0);
    return drawn;
  }
  std::mt19937_64 generator(seed);
  while (drawn.size() < count) {
    const auto one = static_cast<std::int64_t>(generator() % static_cast<std::uint64_t>(extent));
    if (std::find(drawn.begin(), drawn.end(), one) == drawn.end()) drawn.push_back(one);
  }
  return drawn;
}

// A or B: a matrix with one extent along k and one along its outputs.
struct Operand {
  const operations::HostArray* array = nullptr;
  std::int64_t outputs = 0, inner = 0;
  bool k_is_contiguous = false;
  Precision precision = Precision::fp32;
  const operations::HostArray* scales = nullptr;  // where `layout` exists
  operations::ScaleLayout layout;

  // Steps [first_k, first_k + count) of `many` outputs from `first`, as tile[output][step].
  void read(std::int64_t first, std::size_t many, std::int64_t first_k, std::size_t count,
            std::vector<double>& tile) const {
    const std::size_t stride = static_cast<std::size_t>(piece);
    const std::size_t pieces = k_is_contiguous ? many : count;
    std::vector<double> line(k_is_contiguous ? count : many);
    for (std::size_t p = 0; p < pieces; ++p) {
      const auto step = static_cast<std::int64_t>(p);
      const std::int64_t at =
          k_is_contiguous ? (first + step) * inner + first_k : (first_k + step) * outputs + first;
      operations::widen_operand(array->view(), precision, static_cast<std::size_t>(at), line);
      for (std::size_t i = 0; i < line.size(); ++i) {
        tile[k_is_contiguous ? p * stride + i : i * stride + p] = line[i];
      }
    }
    if (!layout.exists()) return;
    const std::span<const float> factors = scales->as<float>();
    for (std::size_t o = 0; o < many; ++o) {
      for (std::size_t step = 0; step < count; ++step) {
        const std::int64_t at = layout.place(first + static_cast<std::int64_t>(o),
                                             first_k + static_cast<std::int64_t>(step));
        tile[o * stride + step] *= double(factors[static_cast<std::size_t>(at)]);
      }
    }
  }
};

// sums[o][s] += the sum over steps of tile[o][step] * sampled[step][s], and of its magnitudes.
void add_products(const std::vector<double>& tile, std::size_t outputs, const double* sampled,
                  std::size_t steps, double* values, double* magnitudes) {
  for (std::size_t o = 0; o < outputs; ++o) {
    const double* line = &tile[o * static_cast<std::size_t>(piece)];
    for (std::size_t group = 0; group < lanes; group += register_lanes) {
      double sum[register_lanes] = {}, magnitude[register_lanes] = {};
      for (std::size_t step = 0; step < steps; ++step) {
        const double* with = sampled + step * lanes + group;
        for (std::size_t s = 0; s < register_lanes; ++s) {
          const double product = line[step] * with[s];
          sum[s] += product;
          magnitude[s] += std::abs(product);
        }
      }
      for (std::size_t s = 0; s < register_lanes; ++s) {
        values[o * lanes + group + s] += sum[s];
        magnitudes[o * lanes + group + s] += magnitude[s];
      }
    }
  }
}

// The sampled vectors of one operand as sampled[step][sample], zero where there are fewer.
std::vector<double> gather(const Operand& from, const std::vector<std::int64_t>& samples) {
  std::vector<double> gathered(static_cast<std::size_t>(from.inner) * lanes, 0.0);
  parallel_for(samples.size(), [&](std::size_t s) {
    std::vector<double> tile(static_cast<std::size_t>(piece));
    for (std::int64_t k = 0; k < from.inner; k += piece) {
      const auto count = static_cast<std::size_t>(std::min(piece, from.inner - k));
      from.read(samples[s], 1, k, count, tile);
      for (std::size_t i = 0; i < count; ++i) {
        gathered[(static_cast<std::size_t>(k) + i) * lanes + s] = tile[i];
      }
    }
  });
  return gathered;
}

// Products of every output of `with` and the samples of `sampled`.
void multiply(const Operand& with, const std::vector<double>& sampled, std::vector<double>& values,
              std::vector<double>& magnitudes) {
  const auto outputs = static_cast<std::size_t>(with.outputs);
  values.assign(outputs * lanes, 0.0);
  magnitudes.assign(outputs * lanes, 0.0);
  parallel_for((outputs + block - 1) / block, [&](std::size_t task) {
    const std::size_t first = task * block, many = std::min(block, outputs - first);
    std::vector<double> tile(block * static_cast<std::size_t>(piece));
    for (std::int64_t k = 0; k < with.inner; k += piece) {
      const auto count = static_cast<std::size_t>(std::min(piece, with.inner - k));
      with.read(static_cast<std::int64_t>(first), many, k, count, tile);
      add_products(tile, many, &sampled[static_cast<std::size_t>(k) * lanes], count,
                   &values[first * lanes], &magnitudes[first * lanes]);
    }
  });
}

std::size_t count_not_finite(const ConstArrayView& c) {
  constexpr std::size_t chunk = 1 << 16;
  std::atomic<std::size_t> total{0};
  parallel_for((c.count + chunk - 1) / chunk, [&](std::size_t at) {
    const std::size_t first = at * chunk, end = std::min(c.count, first + chunk);
    std::size_t count = 0;
    const auto count_in = [&](auto word, auto exponent) {
      const auto* words = static_cast<const decltype(word)*>(c.data);
      for (std::size_t i = first; i < end; ++i) count += (words[i] & exponent) == exponent;
    };
    switch (c.type) {
      case DataType::float16:
        count_in(std::uint16_t{}, std::uint16_t{0x7C00});
        break;
      case DataType::bfloat16:
        count_in(std::uint16_t{}, std::uint16_t{0x7F80});
        break;
      case DataType::int32:
        break;
      case DataType::float64:
        count_in(std::uint64_t{}, std::uint64_t{0x7FF0000000000000});
        break;
      default:
        count_in(std::uint32_t{}, std::uint32_t{0x7F800000});
        break;
    }
    total += count;
  });
  return total;
}

}  // namespace

SampledProduct::SampledProduct(const GemmProblem& problem, const HostOperands& operands,
                               std::uint64_t seed)
    : problem_(problem), operands_(operands) {
  static_assert(most == lanes);
  const MatmulShape& s = problem.shape;
  const Operand a{&operands.a,
                  s.m,
                  s.k,
                  problem.a.order == Order::row_major,
                  problem.precision,
                  &operands.scale_a,
                  problem.scale_a};
  const Operand b{&operands.b,
                  s.n,
                  s.k,
                  problem.b.order == Order::column_major,
                  problem.precision,
                  &operands.scale_b,
                  problem.scale_b};
  rows_.samples = draw(s.m, most, seed);
  columns_.samples = draw(s.n, most, seed + 1);
  multiply(b, gather(a, rows_.samples), rows_.values, rows_.magnitudes);
  multiply(a, gather(b, columns_.samples), columns_.values, columns_.magnitudes);
}

void SampledProduct::add_rest(std::int64_t i, std::int64_t j, bool with_bias, double& value,
                              double& magnitude) const {
  const auto add = [&](const operations::HostArray& array, std::int64_t at, double factor) {
    double element = 0.0;
    operations::widen(array.view(), static_cast<std::size_t>(at), {&element, 1});
    value += factor * element;
    magnitude += std::abs(factor * element);
  };
  if (problem_.beta != 0.0) add(operands_.c, i * problem_.shape.n + j, problem_.beta);
  if (with_bias && problem_.has_bias) add(operands_.bias, problem_.bias_per_row ? i : j, 1.0);
}

void SampledProduct::check_side(const ConstArrayView& c, const Side& side, bool rows, double slack,
                                bool with_bias, Accuracy& found) const {
  const MatmulShape& shape = problem_.shape;
  const std::size_t outputs = side.values.size() / lanes;
  constexpr std::size_t chunk = 256;
  std::mutex mutex;
  parallel_for((outputs + chunk - 1) / chunk, [&](std::size_t task) {
    Accuracy part;
    const std::size_t end = std::min(outputs, (task + 1) * chunk);
    for (std::size_t o = task * chunk; o < end; ++o) {
      for (std::size_t sample = 0; sample < side.samples.size(); ++sample) {
        const auto other = static_cast<std::int64_t>(o);
        const std::int64_t i = rows ? side.samples[sample] : other;
        const std::int64_t j = rows ? other : side.samples[sample];
        double got = 0.0;
        operations::widen(c, static_cast<std::size_t>(i * shape.n + j), {&got, 1});
        double value = side.values[o * lanes + sample];
        double magnitude = side.magnitudes[o * lanes + sample];
        add_rest(i, j, with_bias, value, magnitude);
        constexpr std::int64_t additions = 2;
        // Sums of the operands of 8 bits that are drawn here are exact.
        const double own_bound =
            size_of(problem_.a.type) == 1 && problem_.beta == 0.0 && !problem_.has_bias &&
                    !problem_.is_scaled()
                ? operations::result_roundoff(problem_.c.type, value)
                : operations::product_bound(problem_.precision, problem_.c.type,
                                            shape.k + additions, value, magnitude);
        const double bound = own_bound + slack * magnitude;
        const double error = std::abs(got - value);
        ++part.checked;
        if (!(error <= bound) && part.wrong++ == 0) {
          part.first_wrong =
              fmt::format("C[{},{}] is {:.9g}, not {:.9g} within {:.2g}", i, j, got, value, bound);
        }
        if (!std::isfinite(error) || magnitude == 0.0) continue;
        part.largest = std::max(part.largest, error / magnitude);
        part.mean += error / magnitude;
      }
    }
    const std::lock_guard lock(mutex);
    found.checked += part.checked;
    found.wrong += part.wrong;
    if (found.first_wrong.empty()) found.first_wrong = part.first_wrong;
    found.largest = std::max(found.largest, part.largest);
    found.mean += part.mean;
  });
}

void SampledProduct::check(const ConstArrayView& c, double slack, bool with_bias,
                           Accuracy& found) const {
  check_side(c, rows_, true, slack, with_bias, found);
  check_side(c, columns_, false, slack, with_bias, found);
}

SampledBatch::SampledBatch(const GemmProblem& problem, const HostOperands& operands,
                           std::uint64_t seed)
    : elements_(static_cast<std::size_t>(problem.shape.m * problem.shape.n)) {
  constexpr std::size_t most_products = 32;
  if (problem.batch == 1) {
    samples_.push_back({.product = std::make_unique<SampledProduct>(problem, operands, seed)});
    return;
  }
  std::vector<std::int64_t> numbers = draw(problem.batch, most_products, seed);
  numbers.front() = 0;
  numbers.back() = problem.batch - 1;
  GemmProblem single = problem;
  single.batch = 1;
  for (const std::int64_t number : numbers) {
    Sample sample{.number = static_cast<std::size_t>(number),
                  .operands = std::make_unique<HostOperands>()};
    const auto part = [&](const operations::HostArray& all) {
      const std::size_t count = all.count() / static_cast<std::size_t>(problem.batch);
      operations::HostArray one(all.type(), count);
      const auto* const first = static_cast<const std::byte*>(all.data());
      if (count > 0) std::memcpy(one.data(), first + sample.number * one.bytes(), one.bytes());
      return one;
    };
    sample.operands->a = part(operands.a);
    sample.operands->b = part(operands.b);
    sample.operands->c = part(operands.c);
    if (problem.has_bias) {
      sample.operands->bias = operations::HostArray(operands.bias.type(), operands.bias.count());
      std::memcpy(sample.operands->bias.data(), operands.bias.data(), operands.bias.bytes());
    }
    sample.product = std::make_unique<SampledProduct>(single, *sample.operands,
                                                      seed + static_cast<std::uint64_t>(number));
    samples_.push_back(std::move(sample));
  }
}

Accuracy SampledBatch::check(const ConstArrayView& c, double slack, bool with_bias) const {
  Accuracy found;
  for (const Sample& sample : samples_) {
    const auto* const first = static_cast<const std::byte*>(c.data);
    const ConstArrayView one{c.type, elements_,
                             first + sample.number * elements_ * size_of(c.type)};
    sample.product->check(one, slack, with_bias, found);
  }
  if (found.checked) found.mean /= static_cast<double>(found.checked);
  found.not_finite = count_not_finite(c);
  return found;
}

}  // namespace tilescope::products
