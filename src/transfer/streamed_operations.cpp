#include "transfer/streamed_operations.hpp"

#include <algorithm>
#include <cstring>
#include <tilescope/reverse.hpp>
#include <tilescope/scale.hpp>
#include <tilescope/vector_add.hpp>

#include "base/errors.hpp"
#include "operations/elementwise/elementwise.hpp"
#include "operations/histogram/histogram.hpp"
#include "operations/numerics/conversion.hpp"
#include "operations/numerics/host_array.hpp"
#include "operations/reduction/reduction.hpp"
#include "operations/reverse/reverse.hpp"

namespace tilescope::transfer {
namespace {

using operations::Task;
using Part = std::vector<ConstArrayView>;

bool in_one_piece(const Device& device, const StreamOptions& stream) {
  return stream.device_bytes == 0 || device.kind() == DeviceKind::cpu;
}

/// Copies each result to the place of its elements in `list`.
auto into(const ArrayView& list) {
  return [list](std::size_t first, std::size_t count, const void* result) {
    copy_bytes(operations::part(list, first, count).mutable_data(), result,
               count * size_of(list.type));
  };
}

template <typename T>
T read(const void* result) {
  T value;
  std::memcpy(&value, result, sizeof value);
  return value;
}

/// An element as a double: exact for every type that a reduction takes.
double number_at(const ConstArrayView& x, std::size_t index) {
  double wide = 0.0;
  operations::widen(x, index, {&wide, 1});
  return wide;
}

/// The contribution of elements [first, first + count) of x, from the result of a reduction's task.
operations::ReducedPart part_of_result(const ConstArrayView& x, std::size_t first,
                                       std::size_t count, Reduction reduction, const void* result) {
  operations::ReducedPart part{.count = count};
  if (reduction == Reduction::argmax) {
    const auto place = first + static_cast<std::size_t>(read<std::int64_t>(result));
    part.value = number_at(x, place);
    part.integer = static_cast<std::int64_t>(place);
  } else if (reduction == Reduction::sum) {
    part.integer = read<std::int64_t>(result);
  } else {
    part.value = number_at({x.type, 1, result}, 0);
  }
  return part;
}

}  // namespace

RunReport saxpb(Device& device, double a, const ConstArrayView& x, double b, const ArrayView& y,
                const SaxpbOptions& options, const StreamOptions& stream) {
  if (in_one_piece(device, stream)) return tilescope::saxpb(device, a, x, b, y, options);
  operations::require_real("saxpb", x);
  operations::require_like("saxpb", x, y);
  const operations::SaxpbProblem problem{
      .a = a, .b = b, .blocks = options.blocks, .iterations = options.iterations};
  const auto task = [problem](const Part& p) { return operations::saxpb_task(p[0], problem); };
  return run_streamed(device, {.inputs = {x}, .task = task, .take = into(y)}, options.variant,
                      stream);
}

RunReport vector_add(Device& device, const ConstArrayView& a, const ConstArrayView& b,
                     const ArrayView& c, const RunOptions& options, const StreamOptions& stream) {
  if (in_one_piece(device, stream)) return tilescope::vector_add(device, a, b, c, options);
  operations::require_real("vector_add", a);
  operations::require_like("vector_add", a, b);
  operations::require_like("vector_add", a, c);
  const auto task = [](const Part& p) { return operations::vector_add_task(p[0], p[1]); };
  return run_streamed(device, {.inputs = {a, b}, .task = task, .take = into(c)}, options.variant,
                      stream);
}

RunReport scale(Device& device, double factor, const ConstMatrixView& in, const MatrixView& out,
                const RunOptions& options, const StreamOptions& stream) {
  if (in_one_piece(device, stream)) return tilescope::scale(device, factor, in, out, options);
  const ConstArrayView from = operations::dense_elements(in, "the picture");
  const ConstArrayView to = operations::dense_elements(out, "the result");
  operations::require_real("scale", from);
  operations::require_like("scale", from, to);
  const std::int64_t columns = in.vector_length();
  const auto task = [=](const Part& p) {
    const auto count = static_cast<std::int64_t>(p[0].count);
    // A chunk that ends within a row is a picture of one row.
    const std::int64_t width = count % columns == 0 ? columns : count;
    return operations::scale_task(p[0], count / width, width, factor);
  };
  return run_streamed(device,
                      {.inputs = {from},
                       .task = task,
                       .granularity = static_cast<std::size_t>(std::max<std::int64_t>(1, columns)),
                       .take = into({to.type, to.count, out.mutable_data()})},
                      options.variant, stream);
}

RunReport reverse(Device& device, const ConstArrayView& x, const ArrayView& y,
                  const RunOptions& options, const StreamOptions& stream) {
  if (in_one_piece(device, stream)) return tilescope::reverse(device, x, y, options);
  operations::require_like("reverse", x, y);
  const auto take = [y](std::size_t first, std::size_t count, const void* result) {
    copy_bytes(operations::part(y, y.count - first - count, count).mutable_data(), result,
               count * size_of(y.type));
  };
  const auto task = [](const Part& p) { return operations::reverse_task(p[0]); };
  return run_streamed(device, {.inputs = {x}, .task = task, .take = take}, options.variant, stream);
}

HistogramResult histogram(Device& device, const ConstArrayView& x, const Bins& bins,
                          const RunOptions& options, const StreamOptions& stream) {
  if (in_one_piece(device, stream)) return tilescope::histogram(device, x, bins, options);
  const operations::Binning binning = operations::make_binning(x.type, bins);
  HistogramResult result{
      .counts = std::vector<std::uint64_t>(static_cast<std::size_t>(binning.bins)),
      .lower = binning.lower,
      .upper = binning.upper,
      .report = {}};
  const auto take = [&result](std::size_t, std::size_t count, const void* counters) {
    const bool wide = operations::counter_type(count) == DataType::uint64;
    for (std::size_t bin = 0; bin < result.counts.size(); ++bin) {
      result.counts[bin] += wide ? static_cast<const std::uint64_t*>(counters)[bin]
                                 : static_cast<const std::uint32_t*>(counters)[bin];
    }
  };
  const auto task = [binning](const Part& p) { return operations::histogram_task(p[0], binning); };
  result.report =
      run_streamed(device, {.inputs = {x}, .task = task, .take = take}, options.variant, stream);
  return result;
}

Reduced reduce(Device& device, const ConstArrayView& x, Reduction reduction,
               const RunOptions& options, const StreamOptions& stream) {
  if (in_one_piece(device, stream) || x.count == 0) {
    return tilescope::reduce(device, x, reduction, options);
  }
  if (x.type != DataType::float32 && x.type != DataType::float64 && x.type != DataType::int32) {
    return tilescope::reduce(device, x, reduction, options);  // it reports what it needs
  }
  const bool is_real_sum = operations::sums_sections(x.type, reduction);
  double sum = 0.0;
  std::vector<operations::ReducedPart> parts;
  const auto take = [&](std::size_t first, std::size_t count, const void* result) {
    if (is_real_sum) {
      sum += read<double>(result);
    } else {
      parts.push_back(part_of_result(x, first, count, reduction, result));
    }
  };
  const auto task = [reduction](const Part& p) {
    return operations::reduction_task(p[0], reduction);
  };
  StreamOptions settings = stream;
  if (is_real_sum && !settings.link) {
    settings.link = LinkModel{};  // a measured chunk size would make the rounding differ from run
                                  // to run
  }
  const RunReport report =
      run_streamed(device, {.inputs = {x}, .task = task, .take = take}, options.variant, settings);
  Reduced reduced;
  reduced.real = sum;
  if (!is_real_sum) reduced = operations::combined(x.type, reduction, parts);
  reduced.report = report;
  return reduced;
}

operations::ReducedPart reduce_part(Device& device, const ConstArrayView& x, std::size_t first,
                                    Reduction reduction, const StreamOptions& stream,
                                    RunReport& report) {
  operations::ReducedPart part{.count = x.count};
  report = {.variant = "none (nothing to compute)"};
  if (x.count == 0) return part;
  if (!operations::sums_sections(x.type, reduction)) {
    const Reduced reduced = reduce(device, x, reduction, {}, stream);
    report = reduced.report;
    part.integer = reduced.integer;
    part.value = is_floating(x.type) ? reduced.real : static_cast<double>(reduced.integer);
    if (reduction == Reduction::argmax) {
      part.value = number_at(x, static_cast<std::size_t>(reduced.integer));
      part.integer += static_cast<std::int64_t>(first);
    }
    return part;
  }
  part.sums.resize(operations::sections_of(x.count));
  if (in_one_piece(device, stream)) {
    report = operations::run_task(device, operations::section_sums_task(x), "", part.sums.data());
    return part;
  }
  const auto task = [](const Part& p) { return operations::section_sums_task(p[0]); };
  const auto take = [&](std::size_t start, std::size_t count, const void* sums) {
    if (start % operations::sum_section != 0) {
      throw usage_error("too little device memory: a sum takes {} elements at a time",
                        operations::sum_section);
    }
    std::memcpy(part.sums.data() + start / operations::sum_section, sums,
                operations::sections_of(count) * sizeof(double));
  };
  report = run_streamed(
      device, {.inputs = {x}, .task = task, .granularity = operations::sum_section, .take = take},
      "", stream);
  return part;
}

}  // namespace tilescope::transfer
