// check(), explain() and run() of a whole program.
#pragma once

#include <tilescope/check.hpp>
#include <tilescope/device.hpp>
#include <tilescope/explain.hpp>
#include <tilescope/run.hpp>

namespace tilescope::inspect {

// They throw as run_watched(), and Error(usage) for options that only kernels have.
CheckResult check_program(const Program& program, const Device& device,
                          const InspectOptions& options);
ExplainResult explain_program(const Program& program, const Device& device,
                              const InspectOptions& options);
RunResult run_program(const Program& program, const Device& device, const InspectOptions& options);

}  // namespace tilescope::inspect
