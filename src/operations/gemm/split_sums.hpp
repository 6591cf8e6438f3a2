// Products whose k is cut into parts: the memory of the parts' sums, and the kernel that adds them.
#pragma once

#include <cstdint>
#include <tilescope/device.hpp>

#include "operations/gemm/problem.hpp"

namespace tilescope::operations {

class SplitSums {
 public:
  SplitSums() = default;
  /// Memory for batch x splits matrices of m rows, pitch() apart, and
  /// kernels/gemm/reduce_splits.cu.
  SplitSums(Device& device, const GemmProblem& problem, int splits);
  DeviceAddress address() const { return memory_.address(); }
  /// Elements between rows: a multiple of 4, so that 16 bytes can be stored at any fourth column.
  static std::int64_t pitch(const GemmProblem& problem);
  /// C from the sums, as the problem says; queued after the kernel that makes them.
  void add_up(Device& device, const GemmProblem& problem, const GemmAddresses& addresses,
              const Stream& stream) const;

 private:
  int splits_ = 1;
  Buffer memory_;
  Kernel kernel_;
};

}  // namespace tilescope::operations
