#include "operations/gemm/general/general.hpp"

#include <fmt/format.h>

#include "operations/gemm/problem/gemm_constants.hpp"
#include "operations/rung/kernel_plan.hpp"
#include "operations/rung/kernel_source.hpp"

namespace tilescope::operations {
namespace {

// As in the kernel.
constexpr std::int64_t side = 16;
constexpr int threads = side * side;

std::int64_t tiles_of(const GemmProblem& problem, std::int64_t tile) {
  return groups_of(problem.shape.m, tile) * groups_of(problem.shape.n, tile) * problem.batch;
}

class GeneralRun final : public GemmRun {
 public:
  GeneralRun(Device& device, const GemmProblem& problem, const RunCondition& condition)
      : device_(device),
        problem_(problem),
        condition_(condition),
        launch_(
            flat_launch(tiles_of(problem, general_tile(problem, device.properties())), threads)) {
    if (tiles_of(problem, side) > 0) {
      KernelRequest request = general_request(problem, device.properties());
      condition.add_to(request.defines);
      kernel_ = device.load(request);
    }
  }

  void run(const GemmAddresses& addresses, const Stream& stream) override {
    const GemmProblem& p = problem_;
    if (tiles_of(p, side) == 0) return;
    KernelArguments arguments =
        KernelArguments::of(addresses.a, addresses.b, addresses.c, addresses.bias, p.shape.m,
                            p.shape.n, p.shape.k, p.a.leading, p.b.leading, p.c.leading,
                            p.a.batch_stride, p.b.batch_stride, p.c.batch_stride);
    push_factors(arguments, p);
    arguments.push(condition_.flag);
    arguments.push(KernelScales(p.scale_a, addresses.scale_a));
    arguments.push(KernelScales(p.scale_b, addresses.scale_b));
    device_.launch(kernel_, launch_, arguments, stream);
  }

  std::string note() const override {
    return problem_.precision == Precision::fp32_fast ? "computed as fp32" : "";
  }

 private:
  Device& device_;
  GemmProblem problem_;
  RunCondition condition_;
  Launch launch_;
  Kernel kernel_;  // none where C has no elements
};

}  // namespace

std::int64_t general_tile(const GemmProblem& problem, const DeviceProperties& device) {
  for (std::int64_t tile = 4 * side; tile > side; tile /= 2) {
    // A wider tile loads less; on half of the SMs it is still ahead of a narrow one on all.
    if (2 * tiles_of(problem, tile) >= device.sm_count) return tile;
  }
  return side;
}

KernelRequest general_request(const GemmProblem& problem, const DeviceProperties& device) {
  KernelRequest request = embedded_request("gemm/general.cu");
  request.kernel = "gemm";
  request.defines = epilogue_constants(problem);
  const auto text = [&](std::string_view name, std::string_view value) {
    request.defines.emplace_back(name, value);
  };
  const auto by_columns = [](const GemmOperand& operand) {
    return std::int64_t{operand.order == Order::column_major};
  };
  text("A_TYPE", name_of(problem.a.type));
  text("B_TYPE", name_of(problem.b.type));
  text("OPERAND", operand_kind(problem.precision));
  request.defines.push_back(define("A_BY_COLUMNS", by_columns(problem.a)));
  request.defines.push_back(define("B_BY_COLUMNS", by_columns(problem.b)));
  request.defines.push_back(define("SCALED", problem.is_scaled()));
  request.defines.push_back(define("PER_THREAD", general_tile(problem, device) / side));
  return request;
}

std::optional<std::string> general_refusal(const GemmProblem& problem, const DeviceProperties&) {
  // Operands are rounded as they are read, but scaled nowhere.
  if (size_of(operand_type(problem.precision)) == 1) return type_refusal(problem);
  for (const DataType type : {problem.a.type, problem.b.type}) {
    if (!is_floating(type) && !is_float8(type)) {
      return fmt::format("an operand is {}", name_of(type));
    }
  }
  if (!is_floating(problem.c.type)) return fmt::format("C is {}", name_of(problem.c.type));
  return std::nullopt;
}

std::unique_ptr<GemmRun> prepare_general(Device& device, const GemmProblem& problem) {
  return prepare_general(device, problem, {});
}

std::unique_ptr<GemmRun> prepare_general(Device& device, const GemmProblem& problem,
                                         const RunCondition& condition) {
  return std::make_unique<GeneralRun>(device, problem, condition);
}

}  // namespace tilescope::operations
