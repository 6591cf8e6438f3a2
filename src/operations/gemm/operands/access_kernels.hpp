// The kernels of one problem whose copies depend on where rows of its operands begin, and the
// arguments that such kernels begin with.
#pragma once

#include <functional>
#include <map>
#include <tilescope/device.hpp>

#include "operations/gemm/operands/chunk_access.hpp"

namespace tilescope::operations {

class AccessKernels {
 public:
  using Request = std::function<KernelRequest(const ChunkAccess&)>;

  /// Compiles what `request` asks for where addresses are multiples of 16 bytes. Others are rare:
  /// their kernel is compiled when one occurs.
  AccessKernels(Device& device, const GemmProblem& problem, Request request);

  const Kernel& of(const GemmAddresses& addresses);

 private:
  Device& device_;
  GemmProblem problem_;
  Request request_;
  std::map<ChunkAccess, Kernel> kernels_;
};

/// A, B, C and the bias; m, n and k; their pitches, and those of lists; alpha and beta.
KernelArguments operand_arguments(const GemmProblem& problem, const GemmAddresses& addresses);

}  // namespace tilescope::operations
