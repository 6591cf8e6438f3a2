// The companion operations for arrays in host memory.
#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <tilescope/blur.hpp>
#include <tilescope/histogram.hpp>
#include <tilescope/laplacian.hpp>
#include <tilescope/reduction.hpp>
#include <tilescope/reverse.hpp>
#include <tilescope/saxpb.hpp>
#include <tilescope/scale.hpp>
#include <tilescope/transpose.hpp>
#include <tilescope/vector_add.hpp>
#include <utility>

#include "base/errors.hpp"
#include "devices.hpp"
#include "interruptible.hpp"
#include "tensor.hpp"

namespace tilescope::python {
namespace {

/// Where and how an operation runs.
struct Choice {
  std::string variant, device;
};

void require_rank(const Tensor& tensor, std::size_t rank) {
  if (tensor.rank() == rank) return;
  throw nb::value_error(
      fmt::format("{} has {} dimensions; expected {}", tensor.name(), tensor.rank(), rank).c_str());
}

void require_alike(const Tensor& tensor, const Tensor& other) {
  if (tensor.type() != other.type()) {
    throw nb::type_error(fmt::format("{} has elements of type {} and {} of type {}: the two must "
                                     "be alike",
                                     tensor.name(), name_of(tensor.type()), other.name(),
                                     name_of(other.type()))
                             .c_str());
  }
  if (tensor.shape() != other.shape()) {
    throw nb::value_error(fmt::format("{} has shape {} and {} has {}: the two must be alike",
                                      tensor.name(), shape_text(tensor.shape()), other.name(),
                                      shape_text(other.shape()))
                              .c_str());
  }
}

ConstArrayView list_of(const Tensor& tensor, const void* data) {
  return {tensor.type(), static_cast<std::size_t>(tensor.count()), data};
}

ArrayView list_of(const Tensor& tensor, void* data) {
  return {tensor.type(), static_cast<std::size_t>(tensor.count()), data};
}

/// The elements as one matrix of dense rows, the last index fastest.
ConstMatrixView rows_of(const Tensor& tensor, const void* data) {
  if (tensor.rank() == 2) {
    return dense_view(data, tensor.type(), tensor.extent(0), tensor.extent(1));
  }
  const std::int64_t columns = tensor.rank() ? tensor.shape().back() : 1;
  return dense_view(data, tensor.type(), columns ? tensor.count() / columns : 0, columns);
}

MatrixView rows_of(const Tensor& tensor, void* data) {
  return {rows_of(tensor, static_cast<const void*>(data))};
}

/// Runs `compute(device, in, out)` on dense elements of `x` and `out`.
template <typename Compute>
void run_elements(const Tensor& x, const Tensor& out, const Choice& choice,
                  const Compute& compute) {
  const DenseElements in(x);
  DenseResult result(out, out.may_overlap(x));
  run_interruptibly([&](const CancelFlag& cancel) {
    compute(*device_for(choice.device, cancel), in.data(), result.data());
  });
  result.store();
}

void saxpb_into(double factor, nb::handle x, double summand, nb::handle y,
                const std::string& variant, const std::string& device) {
  const Tensor in(x, "x", Access::read), out(y, "out", Access::write);
  require_alike(out, in);
  run_elements(in, out, {variant, device}, [&](Device& on, const void* from, void* to) {
    saxpb(on, factor, list_of(in, from), summand, list_of(out, to), {{variant}});
  });
}

void vector_add_into(nb::handle a, nb::handle b, nb::handle c, const std::string& variant,
                     const std::string& device) {
  const Tensor left(a, "a", Access::read), right(b, "b", Access::read),
      out(c, "out", Access::write);
  require_alike(right, left);
  require_alike(out, left);
  const DenseElements second(right);
  // A result that overlaps the second operand alone gets memory of its own too.
  DenseResult result(out, out.may_overlap(left) || out.may_overlap(right));
  const DenseElements first(left);
  run_interruptibly([&](const CancelFlag& cancel) {
    vector_add(*device_for(device, cancel), list_of(left, first.data()),
               list_of(right, second.data()), list_of(out, result.data()), {variant});
  });
  result.store();
}

void scale_into(nb::handle x, double factor, nb::handle y, const std::string& variant,
                const std::string& device) {
  const Tensor in(x, "x", Access::read), out(y, "out", Access::write);
  require_alike(out, in);
  run_elements(in, out, {variant, device}, [&](Device& on, const void* from, void* to) {
    scale(on, factor, rows_of(in, from), rows_of(out, to), {variant});
  });
}

void reverse_into(nb::handle x, nb::handle y, const std::string& variant,
                  const std::string& device) {
  const Tensor in(x, "x", Access::read), out(y, "out", Access::write);
  require_rank(in, 1);
  require_alike(out, in);
  run_elements(in, out, {variant, device}, [&](Device& on, const void* from, void* to) {
    reverse(on, list_of(in, from), list_of(out, to), {variant});
  });
}

void transpose_into(nb::handle x, nb::handle y, const std::string& variant,
                    const std::string& device) {
  const Tensor in(x, "x", Access::read), out(y, "out", Access::write);
  require_rank(in, 2);
  require_rank(out, 2);
  if (out.type() != in.type() || out.extent(0) != in.extent(1) || out.extent(1) != in.extent(0)) {
    throw nb::value_error(fmt::format("out is {} of {}; expected {} of {}", shape_text(out.shape()),
                                      name_of(out.type()), shape_text({in.extent(1), in.extent(0)}),
                                      name_of(in.type()))
                              .c_str());
  }
  run_elements(in, out, {variant, device}, [&](Device& on, const void* from, void* to) {
    transpose(on, rows_of(in, from), rows_of(out, to), {variant});
  });
}

void laplacian_into(nb::handle x, nb::handle y, std::int64_t iterations, double center, double side,
                    const std::string& variant, const std::string& device) {
  const Tensor in(x, "x", Access::read), out(y, "out", Access::write);
  require_rank(in, 2);
  require_alike(out, in);
  run_elements(in, out, {variant, device}, [&](Device& on, const void* from, void* to) {
    laplacian(on, rows_of(in, from), rows_of(out, to), {{variant}, iterations, center, side});
  });
}

void blur_into(nb::handle image, nb::handle result, int radius, const std::string& variant,
               const std::string& device) {
  const Tensor in(image, "image", Access::read), out(result, "out", Access::write);
  if (in.type() != DataType::uint8) {
    throw nb::type_error(
        fmt::format("image has elements of type {}; blur takes uint8", name_of(in.type())).c_str());
  }
  if (in.rank() != 2 && in.rank() != 3) require_rank(in, 3);
  require_alike(out, in);
  const std::int64_t channels = in.rank() == 3 ? in.extent(2) : 1;
  if (channels < 1 || channels > 4) {
    throw nb::value_error(fmt::format("image has {} channels; expected 1 to 4", channels).c_str());
  }
  run_elements(in, out, {variant, device}, [&](Device& on, const void* from, void* to) {
    blur(on, static_cast<const std::uint8_t*>(from), static_cast<std::uint8_t*>(to), in.extent(0),
         in.extent(1), static_cast<int>(channels), {{variant}, radius});
  });
}

nb::object reduced(nb::handle x, const std::string& operation, const std::string& variant,
                   const std::string& device) {
  const Reduction reduction = parse_reduction(operation);
  const Tensor in(x, "x", Access::read);
  const DenseElements elements(in);
  Reduced result;
  run_interruptibly([&](const CancelFlag& cancel) {
    result =
        reduce(*device_for(device, cancel), list_of(in, elements.data()), reduction, {variant});
  });
  return result.type == DataType::int64 ? nb::cast(result.integer) : nb::cast(result.real);
}

/// The counts, and the range that was used.
std::pair<std::vector<std::uint64_t>, std::pair<double, double>> counted(
    nb::handle x, std::int64_t bins, const std::optional<std::pair<double, double>>& range,
    bool letters, const std::string& variant, const std::string& device) {
  const Tensor in(x, "x", Access::read);
  const DenseElements elements(in);
  Bins wanted{.count = bins, .letters = letters};
  if (range) {
    wanted.lower = range->first;
    wanted.upper = range->second;
  }
  HistogramResult result;
  run_interruptibly([&](const CancelFlag& cancel) {
    result =
        histogram(*device_for(device, cancel), list_of(in, elements.data()), wanted, {variant});
  });
  return {std::move(result.counts), {result.lower, result.upper}};
}

}  // namespace

void bind_companions(nb::module_& module) {
  using nb::arg;
  const auto variant = arg("variant"), device = arg("device");
  module.def("saxpb", saxpb_into, arg("a"), arg("x"), arg("b"), arg("out"), variant, device);
  module.def("vector_add", vector_add_into, arg("a"), arg("b"), arg("out"), variant, device);
  module.def("scale", scale_into, arg("x"), arg("factor"), arg("out"), variant, device);
  module.def("reverse", reverse_into, arg("x"), arg("out"), variant, device);
  module.def("transpose", transpose_into, arg("x"), arg("out"), variant, device);
  module.def("laplacian", laplacian_into, arg("x"), arg("out"), arg("iterations"), arg("center"),
             arg("side"), variant, device);
  module.def("blur", blur_into, arg("image"), arg("out"), arg("radius"), variant, device);
  module.def("reduce", reduced, arg("x"), arg("op"), variant, device);
  module.def("histogram", counted, arg("x"), arg("bins"), arg("range").none(), arg("letters"),
             variant, device);
}

}  // namespace tilescope::python
