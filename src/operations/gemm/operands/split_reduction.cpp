#include "operations/gemm/operands/split_reduction.hpp"

#include "operations/gemm/problem/gemm_constants.hpp"
#include "operations/gemm/problem/host_problem.hpp"
#include "operations/rung/kernel_plan.hpp"
#include "operations/rung/kernel_source.hpp"

namespace tilescope::operations {
namespace {

constexpr std::int64_t lanes = 32, rows_of_block = 8;  // as in the kernel

std::int64_t blocks_of(const GemmProblem& problem, std::int64_t columns) {
  return problem.batch * groups_of(problem.shape.m, rows_of_block) *
         groups_of(problem.shape.n, lanes * columns);
}

// Four columns a thread save instructions and keep more loads in flight. A small C would then leave
// SMs without a block.
std::int64_t columns_of_thread(const GemmProblem& problem, const DeviceProperties& device) {
  constexpr std::int64_t most = 4, blocks_of_sm = 2;
  const auto enough = blocks_of_sm * static_cast<std::int64_t>(device.sm_count);
  return blocks_of(problem, most) >= enough ? most : 1;
}

}  // namespace

SplitReduction::SplitReduction(Device& device, const GemmProblem& problem, std::int32_t splits,
                               const RunCondition& condition)
    : device_(device),
      problem_(problem),
      splits_(splits),
      pitch_(groups_of(problem.shape.n, 4) * 4),
      columns_(columns_of_thread(problem, device.properties())),
      condition_(condition) {
  const DataType sum = sum_type(problem.precision);
  const std::int64_t elements = problem.batch * splits * problem.shape.m * pitch_;
  partial_ =
      device.allocate(static_cast<std::size_t>(elements) * size_of(sum), "sums of parts of k");
  KernelRequest request = embedded_request("gemm/reduce_splits.cu");
  request.kernel = "reduce_splits";
  request.defines = epilogue_constants(problem);
  request.defines.emplace_back("SUM", name_of(sum));
  request.defines.push_back(define("COLUMNS", columns_));
  condition.add_to(request.defines);
  kernel_ = device.load(request);
}

void SplitReduction::run(const GemmAddresses& addresses, const Stream& stream) const {
  const GemmProblem& p = problem_;
  Launch launch;
  launch.block = {lanes, rows_of_block};
  launch.grid = {static_cast<std::uint32_t>(groups_of(p.shape.m, rows_of_block)),
                 static_cast<std::uint32_t>(groups_of(p.shape.n, lanes * columns_)),
                 static_cast<std::uint32_t>(p.batch)};
  launch.overlaps_previous = true;
  KernelArguments arguments = KernelArguments::of(
      partial_.address(), addresses.c, addresses.bias, static_cast<std::int32_t>(p.shape.m),
      static_cast<std::int32_t>(p.shape.n), splits_, pitch_, p.c.leading, p.c.batch_stride);
  push_factors(arguments, p);
  arguments.push(condition_.flag);
  device_.launch(kernel_, launch, arguments, stream);
}

void push_parts(KernelArguments& arguments, const SplitReduction* reduction,
                std::int64_t k_of_part) {
  arguments.push(reduction ? reduction->partial() : DeviceAddress{0});
  arguments.push(reduction ? reduction->pitch() : std::int64_t{0});
  arguments.push(static_cast<std::int32_t>(k_of_part));
}

}  // namespace tilescope::operations
