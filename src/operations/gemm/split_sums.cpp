#include "operations/gemm/split_sums.hpp"

#include "operations/gemm/constants.hpp"
#include "operations/kernel_plan.hpp"
#include "operations/kernel_source.hpp"

namespace tilescope::operations {

SplitSums::SplitSums(Device& device, const GemmProblem& problem, int splits) : splits_(splits) {
  const std::int64_t rows = std::int64_t{splits} * problem.batch * problem.shape.m;
  memory_ = device.allocate(static_cast<std::size_t>(rows * pitch(problem)) * sizeof(float),
                            "sums of parts of k");
  KernelRequest request = embedded_request("gemm/reduce_splits.cu");
  request.kernel = "reduce_splits";
  request.defines = epilogue_constants(problem);
  kernel_ = device.load(request);
}

std::int64_t SplitSums::pitch(const GemmProblem& problem) {
  return groups_of(problem.shape.n, 4) * 4;
}

void SplitSums::add_up(Device& device, const GemmProblem& problem, const GemmAddresses& addresses,
                       const Stream& stream) const {
  constexpr int threads = 256;
  const MatmulShape& s = problem.shape;
  Launch launch = flat_launch(groups_of(s.m * s.n, threads), threads);
  launch.grid.y = static_cast<std::uint32_t>(problem.batch);
  launch.overlaps_previous = true;
  device.launch(
      kernel_, launch,
      KernelArguments::of(address(), addresses.c, addresses.bias, static_cast<std::int32_t>(s.m),
                          static_cast<std::int32_t>(s.n), splits_, pitch(problem),
                          problem.c.leading, problem.c.batch_stride,
                          static_cast<float>(problem.alpha), static_cast<float>(problem.beta)),
      stream);
}

}  // namespace tilescope::operations
