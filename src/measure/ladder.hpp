// Every rung of an operation on one device: verified, timed (or, emulated, counted), verified
// again.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <tilescope/device.hpp>
#include <vector>

#include "measure/timing.hpp"
#include "observe/count/counts.hpp"
#include "operations/rung/operation.hpp"

namespace tilescope::measure {

enum class Verdict { ok, wrong, skipped };

/// The name used in tables and JSON: "ok", "wrong", "skipped".
std::string_view name_of(Verdict verdict);

/// The result of one rung. Only verified rungs have figures.
struct RungResult {
  operations::VariantInfo variant;
  Verdict verdict = Verdict::skipped;
  std::string reason;            ///< why skipped or wrong
  std::string note;              ///< such as "padded to 1024 x 1024 x 1024"
  std::optional<Timing> timing;  ///< absent on emulated devices, which have no times
  std::optional<double> max_error;
  double flops_per_second = 0.0;  ///< 0 without a time
  double bytes_per_second = 0.0;  ///< compulsory bytes over time; 0 without a time
  std::optional<Counts> counts;   ///< of one run's kernels, if they were emulated
};

struct LadderOptions {
  std::vector<std::string> only;  ///< names of the rungs to run; empty: all
  TimingOptions timing;
  std::function<void(const RungResult&)> on_result;  ///< called after each rung
  std::function<void(const std::string&)> on_start;  ///< with the rung's name
  /// Becoming true ends the ladder before the next rung, and an emulated launch at once. Null:
  /// never.
  const std::atomic<bool>* cancel = nullptr;
};

/// Climbs the ladder. Rungs that cannot run are skipped with the reason. A rung is "wrong" and has
/// no figures if its result is wrong, before or after timing, or if its rate exceeds the device's
/// peak. Errors of one rung do not stop the others.
std::vector<RungResult> climb(const operations::Operation& operation, Device& device,
                              const LadderOptions& options = {});

}  // namespace tilescope::measure
