// tilescope.matmul() for arrays in host memory and on a GPU.
#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <tilescope/device.hpp>
#include <tilescope/gemm.hpp>
#include <tilescope/matmul.hpp>

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

Activation parse_activation(const std::optional<std::string>& name) {
  if (!name) return Activation::none;
  if (*name == "relu") return Activation::relu;
  if (*name == "gelu") return Activation::gelu;
  throw usage_error("activation {}: expected relu, gelu or None", printable(*name));
}

/// The bias as float32, as the command takes it.
std::vector<float> bias_values(const Tensor& bias) {
  if (bias.rank() != 1) {
    throw nb::value_error(fmt::format("bias has {} dimensions; expected a list, one value for each "
                                      "column of the product",
                                      bias.rank())
                              .c_str());
  }
  if (!is_floating(bias.type())) {
    throw nb::type_error(fmt::format("bias has elements of type {}; expected floating-point "
                                     "numbers",
                                     name_of(bias.type()))
                             .c_str());
  }
  const DenseElements elements(bias);
  std::vector<double> wide(static_cast<std::size_t>(bias.count()));
  operations::widen({bias.type(), wide.size(), elements.data()}, 0, wide);
  return {wide.begin(), wide.end()};
}

MatmulReport multiply_on_host(const Tensor& a, const Tensor& b, const Tensor& c,
                              const std::optional<Tensor>& bias, const ProductRequest& request) {
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
  MatmulReport report;
  run_interruptibly([&](const CancelFlag& cancel) {
    report =
        matmul_batched(*device_for(request.device, cancel), batch_of(left.layout(), result.count),
                       batch_of(right.layout(), result.count),
                       {MatrixView{result.first}, result.count, result.stride},
                       {.variant = request.variant,
                        .precision = request.precision,
                        .alpha = request.alpha,
                        .beta = request.beta,
                        .bias = bias_list,
                        .activation = request.activation});
  });
  if (elsewhere) elsewhere->store();
  return report;
}

MatmulReport matmul_into(nb::handle a, nb::handle b, nb::handle c, const std::string& precision,
                         nb::handle bias, const std::optional<std::string>& activation,
                         double alpha, double beta, const std::string& variant,
                         const std::string& device) {
  const ProductRequest request{.precision = parse_precision(precision),
                               .activation = parse_activation(activation),
                               .alpha = alpha,
                               .beta = beta,
                               .variant = variant,
                               .device = device};
  const Tensor left(a, "a", Access::read), right(b, "b", Access::read),
      out(c, "out", Access::write);
  std::optional<Tensor> list;
  if (!bias.is_none()) list.emplace(bias, "bias", Access::read);
  for (const Tensor* tensor : {&left, &right, &out}) require_matrices(*tensor);
  return multiply_on_host(left, right, out, list, request);
}

/// A tensor of the GPU product. CuPy's producer orders its work before that of `stream`.
Tensor tensor_on_gpu(nb::handle object, const char* name, bool is_torch, std::uintptr_t stream) {
  if (is_torch) return Tensor::of_torch(object, name);
  const nb::object capsule = object.attr("__dlpack__")(nb::arg("stream") = stream ? stream : 1);
  return Tensor(capsule, name, Access::write);
}

/// The products on one GPU; they live as long as the process.
Gemm& products_on(int device) {
  static auto& products = *new std::map<int, Gemm>;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  auto found = products.find(device);
  if (found == products.end()) {
    found = products.emplace(device, Gemm(kept_device(fmt::format("cuda:{}", device)))).first;
  }
  return found->second;
}

MatrixLayout layout_on_gpu(const Tensor& tensor, int device, bool is_result) {
  require_matrices(tensor);
  if (!tensor.on_cuda() || tensor.device_id() != device) {
    throw nb::value_error(fmt::format("{} lies on {} and a on cuda:{}; the operands must be on one "
                                      "device",
                                      tensor.name(), tensor.device_text(), device)
                              .c_str());
  }
  const std::optional<MatrixLayout> layout = layout_of(tensor, is_result);
  if (layout) return *layout;
  throw nb::value_error(fmt::format("{} has strides that no matrix has; pass {}.contiguous()",
                                    tensor.name(), tensor.name())
                            .c_str());
}

/// Queues the product on the stream, without a copy and without waiting.
void matmul_on_gpu(nb::handle a, nb::handle b, nb::handle c, const std::string& precision,
                   nb::handle bias, const std::optional<std::string>& activation, double alpha,
                   double beta, const std::string& variant, bool is_torch, std::uintptr_t stream) {
  const Tensor left = tensor_on_gpu(a, "a", is_torch, stream),
               right = tensor_on_gpu(b, "b", is_torch, stream),
               out = tensor_on_gpu(c, "out", is_torch, stream);
  const int device = left.device_id();
  MatmulOptions options{.variant = variant,
                        .precision = parse_precision(precision),
                        .alpha = alpha,
                        .beta = beta,
                        .activation = parse_activation(activation)};
  std::optional<Tensor> list;
  if (!bias.is_none()) {
    list.emplace(tensor_on_gpu(bias, "bias", is_torch, stream));
    if (list->rank() != 1 || list->type() != DataType::float32 || !list->is_dense() ||
        list->device_id() != device || !list->on_cuda()) {
      throw nb::type_error("bias: expected a contiguous list of float32 on the device of a");
    }
    options.bias = {static_cast<const float*>(list->data()),
                    static_cast<std::size_t>(list->count())};
  }
  const MatrixLayout result = layout_on_gpu(out, device, true);
  const ConstMatrixBatch first = batch_of(layout_on_gpu(left, device, false), result.count),
                         second = batch_of(layout_on_gpu(right, device, false), result.count);
  const nb::gil_scoped_release others_run;
  products_on(device)(first, second, {MatrixView{result.first}, result.count, result.stride},
                      options, stream_of(reinterpret_cast<void*>(stream)));
}

}  // namespace

void bind_products(nb::module_& module) {
  nb::class_<MatmulReport>(module, "ProductReport")
      .def_ro("variant", &MatmulReport::variant)
      .def_ro("compute_ms", &MatmulReport::compute_ms)
      .def_prop_ro(
          "precision",
          [](const MatmulReport& report) { return std::string(name_of(report.precision)); })
      .def_ro("note", &MatmulReport::note);
  module.def("matmul", matmul_into, nb::arg("a"), nb::arg("b"), nb::arg("out"),
             nb::arg("precision"), nb::arg("bias").none(), nb::arg("activation").none(),
             nb::arg("alpha"), nb::arg("beta"), nb::arg("variant"), nb::arg("device"));
  module.def("matmul_on_gpu", matmul_on_gpu, nb::arg("a"), nb::arg("b"), nb::arg("out"),
             nb::arg("precision"), nb::arg("bias").none(), nb::arg("activation").none(),
             nb::arg("alpha"), nb::arg("beta"), nb::arg("variant"), nb::arg("is_torch"),
             nb::arg("stream"));
}

}  // namespace tilescope::python
