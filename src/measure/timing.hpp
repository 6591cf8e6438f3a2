// The time of one run: many samples, summarised by their median and spread.
#pragma once

#include <functional>
#include <tilescope/device.hpp>
#include <vector>

namespace tilescope::measure {

/// Milliseconds of single runs, ascending.
struct Timing {
  std::vector<double> samples_ms;

  double median_ms() const;
  double fastest_ms() const { return samples_ms.front(); }
  double slowest_ms() const { return samples_ms.back(); }
};

/// The amount of measuring.
struct TimingOptions {
  int least_samples = 9;
  int most_samples = 200;
  double budget_ms = 300.0;  ///< no further samples beyond the least after about this time
  /// Queues work that keeps the device busy while the host queues the runs, for runs that take the
  /// device less time than the host; may be empty.
  std::function<void()> head_start;
};

/// Times `run(i)`, i = 0, 1, ..., each of which queues one run on `device`'s default stream: with
/// device events after warm-up, all queued at once so that the previous run hides launch overhead.
Timing time_on_device(Device& device, const std::function<void(int)>& run,
                      const TimingOptions& options = {});

/// Times `run(i)`, which is complete when it returns, by the host's clock, after one warm-up.
Timing time_on_host(const std::function<void(int)>& run, const TimingOptions& options = {});

}  // namespace tilescope::measure
