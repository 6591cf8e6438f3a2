#include "transfer/streamed_operations.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tilescope/reverse.hpp>
#include <tilescope/scale.hpp>
#include <tilescope/vector_add.hpp>

#include "operations/elementwise/elementwise.hpp"
#include "operations/histogram/histogram.hpp"
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

std::byte* element(const ArrayView& list, std::size_t index) {
  return static_cast<std::byte*>(list.mutable_data()) + index * size_of(list.type);
}

/// Copies each result to the place of its elements in `list`.
auto into(const ArrayView& list) {
  return [list](std::size_t first, std::size_t count, const void* result) {
    copy_bytes(element(list, first), result, count * size_of(list.type));
  };
}

/// A list's least or greatest element so far, or its place.
class Extreme {
 public:
  Extreme(const ConstArrayView& x, Reduction reduction) : x_(x), reduction_(reduction) {}

  void take(std::size_t first, double value, std::size_t place) {
    const bool is_first = first == 0;
    const bool beyond = reduction_ == Reduction::min ? value < value_ : value > value_;
    if (is_first || (!std::isnan(value_) && (std::isnan(value) || beyond))) {
      value_ = value;
      place_ = first + place;
    }
  }
  void take_result(std::size_t first, const void* result) {
    if (reduction_ != Reduction::argmax) return take(first, number(x_.type, result), 0);
    std::int64_t place = 0;
    std::memcpy(&place, result, sizeof place);
    const auto here = first + static_cast<std::size_t>(place);
    take(first, number(x_.type, static_cast<const std::byte*>(x_.data) + here * size_of(x_.type)),
         static_cast<std::size_t>(place));
  }
  double value() const { return value_; }
  std::size_t place() const { return place_; }

 private:
  // Exact for every type that a reduction takes.
  static double number(DataType type, const void* value) {
    double wide = 0.0;
    operations::widen({type, 1, value}, 0, {&wide, 1});
    return wide;
  }

  ConstArrayView x_;
  Reduction reduction_;
  double value_ = 0.0;
  std::size_t place_ = 0;
};

template <typename T>
T read(const void* result) {
  T value;
  std::memcpy(&value, result, sizeof value);
  return value;
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
    copy_bytes(element(y, y.count - first - count), result, count * size_of(y.type));
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
  Reduced reduced;
  const DataType type = operations::result_type(x.type, reduction);
  reduced.type = is_floating(type) ? DataType::float64 : DataType::int64;
  Extreme extreme(x, reduction);
  const auto take = [&](std::size_t first, std::size_t, const void* result) {
    if (reduction != Reduction::sum) return extreme.take_result(first, result);
    if (is_floating(type)) {
      reduced.real += read<double>(result);
    } else {
      reduced.integer += read<std::int64_t>(result);
    }
  };
  const auto task = [reduction](const Part& p) {
    return operations::reduction_task(p[0], reduction);
  };
  StreamOptions settings = stream;
  if (reduction == Reduction::sum && is_floating(type) && !settings.link) {
    settings.link = LinkModel{};  // a measured chunk size would make the rounding differ from run
                                  // to run
  }
  reduced.report =
      run_streamed(device, {.inputs = {x}, .task = task, .take = take}, options.variant, settings);
  if (reduction == Reduction::argmax) {
    reduced.integer = static_cast<std::int64_t>(extreme.place());
  } else if (reduction != Reduction::sum) {
    if (is_floating(type)) {
      reduced.real = extreme.value();
    } else {
      reduced.integer = static_cast<std::int64_t>(extreme.value());
    }
  }
  return reduced;
}

}  // namespace tilescope::transfer
