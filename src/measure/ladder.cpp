#include "measure/ladder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tilescope/gpu/gpu_table.hpp>

#include "base/format.hpp"
#include "measure/counting.hpp"
#include "measure/verification.hpp"

namespace tilescope::measure {
namespace {

// Clocks may be slightly above the nominal boost. A rate further above the peak means that the work
// was not done.
constexpr double peak_tolerance = 1.05;

std::optional<std::string> above(double rate, double peak, std::string_view unit) {
  if (peak <= 0.0 || rate <= peak_tolerance * peak) return std::nullopt;
  return fmt::format("{} exceeds the chip's peak of {}: the work cannot have been done",
                     format_rate(rate, unit), format_rate(peak, unit));
}

// 0 if unknown.
double peak_flops(const operations::Work& work, const DeviceProperties& device) {
  if (work.rate == "fp32") return device.peak_fp32();
  const gpu::Gpu gpu = gpu::gpu_of_device(device);
  const gpu::MathRate* rate = gpu.rate(work.rate);
  return rate ? rate->flops_per_second : 0.0;
}

std::optional<std::string> above_peak(const RungResult& result, const operations::Work& work,
                                      const Device& device) {
  const DeviceProperties& p = device.properties();
  if (result.variant.on_host || device.kind() != DeviceKind::cuda) return std::nullopt;
  if (auto why = above(result.flops_per_second, peak_flops(work, p), "FLOP/s")) return why;
  // Smaller data may have come out of the cache, even though the runs rotate through copies.
  if (work.bytes < 2.0 * static_cast<double>(p.l2_bytes)) return std::nullopt;
  return above(result.bytes_per_second, p.peak_bandwidth(), "B/s");
}

class Climber {
 public:
  Climber(const operations::Operation& operation, Device& device, const LadderOptions& options)
      : operation_(operation), device_(device), options_(options) {}

  RungResult run(const operations::VariantInfo& variant) {
    RungResult result{.variant = variant};
    if (auto why = operation_.refusal(variant, device_)) {
      result.reason = std::move(*why);
      return result;
    }
    const auto prepared = operation_.prepare(variant, device_);
    result.note = prepared->note();
    if (!verified(*prepared, result, 0, "")) return result;
    const auto run_one = [&prepared](int i) { prepared->run(i); };
    if (variant.on_host || device_.kind() == DeviceKind::cuda) {
      result.timing = variant.on_host ? time_on_host(run_one, options_.timing)
                                      : time_on_device(device_, run_one, options_.timing);
      if (!verified(*prepared, result, 1, " after timing")) return result;
      const operations::Work work = operation_.work();
      const double seconds = result.timing->median_ms() * 1e-3;
      result.flops_per_second = variant.is_copy ? 0.0 : work.flops / seconds;
      result.bytes_per_second = work.bytes / seconds;
      if (auto why = above_peak(result, work, device_)) return wrong(result, std::move(*why));
    }
    result.verdict = Verdict::ok;
    return result;
  }

 private:
  bool verified(operations::Prepared& prepared, RungResult& result, int input_set,
                std::string_view when) {
    const operations::Expected& expected = operation_.expected(result.variant);
    prepared.poison(input_set);
    {
      const LaunchCounter counter(device_, options_.cancel);
      prepared.run(input_set);
      result.counts = counter.result();
    }
    const operations::HostArray output = prepared.output(input_set);
    const Verification v = verify(output, expected);
    if (!v.ok()) {
      wrong(result, describe(v, output, expected) + std::string(when));
      return false;
    }
    result.max_error = std::max(result.max_error.value_or(0.0), v.max_error);
    return true;
  }

  // A wrong rung has no figures: its measurements mean nothing.
  RungResult& wrong(RungResult& result, std::string reason) {
    result.verdict = Verdict::wrong;
    result.reason = std::move(reason);
    result.timing.reset();
    result.counts.reset();
    result.max_error.reset();
    result.flops_per_second = result.bytes_per_second = 0.0;
    return result;
  }

  const operations::Operation& operation_;
  Device& device_;
  const LadderOptions& options_;
};

}  // namespace

std::string_view name_of(Verdict verdict) {
  constexpr std::string_view names[] = {"ok", "wrong", "skipped"};
  return names[static_cast<std::size_t>(verdict)];
}

std::vector<RungResult> climb(const operations::Operation& operation, Device& device,
                              const LadderOptions& options) {
  std::vector<RungResult> results;
  Climber climber(operation, device, options);
  const auto cancelled = [&] {
    return options.cancel != nullptr && options.cancel->load(std::memory_order_relaxed);
  };
  for (const operations::VariantInfo& variant : operation.variants()) {
    if (cancelled()) break;
    if (!options.only.empty() &&
        std::find(options.only.begin(), options.only.end(), variant.name) == options.only.end()) {
      continue;
    }
    if (options.on_start) options.on_start(variant.name);
    RungResult result;
    try {
      result = climber.run(variant);
    } catch (const Error& error) {
      if (cancelled()) break;  // stopped in the middle: there is no result
      // A missing compiler or too little memory is the machine's state, not a wrong result.
      result = {.variant = variant, .verdict = Verdict::skipped, .reason = error.what()};
      if (error.kind() == ErrorKind::wrong_result || error.kind() == ErrorKind::bad_input) {
        result.verdict = Verdict::wrong;
      }
    }
    if (options.on_result) options.on_result(result);
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace tilescope::measure
