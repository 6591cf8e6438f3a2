#include "transfer/out_of_core_plan.hpp"

#include <algorithm>

#include "base/errors.hpp"
#include "base/format.hpp"

namespace tilescope::transfer {

std::int64_t rounded_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

double device_bytes_of(const MatmulShape& tile, DataType element, int buffers) {
  const auto area = [](std::int64_t x, std::int64_t y) {
    return static_cast<double>(x) * static_cast<double>(y);
  };
  return static_cast<double>(buffers) * static_cast<double>(size_of(element)) *
         (area(tile.m, tile.k) + area(tile.k, tile.n) + area(tile.m, tile.n));
}

namespace {

/// The largest multiple of `step`, at most `extent`, for which `fits`; 0 if not even `step` does.
template <typename Fits>
std::int64_t largest(std::int64_t extent, std::int64_t step, const Fits& fits) {
  std::int64_t low = 0, high = extent / step;
  while (low < high) {
    const std::int64_t middle = (low + high + 1) / 2;
    if (fits(middle * step)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low * step;
}

}  // namespace

OutOfCorePlan plan_out_of_core(const MatmulShape& shape, const MatmulShape& step, DataType element,
                               std::size_t limit, int buffers) {
  const MatmulShape whole{rounded_up(shape.m, step.m), rounded_up(shape.n, step.n),
                          rounded_up(shape.k, step.k)};
  const auto fits = [&](const MatmulShape& tile) {
    return device_bytes_of(tile, element, buffers) <= static_cast<double>(limit);
  };
  if (!fits(step)) {
    throw usage_error(
        "a device-memory limit of {} is below the {} that the smallest tile ({}) takes; raise the "
        "limit",
        format_bytes(limit),
        format_bytes(static_cast<std::uint64_t>(device_bytes_of(step, element, buffers))),
        shape_text(step));
  }
  // Square tiles reuse most: grow both extents together, each up to its whole.
  const auto square = [&](std::int64_t side, std::int64_t k) {
    return MatmulShape{std::min(whole.m, rounded_up(side, step.m)),
                       std::min(whole.n, rounded_up(side, step.n)), k};
  };
  const std::int64_t unit = std::max(step.m, step.n);
  const std::int64_t longest = rounded_up(std::max(whole.m, whole.n), unit);
  MatmulShape tile{};
  if (const std::int64_t side =
          largest(longest, unit, [&](std::int64_t s) { return fits(square(s, whole.k)); })) {
    tile = square(side, whole.k);
  } else {
    // Half of the memory for C keeps the traffic per operation lowest when k must be cut.
    const std::int64_t half_side =
        std::max(unit, largest(longest, unit, [&](std::int64_t s) {
                   return fits(square(s, std::max(step.k, rounded_up(s / 2, step.k))));
                 }));
    tile = square(half_side, step.k);
    if (!fits(tile)) tile = step;
    tile.k = std::max(step.k, largest(whole.k, step.k, [&](std::int64_t k) {
                        return fits({tile.m, tile.n, k});
                      }));
  }
  const auto parts = [](std::int64_t extent, std::int64_t part) {
    return (extent + part - 1) / part;
  };
  // As many tiles, but of equal size: a narrow tile at the edge takes its panels and computes too
  // little meanwhile.
  const auto equal = [&](std::int64_t extent, std::int64_t part, std::int64_t multiple) {
    return std::min(part, rounded_up(parts(extent, parts(extent, part)), multiple));
  };
  if (shape.m > 0) tile.m = equal(shape.m, tile.m, step.m);
  if (shape.n > 0) tile.n = equal(shape.n, tile.n, step.n);
  if (shape.k > 0) tile.k = equal(shape.k, tile.k, step.k);
  OutOfCorePlan plan{.shape = shape, .tile = tile};
  plan.tiles_down = parts(shape.m, tile.m);
  plan.tiles_across = parts(shape.n, tile.n);
  plan.steps = std::max<std::int64_t>(1, parts(shape.k, tile.k));
  plan.device_bytes = static_cast<std::size_t>(device_bytes_of(tile, element, buffers));
  const auto matrix_bytes = [&](std::int64_t x, std::int64_t y) {
    return static_cast<double>(x) * static_cast<double>(y) * static_cast<double>(size_of(element));
  };
  plan.bytes_to_device = matrix_bytes(shape.m, shape.k) *
                             (plan.steps > 1 ? static_cast<double>(plan.tiles_across) : 1) +
                         matrix_bytes(shape.k, shape.n) * static_cast<double>(plan.tiles_down);
  return plan;
}

}  // namespace tilescope::transfer
