#include "operations/gemm/operands/split_reduction.hpp"

#include "operations/gemm/problem/gemm_constants.hpp"
#include "operations/rung/kernel_plan.hpp"
#include "operations/rung/kernel_source.hpp"

namespace tilescope::operations {

SplitReduction::SplitReduction(Device& device, const GemmProblem& problem, std::int32_t splits,
                               const RunCondition& condition)
    : device_(device),
      problem_(problem),
      splits_(splits),
      pitch_(groups_of(problem.shape.n, 4) * 4),
      condition_(condition) {
  const std::int64_t elements = problem.batch * splits * problem.shape.m * pitch_;
  partial_ =
      device.allocate(static_cast<std::size_t>(elements) * sizeof(float), "sums of parts of k");
  KernelRequest request = embedded_request("gemm/reduce_splits.cu");
  request.kernel = "reduce_splits";
  request.defines = epilogue_constants(problem);
  condition.add_to(request.defines);
  kernel_ = device.load(request);
}

void SplitReduction::run(const GemmAddresses& addresses, const Stream& stream) const {
  constexpr std::uint32_t lanes = 32, rows = 8, columns = 128;  // of a block, as in the kernel
  const GemmProblem& p = problem_;
  Launch launch;
  launch.block = {lanes, rows};
  launch.grid = {static_cast<std::uint32_t>(groups_of(p.shape.m, rows)),
                 static_cast<std::uint32_t>(groups_of(p.shape.n, columns)),
                 static_cast<std::uint32_t>(p.batch)};
  launch.overlaps_previous = true;
  device_.launch(kernel_, launch,
                 KernelArguments::of(partial_.address(), addresses.c, addresses.bias,
                                     static_cast<std::int32_t>(p.shape.m),
                                     static_cast<std::int32_t>(p.shape.n), splits_, pitch_,
                                     p.c.leading, p.c.batch_stride, static_cast<float>(p.alpha),
                                     static_cast<float>(p.beta), condition_.flag),
                 stream);
}

}  // namespace tilescope::operations
