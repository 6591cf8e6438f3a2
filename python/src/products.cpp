// tilescope.matmul() for arrays in host memory and on a GPU.
#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <tilescope/device.hpp>
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

/// A single matrix beside a batch is multiplied with each of it.
ConstMatrixBatch batch_of(const MatrixLayout& layout, std::int64_t count) {
  return {layout.first, layout.count == 1 ? count : layout.count,
          layout.count == 1 ? 0 : layout.stride};
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
}

}  // namespace tilescope::python
