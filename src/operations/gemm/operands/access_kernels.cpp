#include "operations/gemm/operands/access_kernels.hpp"

#include <utility>

#include "operations/gemm/problem/gemm_constants.hpp"

namespace tilescope::operations {

AccessKernels::AccessKernels(Device& device, const GemmProblem& problem, Request request)
    : device_(device), problem_(problem), request_(std::move(request)) {
  of({});
}

const Kernel& AccessKernels::of(const GemmAddresses& addresses) {
  const ChunkAccess access = chunk_access(problem_, addresses);
  auto known = kernels_.find(access);
  if (known == kernels_.end()) {
    known = kernels_.emplace(access, device_.load(request_(access))).first;
  }
  return known->second;
}

KernelArguments operand_arguments(const GemmProblem& p, const GemmAddresses& addresses) {
  const auto extent = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  KernelArguments arguments =
      KernelArguments::of(addresses.a, addresses.b, addresses.c, addresses.bias, extent(p.shape.m),
                          extent(p.shape.n), extent(p.shape.k), p.a.leading, p.b.leading,
                          p.c.leading, p.a.batch_stride, p.b.batch_stride, p.c.batch_stride);
  push_factors(arguments, p);
  return arguments;
}

}  // namespace tilescope::operations
