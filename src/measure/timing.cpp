#include "measure/timing.hpp"

#include <algorithm>
#include <chrono>

namespace tilescope::measure {
namespace {

int samples_for(double one_ms, const TimingOptions& options) {
  const double affordable = options.budget_ms / std::max(one_ms, 1e-6);
  return static_cast<int>(std::clamp(affordable, static_cast<double>(options.least_samples),
                                     static_cast<double>(options.most_samples)));
}

Timing sorted(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return {std::move(samples)};
}

}  // namespace

double Timing::median_ms() const {
  const std::size_t middle = samples_ms.size() / 2;
  return samples_ms.size() % 2 == 1 ? samples_ms[middle]
                                    : (samples_ms[middle - 1] + samples_ms[middle]) / 2.0;
}

Timing time_on_device(Device& device, const std::function<void(int)>& run,
                      const TimingOptions& options) {
  const Event before = device.create_event(), after = device.create_event();
  constexpr int warm_ups = 2;
  double one_ms = 0.0;
  for (int i = 0; i < warm_ups; ++i) {
    device.record(before);
    run(i);
    device.record(after);
    one_ms = device.elapsed_ms(before, after);
  }
  const int count = samples_for(one_ms, options);
  std::vector<Event> events;
  for (int i = 0; i < 2 * count; ++i) events.push_back(device.create_event());
  if (options.head_start) options.head_start();
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(2 * i);
    device.record(events[at]);
    run(warm_ups + i);
    device.record(events[at + 1]);
  }
  device.synchronize();
  std::vector<double> samples;
  for (std::size_t i = 0; i < events.size(); i += 2) {
    samples.push_back(device.elapsed_ms(events[i], events[i + 1]));
  }
  return sorted(std::move(samples));
}

Timing time_on_host(const std::function<void(int)>& run, const TimingOptions& options) {
  using Clock = std::chrono::steady_clock;
  const auto time_one = [&run](int i) {
    const auto start = Clock::now();
    run(i);
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  };
  const int count = samples_for(time_one(0), options);
  std::vector<double> samples;
  for (int i = 0; i < count; ++i) samples.push_back(time_one(1 + i));
  return sorted(std::move(samples));
}

}  // namespace tilescope::measure
