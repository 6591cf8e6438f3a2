#include "operations/gemm/product/device_product.hpp"

#include <algorithm>

#include "base/errors.hpp"
#include "operations/gemm/operands/operand_conversion.hpp"
#include "operations/gemm/product/recorded_product.hpp"
#include "operations/numerics/conversion.hpp"
#include "operations/numerics/host_array.hpp"
#include "operations/rung/kernel_plan.hpp"

namespace tilescope::operations {
namespace {

GemmOperand device_operand(const ConstMatrixView& matrix, DataType type, bool repeated) {
  return padded_operand(
      {.operand = {.order = matrix.order}, .rows = matrix.rows, .columns = matrix.columns}, type,
      repeated);
}

GemmProblem device_problem(const HostProblem& problem, bool own_types) {
  const auto repeated = [](const ConstMatrixBatch& batch) {
    return batch.count > 1 && batch.stride == 0;
  };
  const DataType type = operand_type(problem.precision);
  const auto operand = [&](const ConstMatrixBatch& batch) {
    return device_operand(batch.first, own_types ? batch.first.type : type, repeated(batch));
  };
  return {
      .shape = problem.shape(),
      .batch = problem.batch(),
      .precision = problem.precision,
      .a = operand(problem.a),
      .b = operand(problem.b),
      .c = device_operand(problem.c.first,
                          own_types ? problem.c.first.type : sum_type(problem.precision), false),
      .alpha = problem.alpha,
      .beta = problem.beta,
      .has_bias = !problem.bias.empty(),
      .bias_per_row = problem.bias_per_row,
      .activation = problem.activation,
      .scale_a = problem.scale_a,
      .scale_b = problem.scale_b};
}

/// The matrices of a batch in device memory, in the types and with the gaps of an operand.
template <typename Batch>
class DeviceMatrices {
 public:
  DeviceMatrices(Device& device, const Batch& host, const GemmOperand& operand, const char* name)
      : device_(device), host_(host), operand_(operand) {
    const auto elements = (operand.batch_stride == 0 && host.count > 0 ? 1 : host.count) *
                          host.first.vectors() * operand.leading;
    buffer_ = device.allocate(static_cast<std::size_t>(elements) * size_of(operand.type), name,
                              Reach::own);
  }
  DeviceAddress address() const { return buffer_.address(); }

  void upload() {
    each([&](const ConstMatrixView& matrix, DeviceAddress at) {
      const ConvertedMatrix ready(matrix, operand_.type, operand_.order);
      const ConstMatrixView& from = ready.view();
      device_.copy_rows_to_device(at, bytes(operand_.leading), from.data, bytes(from.leading),
                                  bytes(from.vector_length()),
                                  static_cast<std::size_t>(from.vectors()));
    });
  }

  void download() {
    each([&](const MatrixView& matrix, DeviceAddress at) {
      const auto copy = [&](const MatrixView& to) {
        device_.copy_rows_to_host(to.mutable_data(), bytes(to.leading), at, bytes(operand_.leading),
                                  bytes(to.vector_length()),
                                  static_cast<std::size_t>(to.vectors()));
      };
      if (matrix.type == operand_.type) return copy(matrix);
      HostArray storage(operand_.type, static_cast<std::size_t>(matrix.rows * matrix.columns));
      const MatrixView result =
          dense_view(storage.data(), operand_.type, matrix.rows, matrix.columns, matrix.order);
      copy(result);
      convert_matrix(result, matrix);
    });
  }

 private:
  std::size_t bytes(std::int64_t elements) const {
    return static_cast<std::size_t>(elements) * size_of(operand_.type);
  }
  template <typename Visit>
  void each(const Visit& visit) {
    if (host_.first.empty()) return;
    for (std::int64_t i = 0; i < host_.count; ++i) {
      visit(matrix_of(host_, i), buffer_.address() + bytes(i * operand_.batch_stride));
      if (operand_.batch_stride == 0) break;
    }
  }

  Device& device_;
  Batch host_;
  GemmOperand operand_;
  Buffer buffer_;
};

}  // namespace

DeviceChoice choose_variant(const HostProblem& problem, const Device& device,
                            const std::string& name) {
  const DeviceProperties& properties = device.properties();
  const GemmProblem own = device_problem(problem, true), converted = device_problem(problem, false);
  if (!name.empty()) {
    const GemmVariant& variant = gemm_variant(name);
    if (!variant.refusal(own, properties)) return {{.variant = &variant}, own};
    const auto why = variant.refusal(converted, properties);
    if (!why) return {{.variant = &variant}, converted};
    throw usage_error("variant {}: {}", name, *why);
  }
  DeviceChoice choice = choose_by_model(problem, properties);
  if (auto tuned = tuned_choice(choice.problem, device)) choice.kernel = *std::move(tuned);
  return choice;
}

DeviceChoice choose_by_model(const HostProblem& problem, const DeviceProperties& device) {
  // Operands in their own types need no conversion on the host. `general` takes all of them; a
  // faster kernel may need the precision's own.
  const GemmProblem own = device_problem(problem, true), converted = device_problem(problem, false);
  const GemmVariant& best = best_gemm_variant(own, device);
  const GemmVariant& best_converted = best_gemm_variant(converted, device);
  // The table is in the order of the ladder: later rows are faster.
  if (&best_converted > &best) return {{.variant = &best_converted}, converted};
  return {{.variant = &best}, own};
}

MatmulReport multiply_on_device(Device& device, const HostProblem& problem,
                                const DeviceChoice& choice) {
  DeviceMatrices<ConstMatrixBatch> a(device, problem.a, choice.problem.a, "A");
  DeviceMatrices<ConstMatrixBatch> b(device, problem.b, choice.problem.b, "B");
  DeviceMatrices<MatrixBatch> c(device, problem.c, choice.problem.c, "C");
  const Buffer bias = device.allocate(problem.bias.size_bytes(), "bias", Reach::own);
  const auto uploaded = [&](const float* scales, const ScaleLayout& layout) {
    const auto bytes = static_cast<std::size_t>(layout.count) * sizeof(float);
    Buffer buffer = device.allocate(bytes, "scales", Reach::own);
    device.copy_to_device(buffer.address(), scales, bytes);
    return buffer;
  };
  const Buffer scale_a = uploaded(problem.scales_of_a, problem.scale_a);
  const Buffer scale_b = uploaded(problem.scales_of_b, problem.scale_b);
  a.upload();
  b.upload();
  if (problem.beta != 0.0) c.upload();
  device.copy_to_device(bias.address(), problem.bias.data(), problem.bias.size_bytes());

  RecordedProduct product(device,
                          [&](Device& on) { return choice.kernel.prepare(on, choice.problem); });
  product.bind({.a = a.address(),
                .b = b.address(),
                .c = c.address(),
                .bias = bias.address(),
                .scale_a = scale_a.address(),
                .scale_b = scale_b.address()});
  const Event before = device.create_event(), after = device.create_event();
  device.record(before);
  product.launch();
  device.record(after);
  const double elapsed = device.elapsed_ms(before, after);
  c.download();
  return {.variant = std::string(choice.kernel.variant->name),
          .compute_ms = elapsed,
          .precision = problem.precision,
          .note = choice.kernel.explained(product.note())};
}

}  // namespace tilescope::operations
