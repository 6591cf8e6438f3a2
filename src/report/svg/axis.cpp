#include "report/svg/axis.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/format.hpp"

namespace tilescope::report {

double Scale::at(double value) const {
  const auto length = [this](double from, double to) {
    return logarithmic ? std::log(to) - std::log(from) : to - from;
  };
  const double whole = length(first, last);
  return whole == 0.0 ? begin : begin + (end - begin) * length(first, value) / whole;
}

std::vector<double> round_ticks(double most) {
  if (!(most > 0.0)) return {0.0};
  constexpr double wanted = 4.0;
  const double unit = std::pow(10.0, std::floor(std::log10(most / wanted)));
  double step = unit;
  for (const double factor : {2.0, 5.0, 10.0}) {
    if (most / step > wanted + 1.0) step = factor * unit;
  }
  std::vector<double> ticks;
  for (double tick = 0.0; tick <= most * 1.0001; tick += step) ticks.push_back(tick);
  return ticks;
}

std::string tick_text(double value) {
  return value == std::floor(value) ? format_count(static_cast<std::int64_t>(value))
                                    : fmt::format("{:.3g}", value);
}

}  // namespace tilescope::report
