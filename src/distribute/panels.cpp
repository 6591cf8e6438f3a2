#include "distribute/panels.hpp"

#include <algorithm>

#include "operations/gemm/operands/operand_conversion.hpp"
#include "operations/gemm/product/memory_product.hpp"
#include "operations/gemm/product/recorded_product.hpp"
#include "operations/rung/kernel_plan.hpp"

namespace tilescope::distribute {
namespace {

constexpr std::int64_t panel_unit = 256;  // the widest tile of any kernel

}  // namespace

std::vector<Range> panels_of(std::int64_t columns, std::int64_t least) {
  constexpr std::int64_t parts = 8;
  const std::int64_t width =
      operations::groups_of(std::max(operations::groups_of(columns, parts), least), panel_unit) *
      panel_unit;
  std::vector<Range> panels;
  for (std::int64_t first = 0; first < columns; first += width) {
    panels.push_back({first, std::min(width, columns - first)});
  }
  return panels;
}

std::int64_t least_panel(const operations::DeviceChoice& whole, const operations::GemmProblem& part,
                         const DeviceProperties& device) {
  constexpr std::int64_t elements_of_an_sm = 256 * 128;  // the largest tile
  constexpr double converting_part = 0.02;
  const MatmulShape& s = part.shape;
  if (s.m == 0) return 0;
  std::int64_t least = elements_of_an_sm * device.sm_count / 2 / s.m;
  const auto choice = operations::choose_alike(whole, part, device);
  if (!choice) return least;
  const auto prepare = [&](Device& on) { return operations::prepare_in_memory(on, part, *choice); };
  const auto converted = static_cast<double>(operations::workspace_bytes(device, prepare, {}));
  if (converted == 0.0) return least;
  if (part.precision != Precision::fp32) return s.n;
  const double converting_s = 2.0 * converted / device.peak_bandwidth();
  const double column_s =
      2.0 * static_cast<double>(s.m) * static_cast<double>(s.k) / device.peak_fp32();
  const double columns = converting_s / (converting_part * column_s);
  return std::max(least, static_cast<std::int64_t>(std::min(columns, static_cast<double>(s.n))));
}

operations::GemmOperand panel_operand(const operations::GemmOperand& b, std::int64_t k,
                                      std::int64_t width) {
  return operations::padded_operand({.operand = {.order = b.order}, .rows = k, .columns = width},
                                    b.type, false);
}

}  // namespace tilescope::distribute
