// Small networks, trained on measured times by bench/train_plan_networks.py, that correct the
// models of plans for those which these rank first.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace tilescope::operations {

/// The cycles that a model alone expects of a plan, and the properties by which a network tells how
/// far that is wrong.
template <std::size_t Features>
struct TimedFeatures {
  double cycles = 0.0;
  std::array<double, Features> features;
};

/// One layer of rectified units, whose weighted sum is the logarithm of a factor. They read each
/// feature less its mean, over its deviation.
template <std::size_t Features>
struct PlanNetwork {
  static constexpr std::size_t units = 64;

  std::array<float, Features> mean, deviation;
  std::array<std::array<float, Features>, units> weights;
  std::array<float, units> biases, outputs;
  float offset = 0.0F;  ///< beside networks of other kernels, with which it was trained

  /// The measured time over that of the model, beside other plans for the same product: 0.8 to
  /// 1.25.
  double measured_over_expected(const std::array<double, Features>& features) const {
    // Nothing was measured beyond that many.
    constexpr double most_deviations = 3.0, most = 1.25;
    std::array<float, Features> inputs{};
    for (std::size_t i = 0; i < Features; ++i) {
      const double deviations = (features[i] - mean[i]) / deviation[i];
      inputs[i] = static_cast<float>(std::clamp(deviations, -most_deviations, most_deviations));
    }
    float logarithm = offset;
    for (std::size_t unit = 0; unit < units; ++unit) {
      float sum = biases[unit];
      for (std::size_t i = 0; i < Features; ++i) sum += weights[unit][i] * inputs[i];
      logarithm += outputs[unit] * std::max(sum, 0.0F);
    }
    return std::clamp(std::exp(static_cast<double>(logarithm)), 1.0 / most, most);
  }
};

/// Multiplies the cycles of the first of sorted plans by `factor(plan)` and sorts them again; those
/// behind stay behind. Further ones gain next to nothing, and might be first by a network's
/// mistakes: of each product it was trained on little more was measured. The first plan stays the
/// first unless another is expected to gain more than `least_gain`, a part of its time.
template <typename Plan, typename Factor>
void rank_first_again(std::vector<Plan>& sorted, double least_gain, const Factor& factor) {
  constexpr int times_ranked = 8;  // that differ
  const auto is_faster = [](const Plan& one, const Plan& other) {
    return one.cycles < other.cycles;
  };
  int times = 0;
  double last = -1.0;
  auto end = sorted.begin();
  for (; end != sorted.end(); ++end) {
    times += end->cycles != last ? 1 : 0;
    if (times > times_ranked) break;
    last = end->cycles;
    end->cycles *= factor(*end);
  }
  if (end == sorted.begin()) return;
  const auto fastest = std::min_element(sorted.begin(), end, is_faster);
  if (fastest->cycles > (1.0 - least_gain) * sorted.front().cycles) {
    sorted.front().cycles = fastest->cycles;
  }
  std::stable_sort(sorted.begin(), end, is_faster);
  if (end == sorted.end() || !is_faster(*end, *(end - 1))) return;
  const double slowest = (end - 1)->cycles, behind = slowest / end->cycles;
  for (; end != sorted.end(); ++end) end->cycles = std::max(slowest, behind * end->cycles);
}

}  // namespace tilescope::operations
