// The kernel for operands at addresses that the copy engine does not take.
#pragma once

#include <memory>
#include <utility>

#include "operations/gemm/general/general.hpp"
#include "operations/gemm/operands/tensor_layout.hpp"

namespace tilescope::operations {

/// Runs a problem by `general` where an operand does not begin at a multiple of 16 bytes, which the
/// copy engine cannot address. Allocators return no such addresses, so speed does not matter here.
class GeneralFallback {
 public:
  GeneralFallback(Device& device, GemmProblem problem)
      : device_(device), problem_(std::move(problem)) {}

  /// Queues the run and returns true if `bits`, the addresses of the copied operands combined by
  /// OR, are not aligned.
  bool run(DeviceAddress bits, const GemmAddresses& addresses, const Stream& stream) {
    if (bits % copy_alignment == 0) return false;
    if (!general_) general_ = prepare_general(device_, problem_);
    general_->run(addresses, stream);
    return true;
  }

 private:
  Device& device_;
  GemmProblem problem_;
  std::unique_ptr<GemmRun> general_;  // made when first needed
};

}  // namespace tilescope::operations
