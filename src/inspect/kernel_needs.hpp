// The resources of an SM that a kernel needs: compiled for a GPU, without running.
#pragma once

#include <optional>
#include <string>
#include <tilescope/gpu/gpu_table.hpp>
#include <tilescope/gpu/occupancy.hpp>
#include <utility>
#include <vector>

#include "operations/registry.hpp"

namespace tilescope::inspect {

struct KernelQuestion {
  std::string what;    ///< "matmul/tiled_16", or a .cu file
  std::string kernel;  ///< in a file with several; may be an instantiation, "name<16>"
  std::vector<std::string> defines;  ///< NAME=VALUE
  std::int64_t threads = 0;          ///< for a file; 0: not given
  std::int64_t dynamic_shared_bytes = 0;
  ProblemOptions problem;  ///< for an operation
};

struct KernelNeedsFound {
  gpu::BlockNeeds needs;
  std::string kernel;  ///< its name
  std::string note;    ///< a remark for the reader; may be empty
};

/// Throws Error(usage) for an unknown operation, variant or kernel, Error(bad_input) for code that
/// does not compile, Error(no_device) without NVRTC.
KernelNeedsFound kernel_needs(const KernelQuestion& question, const gpu::Gpu& gpu);

}  // namespace tilescope::inspect
