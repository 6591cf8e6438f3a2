// The second half of a product whose k was cut: partial sums in device memory, added in order.
#pragma once

#include <tilescope/device.hpp>

#include "operations/gemm/problem/gemm_problem.hpp"
#include "operations/gemm/problem/run_condition.hpp"

namespace tilescope::operations {

class SplitReduction {
 public:
  SplitReduction(Device& device, const GemmProblem& problem, std::int32_t splits,
                 const RunCondition& condition = {});

  /// The target of the multiplying kernel's sums: batch x splits matrices of m rows.
  DeviceAddress partial() const { return partial_.address(); }
  /// Elements between the rows of a partial matrix; rows start at multiples of 16 bytes.
  std::int64_t pitch() const { return pitch_; }

  /// Queues the addition and the epilogue, after the kernel before it in the stream.
  void run(const GemmAddresses& addresses, const Stream& stream) const;

 private:
  Device& device_;
  GemmProblem problem_;
  std::int32_t splits_;
  std::int64_t pitch_;
  std::int64_t columns_;  // of C, for each thread
  RunCondition condition_;
  Buffer partial_;
  Kernel kernel_;
};

/// The last arguments of kernels whose blocks may share k: where the sums of parts go, or nowhere
/// if there is no `reduction`, and the steps of a part.
void push_parts(KernelArguments& arguments, const SplitReduction* reduction,
                std::int64_t k_of_part);

}  // namespace tilescope::operations
