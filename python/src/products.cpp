// tilescope.matmul() for arrays in host memory and on a GPU.
#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <tilescope/device.hpp>
#include <tilescope/gemm.hpp>
#include <tilescope/matmul.hpp>
#include <tilescope/sharded.hpp>

#include "base/errors.hpp"
#include "base/text.hpp"
#include "devices.hpp"
#include "host_matrices.hpp"
#include "interruptible.hpp"
#include "operations/numerics/host_array.hpp"

namespace tilescope::python {
namespace {

struct ProductRequest {
  Precision precision = Precision::automatic;
  Activation activation = Activation::none;
  double alpha = 1.0, beta = 0.0;
  std::string variant, device;
};

/// The precision without a name: that of the elements, which float32 has from fp32_fast. A variant
/// that was named has the library's default, since few have all precisions.
Precision precision_for(const std::optional<std::string>& name, const std::string& variant,
                        const Tensor& a, const Tensor& b, const Tensor& c) {
  if (name) return parse_precision(*name);
  if (!variant.empty()) return Precision::automatic;
  const auto is_double = [](const Tensor* tensor) { return tensor->type() == DataType::float64; };
  if (std::ranges::any_of(std::array{&a, &b, &c}, is_double)) return Precision::fp64;
  // Two operands of one 8-bit type: the library's default is that type's own precision.
  if (a.type() == b.type() && size_of(a.type()) == 1) return Precision::automatic;
  if (a.type() == b.type() && a.type() == DataType::float16) return Precision::fp16;
  if (a.type() == b.type() && a.type() == DataType::bfloat16) return Precision::bf16;
  return Precision::fp32_fast;
}

Activation parse_activation(const std::optional<std::string>& name) {
  if (!name) return Activation::none;
  if (*name == "relu") return Activation::relu;
  if (*name == "gelu") return Activation::gelu;
  throw usage_error("activation {}: expected relu, gelu or None", printable(*name));
}

/// Elements of floating-point type as float32.
std::vector<float> float_values(const Tensor& tensor) {
  if (!is_floating(tensor.type())) {
    throw nb::type_error(fmt::format("{} has elements of type {}; expected floating-point "
                                     "numbers",
                                     tensor.name(), name_of(tensor.type()))
                             .c_str());
  }
  const DenseElements elements(tensor);
  std::vector<double> wide(static_cast<std::size_t>(tensor.count()));
  operations::widen({tensor.type(), wide.size(), elements.data()}, 0, wide);
  return {wide.begin(), wide.end()};
}

/// The bias as float32, as the command takes it.
std::vector<float> bias_values(const Tensor& bias) {
  if (bias.rank() != 1) {
    throw nb::value_error(fmt::format("bias has {} dimensions; expected a list, one value for each "
                                      "column of the product",
                                      bias.rank())
                              .c_str());
  }
  return float_values(bias);
}

/// Factors of an operand: a number, a list (one for each row of A or column of B), or a matrix.
struct ScaleShape {
  std::int64_t rows = 1, columns = 1;

  ScaleShape(const Tensor& scales, bool is_a) {
    if (scales.rank() > 2) {
      throw nb::value_error(
          fmt::format("{} has {} dimensions; expected at most two", scales.name(), scales.rank())
              .c_str());
    }
    if (scales.rank() == 1) (is_a ? rows : columns) = scales.extent(0);
    if (scales.rank() == 2) {
      rows = scales.extent(0);
      columns = scales.extent(1);
    }
    if (rows * columns == 0) {
      throw nb::value_error(fmt::format("{} has no elements", scales.name()).c_str());
    }
  }
};

/// Factors in host memory as float32.
struct HostScales {
  std::vector<float> values = {};
  OperandScales scales = {};

