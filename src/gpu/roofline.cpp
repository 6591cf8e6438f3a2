#include <algorithm>
#include <cmath>
#include <tilescope/gpu/roofline.hpp>

#include "base/errors.hpp"

namespace tilescope::gpu {

double intensity(double flops, double bytes) {
  if (!(flops >= 0.0) || !std::isfinite(flops)) {
    throw usage_error("{} operations: at least 0", flops);
  }
  if (!(bytes > 0.0) || !std::isfinite(bytes)) {
    throw usage_error("{} bytes of traffic: more than 0", bytes);
  }
  return flops / bytes;
}

double tile_intensity(double rows, double columns, double element_bytes) {
  return intensity(2.0 * rows * columns, (rows + columns) * element_bytes);
}

double Roofline::attainable(double flop_per_byte) const {
  return std::min(flops_per_second, flop_per_byte * bytes_per_second);
}

double Roofline::bandwidth_for_peak(double flop_per_byte) const {
  return flops_per_second / flop_per_byte;
}

Roofline make_roofline(double bytes_per_second, double flops_per_second) {
  const auto require = [](double value, std::string_view what) {
    if (!(value > 0.0) || !std::isfinite(value)) {
      throw usage_error("a {} of {}: it must be more than 0 and finite", what, value);
    }
  };
  require(bytes_per_second, "bandwidth");
  require(flops_per_second, "peak rate");
  return {bytes_per_second, flops_per_second};
}

}  // namespace tilescope::gpu
