// The companion operations.
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
#include "companion_calls.hpp"
#include "devices.hpp"
#include "interruptible.hpp"

namespace tilescope::python {
namespace {

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

const std::uint8_t* pixels(const void* data) {
  return static_cast<const std::uint8_t*>(data);
}

std::uint8_t* pixels(void* data) {
  return static_cast<std::uint8_t*>(data);
}

MatrixView rows_of(const Tensor& tensor, void* data) {
  return {rows_of(tensor, static_cast<const void*>(data))};
}

void saxpb_into(double factor, nb::handle x, double summand, nb::handle y, const Choice& choice) {
  const Tensor in = choice.take(x, "x", Access::read), out = choice.take(y, "out", Access::write);
  require_alike(out, in);
  const SaxpbOptions options{{choice.variant}};
  run_call({"saxpb", {factor, summand}}, choice, {&in}, out,
           {[&](Device& on, const Addresses& from, void* to) {
              saxpb(on, factor, list_of(in, from[0]), summand, list_of(out, to), options);
            },
            [&](Device& on, const Addresses& from, void* to) {
              return prepare_saxpb(on, factor, list_of(in, from[0]), summand, list_of(out, to),
                                   options);
            }});
}

void vector_add_into(nb::handle a, nb::handle b, nb::handle c, const Choice& choice) {
  const Tensor left = choice.take(a, "a", Access::read), right = choice.take(b, "b", Access::read),
               out = choice.take(c, "out", Access::write);
  require_alike(right, left);
  require_alike(out, left);
  const RunOptions options{choice.variant};
  run_call({"vector_add"}, choice, {&left, &right}, out,
           {[&](Device& on, const Addresses& from, void* to) {
              vector_add(on, list_of(left, from[0]), list_of(right, from[1]), list_of(out, to),
                         options);
            },
            [&](Device& on, const Addresses& from, void* to) {
              return prepare_vector_add(on, list_of(left, from[0]), list_of(right, from[1]),
                                        list_of(out, to), options);
            }});
}

void scale_into(nb::handle x, double factor, nb::handle y, const Choice& choice) {
  const Tensor in = choice.take(x, "x", Access::read), out = choice.take(y, "out", Access::write);
  require_alike(out, in);
  const RunOptions options{choice.variant};
  run_call({"scale", {factor}}, choice, {&in}, out,
           {[&](Device& on, const Addresses& from, void* to) {
              scale(on, factor, rows_of(in, from[0]), rows_of(out, to), options);
            },
            [&](Device& on, const Addresses& from, void* to) {
              return prepare_scale(on, factor, rows_of(in, from[0]), rows_of(out, to), options);
            }});
}

void reverse_into(nb::handle x, nb::handle y, const Choice& choice) {
  const Tensor in = choice.take(x, "x", Access::read), out = choice.take(y, "out", Access::write);
  require_rank(in, 1);
  require_alike(out, in);
  const RunOptions options{choice.variant};
  run_call({"reverse"}, choice, {&in}, out,
           {[&](Device& on, const Addresses& from, void* to) {
              reverse(on, list_of(in, from[0]), list_of(out, to), options);
            },
            [&](Device& on, const Addresses& from, void* to) {
              return prepare_reverse(on, list_of(in, from[0]), list_of(out, to), options);
            }});
}

void transpose_into(nb::handle x, nb::handle y, const Choice& choice) {
  const Tensor in = choice.take(x, "x", Access::read), out = choice.take(y, "out", Access::write);
  require_rank(in, 2);
  require_rank(out, 2);
  if (out.type() != in.type() || out.extent(0) != in.extent(1) || out.extent(1) != in.extent(0)) {
    throw nb::value_error(fmt::format("out is {} of {}; expected {} of {}", shape_text(out.shape()),
                                      name_of(out.type()), shape_text({in.extent(1), in.extent(0)}),
                                      name_of(in.type()))
                              .c_str());
  }
  const RunOptions options{choice.variant};
  run_call({"transpose"}, choice, {&in}, out,
           {[&](Device& on, const Addresses& from, void* to) {
              transpose(on, rows_of(in, from[0]), rows_of(out, to), options);
            },
            [&](Device& on, const Addresses& from, void* to) {
              return prepare_transpose(on, rows_of(in, from[0]), rows_of(out, to), options);
            }});
}

void laplacian_into(nb::handle x, nb::handle y, std::int64_t iterations, double center, double side,
                    const Choice& choice) {
  const Tensor in = choice.take(x, "x", Access::read), out = choice.take(y, "out", Access::write);
  require_rank(in, 2);
  require_alike(out, in);
  const LaplacianOptions options{{choice.variant}, iterations, center, side};
  run_call({"laplacian", {static_cast<double>(iterations), center, side}}, choice, {&in}, out,
           {[&](Device& on, const Addresses& from, void* to) {
              laplacian(on, rows_of(in, from[0]), rows_of(out, to), options);
            },
            [&](Device& on, const Addresses& from, void* to) {
              return prepare_laplacian(on, rows_of(in, from[0]), rows_of(out, to), options);
            }});
}

void blur_into(nb::handle image, nb::handle result, int radius, const Choice& choice) {
  const Tensor in = choice.take(image, "image", Access::read),
               out = choice.take(result, "out", Access::write);
  if (in.type() != DataType::uint8) {
    throw nb::type_error(
        fmt::format("image has elements of type {}; blur takes uint8", name_of(in.type())).c_str());
  }
  if (in.rank() != 2 && in.rank() != 3) require_rank(in, 3);
  require_alike(out, in);
  const std::int64_t samples = in.rank() == 3 ? in.extent(2) : 1;
  if (samples < 1 || samples > 4) {
    throw nb::value_error(fmt::format("image has {} channels; expected 1 to 4", samples).c_str());
  }
  const auto channels = static_cast<int>(samples);
  const BlurOptions options{{choice.variant}, radius};
  run_call({"blur", {static_cast<double>(radius)}}, choice, {&in}, out,
           {[&](Device& on, const Addresses& from, void* to) {
              blur(on, pixels(from[0]), pixels(to), in.extent(0), in.extent(1), channels, options);
            },
            [&](Device& on, const Addresses& from, void* to) {
              return prepare_blur(on, pixels(from[0]), pixels(to), in.extent(0), in.extent(1),
                                  channels, options);
            }});
}

nb::object reduced(nb::handle x, const std::string& operation, const Choice& choice) {
  const Reduction reduction = parse_reduction(operation);
  const Tensor in(x, "x", Access::read);
  const DenseElements elements(in);
  Reduced result;
  run_interruptibly([&](const CancelFlag& cancel) {
    result = reduce(*device_for(choice.device, cancel), list_of(in, elements.data()), reduction,
                    {choice.variant});
  });
  return result.type == DataType::int64 ? nb::cast(result.integer) : nb::cast(result.real);
}

/// Throws unless the result's memory, whose elements may have another type of the size, suffices.
void require_bytes(const Tensor& out, DataType type, std::int64_t count) {
  if (out.count() * static_cast<std::int64_t>(size_of(out.type())) ==
      count * static_cast<std::int64_t>(size_of(type))) {
    return;
  }
  throw nb::value_error(fmt::format("out has {} elements of type {}; expected {} of {}",
                                    out.count(), name_of(out.type()), count, name_of(type))
                            .c_str());
}

/// On a GPU: the value goes to `y`.
void reduce_into(nb::handle x, const std::string& operation, nb::handle y, const Choice& choice) {
  const Reduction reduction = parse_reduction(operation);
  const Tensor in = choice.take(x, "x", Access::read), out = choice.take(y, "out", Access::write);
  require_bytes(out, reduced_type(in.type(), reduction), 1);
  run_call({"reduce", {static_cast<double>(reduction)}}, choice, {&in}, out,
           {{}, [&](Device& on, const Addresses& from, void* to) {
              return prepare_reduce(on, list_of(in, from[0]), reduction, to, {choice.variant});
            }});
}

using Range = std::optional<std::pair<double, double>>;

Bins bins_of(std::int64_t count, const Range& range, bool letters) {
  Bins bins{.count = count, .letters = letters};
  if (range) {
    bins.lower = range->first;
    bins.upper = range->second;
  }
  return bins;
}

/// The counts, and the range that was used.
std::pair<std::vector<std::uint64_t>, std::pair<double, double>> counted(
    nb::handle x, std::int64_t bins, const Range& range, bool letters, const Choice& choice) {
  const Tensor in(x, "x", Access::read);
  const DenseElements elements(in);
  HistogramResult result;
  run_interruptibly([&](const CancelFlag& cancel) {
    result = histogram(*device_for(choice.device, cancel), list_of(in, elements.data()),
                       bins_of(bins, range, letters), {choice.variant});
  });
  return {std::move(result.counts), {result.lower, result.upper}};
}

/// On a GPU: the counts go to `y`.
void histogram_into(nb::handle x, std::int64_t bins, const Range& range, bool letters, nb::handle y,
                    const Choice& choice) {
  const Tensor in = choice.take(x, "x", Access::read), out = choice.take(y, "out", Access::write);
  require_bytes(out, histogram_type(static_cast<std::size_t>(in.count())), bins);
  const double is_ranged = range ? 1.0 : 0.0;
  const auto [lower, upper] = range.value_or(std::pair(0.0, 0.0));
  const double number = static_cast<double>(bins), has_letters = letters ? 1.0 : 0.0;
  run_call({"histogram", {number, has_letters, is_ranged, lower, upper}}, choice, {&in}, out,
           {{}, [&](Device& on, const Addresses& from, void* to) {
              return prepare_histogram(on, list_of(in, from[0]), to, bins_of(bins, range, letters),
                                       {choice.variant});
            }});
}

}  // namespace

void bind_companions(nb::module_& module) {
  using nb::arg;
  nb::class_<Choice>(module, "Choice")
      .def(nb::init<std::string, std::string, std::optional<GpuQueue>>(), arg("variant"),
           arg("device"), arg("queue").none())
      .def_ro("queue", &Choice::queue);
  const auto choice = arg("choice");
  module.def("saxpb", saxpb_into, arg("a"), arg("x"), arg("b"), arg("out"), choice);
  module.def("vector_add", vector_add_into, arg("a"), arg("b"), arg("out"), choice);
  module.def("scale", scale_into, arg("x"), arg("factor"), arg("out"), choice);
  module.def("reverse", reverse_into, arg("x"), arg("out"), choice);
  module.def("transpose", transpose_into, arg("x"), arg("out"), choice);
  module.def("laplacian", laplacian_into, arg("x"), arg("out"), arg("iterations"), arg("center"),
             arg("side"), choice);
  module.def("blur", blur_into, arg("image"), arg("out"), arg("radius"), choice);
  module.def("reduce", reduced, arg("x"), arg("op"), choice);
  module.def("reduce_into", reduce_into, arg("x"), arg("op"), arg("out"), choice);
  module.def("histogram", counted, arg("x"), arg("bins"), arg("range").none(), arg("letters"),
             choice);
  module.def("histogram_into", histogram_into, arg("x"), arg("bins"), arg("range").none(),
             arg("letters"), arg("out"), choice);
}

}  // namespace tilescope::python
