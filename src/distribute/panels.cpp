#include "distribute/panels.hpp"

#include <algorithm>
#include <numeric>

#include "operations/gemm/operands/operand_conversion.hpp"
#include "operations/gemm/product/memory_product.hpp"
#include "operations/gemm/product/recorded_product.hpp"
#include "operations/rung/kernel_plan.hpp"

namespace tilescope::distribute {
namespace {

constexpr std::int64_t panel_unit = 256;               // the widest tile of any kernel
constexpr std::int64_t elements_of_an_sm = 256 * 128;  // the largest tile

std::size_t converted_bytes(const operations::GemmProblem& part,
                            const operations::DeviceChoice& choice,
                            const DeviceProperties& device) {
  const auto prepare = [&](Device& on) { return operations::prepare_in_memory(on, part, choice); };
  return operations::workspace_bytes(device, prepare, {});
}

}  // namespace

std::vector<Range> panels_of(std::int64_t columns, std::int64_t least, const PanelPlan& plan) {
  const auto width_of = [&](std::int64_t parts) {
    const std::int64_t width = std::max(operations::groups_of(columns, parts), least);
    return operations::groups_of(width, panel_unit) * panel_unit;
  };
  const std::int64_t widest = width_of(plan.widest);
  std::int64_t width = std::min(width_of(plan.first), widest);
  std::vector<Range> panels;
  for (std::int64_t first = 0; first < columns;) {
    const std::int64_t rest = columns - first;
    const bool takes_all = plan.growth > 1 && rest < 2 * width && rest <= widest;
    panels.push_back({first, takes_all ? rest : std::min(width, rest)});
    first = panels.back().end();
    width = std::min(width * plan.growth, widest);
  }
  return panels;
}

std::int64_t piece_of_rows(std::span<const Range> shares, std::int64_t k) {
  constexpr std::int64_t unit = operations::Arrival::unit, least_parts = 4;
  std::int64_t common = 0;
  for (const Range& share : shares) {
    if (share.first < k) common = std::gcd(common, share.first);
  }
  if (common == 0 || common % unit != 0) return 0;
  std::int64_t parts = 1;
  while (common / parts > std::max(k / least_parts, unit) || common / unit % parts != 0) ++parts;
  return common / parts;
}

std::int64_t least_panel(const operations::DeviceChoice& whole, const operations::GemmProblem& part,
                         const DeviceProperties& device) {
  constexpr double converting_part = 0.02;
  const MatmulShape& s = part.shape;
  if (s.m == 0) return 0;
  std::int64_t least = elements_of_an_sm * device.sm_count / 2 / s.m;
  const auto choice = operations::choose_alike(whole, part, device);
  if (!choice) return least;
  const auto converted = static_cast<double>(converted_bytes(part, *choice, device));
  if (converted == 0.0) return least;
  if (part.precision != Precision::fp32) return s.n;
  const double converting_s = 2.0 * converted / device.peak_bandwidth();
  const double column_s =
      2.0 * static_cast<double>(s.m) * static_cast<double>(s.k) / device.peak_fp32();
  const double columns = converting_s / (converting_part * column_s);
  return std::max(least, static_cast<std::int64_t>(std::min(columns, static_cast<double>(s.n))));
}

std::int64_t parts_of_rows(const operations::DeviceChoice& whole,
                           const operations::GemmProblem& panel, const DeviceProperties& device) {
  constexpr std::int64_t most = 4;
  const MatmulShape& s = panel.shape;
  const std::int64_t work = s.m * s.n / (elements_of_an_sm * device.sm_count * 2 / 5);
  const std::int64_t parts = std::min({most, work, s.m / part_unit});
  if (parts < 2) return 1;
  const auto undivided = operations::choose_alike(whole, panel, device);
  if (!undivided) return 1;
  std::size_t converted = 0;
  for (const Range& rows : equal_shares(s.m, parts, part_unit)) {
    operations::GemmProblem part = panel;
    part.shape.m = rows.count;
    const auto choice = operations::choose_alike(whole, part, device);
    if (!choice) return 1;
    converted += converted_bytes(part, *choice, device);
  }
  const std::size_t at_once = converted_bytes(panel, *undivided, device);
  return converted <= at_once + at_once / 16 ? parts : 1;  // rounded up for each
}

std::vector<Piece> pieces_of(std::int64_t parts, std::size_t panels, std::size_t at_once) {
  std::vector<Piece> pieces;
  const std::size_t first = parts > 1 ? std::min(at_once, panels) : 0;
  for (std::int64_t part = 0; part < parts; ++part) {
    for (std::size_t panel = 0; panel < first; ++panel) pieces.push_back({{part, 1}, panel});
  }
  for (std::size_t panel = first; panel < panels; ++panel) pieces.push_back({{0, parts}, panel});
  return pieces;
}

operations::GemmOperand panel_operand(const operations::GemmOperand& b, std::int64_t k,
                                      std::int64_t width) {
  return operations::padded_operand(b.order, k, width, b.type);
}

}  // namespace tilescope::distribute
