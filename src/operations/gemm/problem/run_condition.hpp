// Two ways to compute one product, between which the device decides: a flag in its memory, not the
// host, says which kernels do anything, so nobody has to wait for it.
#pragma once

#include <tilescope/device.hpp>

#include "operations/rung/kernel_plan.hpp"

namespace tilescope::operations {

/// The constant RUNS_IF of kernels/gemm/run_condition.cuh.
enum class RunsIf { always, flag_is_clear, flag_is_set };

struct RunCondition {
  RunsIf runs_if = RunsIf::always;
  DeviceAddress flag = 0;  ///< of a 32-bit word; 0 is clear

  bool is_unconditional() const { return runs_if == RunsIf::always; }
  /// Adds RUNS_IF, if the kernel does not always run.
  void add_to(Defines& defines) const {
    if (!is_unconditional()) {
      defines.push_back(define("RUNS_IF", static_cast<std::int64_t>(runs_if)));
    }
  }
};

}  // namespace tilescope::operations