  HostScales(nb::handle given, const char* name, bool is_a) {
    if (given.is_none()) return;
    const Tensor tensor(given, name, Access::read);
    require_on_host(tensor);
    const ScaleShape shape(tensor, is_a);
    values = float_values(tensor);
    scales = {values, shape.rows, shape.columns};
  }
};

MatmulReport multiply_on_host(const Tensor& a, const Tensor& b, const Tensor& c,
                              const std::optional<Tensor>& bias, const HostScales& scale_a,
                              const HostScales& scale_b, const ProductRequest& request) {
  for (const Tensor* tensor : {&a, &b, &c}) require_on_host(*tensor);
  const HostOperand left(a), right(b);
  // A result that may overlap an operand, or whose strides have no order, is computed elsewhere.
  std::optional<MatrixLayout> there = layout_of(c, true);
  std::optional<DenseResult> elsewhere;
  if (!there || c.may_overlap(a) || c.may_overlap(b)) {
    elsewhere.emplace(c, true, request.beta != 0.0);
    there = dense_layout(c, elsewhere->data());
  }
  const MatrixLayout& result = *there;
  const std::vector<float> bias_list = bias ? bias_values(*bias) : std::vector<float>{};
  if (bias && bias_list.empty() && result.first.columns != 0) {
    throw usage_error("the bias has no values: it needs one for each of the {} columns of C",
                      result.first.columns);
  }
  const MatmulOptions options{.variant = request.variant,
                              .precision = request.precision,
                              .alpha = request.alpha,
                              .beta = request.beta,
                              .bias = bias_list,
                              .activation = request.activation,
                              .scale_a = scale_a.scales,
                              .scale_b = scale_b.scales};
  const bool has_several =
      request.device == "all" || request.device.find(',') != request.device.npos;
  if (has_several && c.rank() != 2) {
    throw usage_error("device {}: several devices compute one matrix, not a batch",
                      printable(request.device, 60));
  }
  MatmulReport report;
  run_interruptibly([&](const CancelFlag& cancel) {
    if (has_several) {
      report = matmul_sharded(open_devices(request.device), left.layout().first,
                              right.layout().first, MatrixView{result.first}, options)
                   .product;
      return;
    }
    report =
        matmul_batched(*device_for(request.device, cancel), batch_of(left.layout(), result.count),
                       batch_of(right.layout(), result.count),
                       {MatrixView{result.first}, result.count, result.stride}, options);
  });
  if (elsewhere) elsewhere->store();
  return report;
}

MatmulReport matmul_into(nb::handle a, nb::handle b, nb::handle c,
                         const std::optional<std::string>& precision, nb::handle bias,
                         const std::optional<std::string>& activation, double alpha, double beta,
                         const std::string& variant, const std::string& device, nb::handle scale_a,
                         nb::handle scale_b) {
  const Tensor left(a, "a", Access::read), right(b, "b", Access::read),
      out(c, "out", Access::write);
  const ProductRequest request{.precision = precision_for(precision, variant, left, right, out),
                               .activation = parse_activation(activation),
                               .alpha = alpha,
                               .beta = beta,
                               .variant = variant,
                               .device = device};
  std::optional<Tensor> list;
  if (!bias.is_none()) list.emplace(bias, "bias", Access::read);
  for (const Tensor* tensor : {&left, &right, &out}) require_matrices(*tensor);
  return multiply_on_host(left, right, out, list, HostScales(scale_a, "scale_a", true),
                          HostScales(scale_b, "scale_b", false), request);
}

/// The products on one GPU; they live as long as the process.
Gemm& products_on(int device) {
  static auto& products = *new std::map<int, Gemm>;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  auto found = products.find(device);
  if (found == products.end()) {
    found = products.emplace(device, Gemm(kept_gpu(device))).first;
  }
  return found->second;
}

MatrixLayout layout_on_gpu(const Tensor& first, const Tensor& tensor, bool is_result) {
  require_matrices(tensor);
  require_on_gpu_of(first, tensor);
  const std::optional<MatrixLayout> layout = layout_of(tensor, is_result);
  if (layout) return *layout;
  throw nb::value_error(fmt::format("{} has strides that no matrix has; pass {}.contiguous()",
                                    tensor.name(), tensor.name())
                            .c_str());
}

/// Queues the product on the stream, without a copy and without waiting.
void matmul_on_gpu(nb::handle a, nb::handle b, nb::handle c,
                   const std::optional<std::string>& precision, nb::handle bias,
                   const std::optional<std::string>& activation, double alpha, double beta,
                   const std::string& variant, const GpuQueue& queue, nb::handle scale_a,
                   nb::handle scale_b) {
  const Tensor left = Tensor::on_gpu(a, "a", Access::read, queue),
               right = Tensor::on_gpu(b, "b", Access::read, queue),
               out = Tensor::on_gpu(c, "out", Access::write, queue);
  const int device = left.device_id();
  MatmulOptions options{.variant = variant,
                        .precision = precision_for(precision, variant, left, right, out),
                        .alpha = alpha,
                        .beta = beta,
                        .activation = parse_activation(activation)};
  std::optional<Tensor> list;
  const auto require_floats_there = [&](const Tensor& tensor, bool has_rank) {
    if (has_rank && tensor.type() == DataType::float32 && tensor.is_dense() &&
        tensor.device_id() == device && tensor.on_cuda()) {
      return;
    }
    throw nb::type_error(fmt::format("{}: expected a contiguous {} of float32 on the device of a",
                                     tensor.name(), has_rank ? "array" : "list")
                             .c_str());
  };
  const auto scales_there = [&](nb::handle given, const char* name, bool is_a) {
    if (given.is_none()) return OperandScales{};
    const Tensor tensor = Tensor::on_gpu(given, name, Access::read, queue);
    require_floats_there(tensor, true);
    const ScaleShape scales(tensor, is_a);
    return OperandScales{
        {static_cast<const float*>(tensor.data()), static_cast<std::size_t>(tensor.count())},
        scales.rows,
        scales.columns};
  };
  options.scale_a = scales_there(scale_a, "scale_a", true);
  options.scale_b = scales_there(scale_b, "scale_b", false);
  if (!bias.is_none()) {
    list.emplace(Tensor::on_gpu(bias, "bias", Access::read, queue));
    require_floats_there(*list, list->rank() == 1);
    options.bias = {static_cast<const float*>(list->data()),
                    static_cast<std::size_t>(list->count())};
  }
  const MatrixLayout result = layout_on_gpu(left, out, true);
  const ConstMatrixBatch first = batch_of(layout_on_gpu(left, left, false), result.count),
                         second = batch_of(layout_on_gpu(left, right, false), result.count);
  const nb::gil_scoped_release others_run;
  products_on(device)(first, second, {MatrixView{result.first}, result.count, result.stride},
                      options, queue.native_stream());
}

/// The tensors of a list, named by their places in it.
std::vector<Tensor> tensors_of(const nb::list& list, const char* name, Access access,
                               const GpuQueue* queue) {
  std::vector<Tensor> tensors;
  for (const nb::handle one : list) {
    const std::string place = fmt::format("{}[{}]", name, tensors.size());
    tensors.push_back(queue ? Tensor::on_gpu(one, place.c_str(), access, *queue)
                            : Tensor(one, place.c_str(), access));
    require_matrices(tensors.back());
  }
  return tensors;
}

/// Products of lists of arrays in host memory.
MatmulReport matmul_grouped_into(const nb::list& a, const nb::list& b, const nb::list& c,
                                 const std::optional<std::string>& precision,
                                 const std::optional<std::string>& activation, double alpha,
                                 double beta, const std::string& device) {
  const std::vector<Tensor> left = tensors_of(a, "a", Access::read, nullptr),
                            right = tensors_of(b, "b", Access::read, nullptr),
                            out = tensors_of(c, "out", Access::write, nullptr);
  std::vector<HostOperand> of_a, of_b;
  of_a.reserve(left.size());
  of_b.reserve(right.size());
  std::vector<ConstMatrixView> views_of_a, views_of_b;
  std::vector<MatrixView> views_of_c;
  std::vector<std::unique_ptr<DenseResult>> elsewhere;
  for (std::size_t i = 0; i < out.size(); ++i) {
    for (const Tensor* tensor : {&left[i], &right[i], &out[i]}) require_on_host(*tensor);
    of_a.emplace_back(left[i]);
    of_b.emplace_back(right[i]);
    views_of_a.push_back(of_a.back().layout().first);
    views_of_b.push_back(of_b.back().layout().first);
    // Results lie elsewhere first: any of them may overlap any operand.
    elsewhere.push_back(std::make_unique<DenseResult>(out[i], true, beta != 0.0));
    views_of_c.push_back({dense_layout(out[i], elsewhere.back()->data()).first});
  }
  const MatmulOptions options{
      .precision = precision_for(precision, "", left.front(), right.front(), out.front()),
      .alpha = alpha,
      .beta = beta,
      .activation = parse_activation(activation)};
  MatmulReport report;
  run_interruptibly([&](const CancelFlag& cancel) {
    report =
        matmul_grouped(*device_for(device, cancel), views_of_a, views_of_b, views_of_c, options);
  });
  for (const auto& result : elsewhere) result->store();
  return report;
}

/// The same on a GPU: queued on the stream, in one launch.
void matmul_grouped_on_gpu(const nb::list& a, const nb::list& b, const nb::list& c,
                           const std::optional<std::string>& precision,
                           const std::optional<std::string>& activation, double alpha, double beta,
                           const GpuQueue& queue) {
  const std::vector<Tensor> left = tensors_of(a, "a", Access::read, &queue),
                            right = tensors_of(b, "b", Access::read, &queue),
                            out = tensors_of(c, "out", Access::write, &queue);
  std::vector<ConstMatrixView> views_of_a, views_of_b;
  std::vector<MatrixView> views_of_c;
  for (std::size_t i = 0; i < out.size(); ++i) {
    views_of_a.push_back(layout_on_gpu(left.front(), left[i], false).first);
    views_of_b.push_back(layout_on_gpu(left.front(), right[i], false).first);
    views_of_c.push_back({layout_on_gpu(left.front(), out[i], true).first});
  }
  const MatmulOptions options{
      .precision = precision_for(precision, "", left.front(), right.front(), out.front()),
      .alpha = alpha,
      .beta = beta,
      .activation = parse_activation(activation)};
  const int device = left.front().device_id();
  const nb::gil_scoped_release others_run;
  products_on(device)(views_of_a, views_of_b, views_of_c, options, queue.native_stream());
}

/// A stream of the library's own on a GPU, for packages that have no current one.
const Stream& kept_stream(int device) {
  static auto& kept = *new std::map<int, Stream>;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  auto found = kept.find(device);
  if (found == kept.end()) found = kept.emplace(device, kept_gpu(device)->create_stream()).first;
  return found->second;
}

std::uint64_t own_stream(int device) {
  return kept_stream(device).value();
}

void wait_for_own_stream(int device) {
  const nb::gil_scoped_release others_run;
  kept_gpu(device)->synchronize(kept_stream(device));
}

}  // namespace

void bind_products(nb::module_& module) {
  nb::class_<GpuQueue>(module, "GpuQueue")
      .def(nb::init<bool, std::uintptr_t>(), nb::arg("is_torch"), nb::arg("stream"));
  module.def("own_stream", own_stream, nb::arg("device"));
  module.def("wait_for_own_stream", wait_for_own_stream, nb::arg("device"));
  nb::class_<MatmulReport>(module, "ProductReport")
      .def_ro("variant", &MatmulReport::variant)
      .def_ro("compute_ms", &MatmulReport::compute_ms)
      .def_prop_ro(
          "precision",
          [](const MatmulReport& report) { return std::string(name_of(report.precision)); })
      .def_ro("note", &MatmulReport::note);
  module.def("matmul", matmul_into, nb::arg("a"), nb::arg("b"), nb::arg("out"),
             nb::arg("precision").none(), nb::arg("bias").none(), nb::arg("activation").none(),
             nb::arg("alpha"), nb::arg("beta"), nb::arg("variant"), nb::arg("device"),
             nb::arg("scale_a").none() = nb::none(), nb::arg("scale_b").none() = nb::none());
  module.def("matmul_grouped", matmul_grouped_into, nb::arg("a"), nb::arg("b"), nb::arg("out"),
             nb::arg("precision").none(), nb::arg("activation").none(), nb::arg("alpha"),
             nb::arg("beta"), nb::arg("device"));
  module.def("matmul_grouped_on_gpu", matmul_grouped_on_gpu, nb::arg("a"), nb::arg("b"),
             nb::arg("out"), nb::arg("precision").none(), nb::arg("activation").none(),
             nb::arg("alpha"), nb::arg("beta"), nb::arg("queue"));
  module.def("matmul_on_gpu", matmul_on_gpu, nb::arg("a"), nb::arg("b"), nb::arg("out"),
             nb::arg("precision").none(), nb::arg("bias").none(), nb::arg("activation").none(),
             nb::arg("alpha"), nb::arg("beta"), nb::arg("variant"), nb::arg("queue"),
             nb::arg("scale_a").none() = nb::none(), nb::arg("scale_b").none() = nb::none());
}

}  // namespace tilescope::python
