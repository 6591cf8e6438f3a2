// Problems for the ladder: data of every type, in distributions that suit rungs differently.
#include <fmt/format.h>

#include <cmath>
#include <type_traits>

#include "base/element_types.hpp"
#include "base/errors.hpp"
#include "base/format.hpp"
#include "operations/histogram/histogram.hpp"
#include "operations/numerics/random.hpp"
#include "operations/rung/problem_options.hpp"
#include "operations/rung/task_operation.hpp"

namespace tilescope::operations {
namespace {

// Elements are lower + k * unit, k from 0 to values - 1; the range of the bins is theirs.
struct Values {
  std::int64_t values = 0;
  double lower = 0.0, unit = 1.0;
};

Values values_of(DataType type, std::int64_t bins) {
  constexpr std::int64_t byte_values = 256;
  switch (type) {
    case DataType::uint8:
      return {.values = byte_values};
    case DataType::int8:
      return {.values = byte_values, .lower = -128.0};
    case DataType::int16:
      return {.values = bins, .lower = -std::floor(static_cast<double>(bins) / 2.0)};
    case DataType::float32:
    case DataType::float64:
      return {.values = bins, .unit = 1.0 / static_cast<double>(bins)};
    default:
      return {.values = bins};
  }
}

template <typename T>
void fill(HostArray& array, const Values& v, std::string_view kind, std::uint64_t seed) {
  const std::span<T> elements = array.as<T>();
  const auto values = static_cast<double>(v.values);
  const auto count = static_cast<double>(array.count());
  generate(array.count(), seed, [&](std::mt19937_64& generator, std::size_t i) {
    const double uniform = static_cast<double>(generator() >> 11U) * 0x1p-53;
    double k = std::floor(uniform * values);
    if (kind == "constant") {
      k = std::floor(values / 3.0);
    } else if (kind == "zipf") {
      k = std::floor(std::pow(values, uniform)) - 1.0;  // the k-th has a share of about 1 / k
    } else if (kind == "sorted") {
      k = std::floor(static_cast<double>(i) / count * values);
    }
    elements[i] = static_cast<T>(v.lower + k * v.unit);
  });
}

HostArray make_data(DataType type, std::size_t count, const Values& values, std::string_view kind,
                    std::uint64_t seed) {
  HostArray array(type, count);
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_arithmetic_v<T>) fill<T>(array, values, kind, seed);
  });
  return array;
}

}  // namespace

std::unique_ptr<Operation> make_histogram(const ProblemOptions& options) {
  const std::int64_t count = list_size(options, std::int64_t{1} << 20U);
  const std::int64_t bins = option_in_range("--bins", options.bins, 256, 1, 65536);
  const DataType type =
      !options.type && bins > 256
          ? DataType::uint16
          : type_among("histogram", options.type,
                       {DataType::uint8, DataType::int8, DataType::uint16, DataType::int16,
                        DataType::uint32, DataType::int32, DataType::float32, DataType::float64});
  const Values values = values_of(type, bins);
  if (bins > values.values) {
    throw usage_error("{} has {} values, not {}; use --type uint16", name_of(type), values.values,
                      bins);
  }
  const std::string kind = options.data.value_or("random");
  if (kind != "random" && kind != "constant" && kind != "zipf" && kind != "sorted") {
    throw usage_error("--data {}: random, constant, zipf or sorted", kind);
  }
  const Binning binning = make_binning(
      type, {.count = bins,
             .lower = values.lower,
             .upper = values.lower + static_cast<double>(values.values) * values.unit});
  std::vector<HostArray> inputs;
  inputs.push_back(make_data(type, static_cast<std::size_t>(count), values, kind, options.seed));
  const ConstArrayView x = inputs[0].view();
  return std::make_unique<TaskOperation>(TaskOperation::Parts{
      .inputs = std::move(inputs),
      .task = histogram_task(x, binning),
      .size_text = fmt::format("of {} {} {}, {} bins", format_count(count), kind, name_of(type),
                               format_count(bins)),
      .work = {.bytes = static_cast<double>(x.bytes()), .memory_bound = true},
      .make_expected = [=]() -> std::unique_ptr<Expected> {
        HostArray counts(counter_type(x.count), static_cast<std::size_t>(bins));
        histogram_on_cpu(x, binning, counts.data());
        return std::make_unique<ArrayExpected>(std::move(counts));
      }});
}

}  // namespace tilescope::operations
