#include "report/warps_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/format.hpp"

namespace tilescope::report {
namespace {

std::string thread_text(const Dim3& t, const Dim3& block) {
  if (block.z > 1) return fmt::format("({},{},{})", t.x, t.y, t.z);
  if (block.y > 1) return fmt::format("({},{})", t.x, t.y);
  return fmt::format("{}", t.x);
}

}  // namespace

std::string warp_layout(const Dim3& block, int warp_size, std::size_t most) {
  const std::uint64_t warps = gpu::warps_per_block(block, warp_size);
  const auto width = static_cast<std::uint64_t>(warp_size);
  std::string text = fmt::format(
      "A block of {} x {} x {} = {} threads: {} warp{} of {}, x fastest, then y, then z\n", block.x,
      block.y, block.z, format_count(block.count()), warps, warps == 1 ? "" : "s", warp_size);
  for (std::uint64_t warp = 0; warp < warps; ++warp) {
    if (warp >= most && warp + 1 < warps) {
      text += fmt::format("  ... {} more\n", warps - 1 - warp);
      warp = warps - 1;
    }
    const std::uint64_t first = warp * width;
    const std::uint64_t last = std::min(block.count(), first + width) - 1;
    text += fmt::format("  warp {:>3}: threads {} to {}", warp,
                        thread_text(gpu::thread_at(first, block), block),
                        thread_text(gpu::thread_at(last, block), block));
    if (last - first + 1 < width) {
      text += fmt::format("; {} of {} lanes idle for ever", width - (last - first + 1), width);
    }
    text += '\n';
  }
  return text;
}

std::string divergence_text(const gpu::DivergenceCount& count, std::string_view unit) {
  return fmt::format(
      "  {:<26} {}\n  {:<26} {}\n  {:<26} {} of {} {} ({:.1f}%)\n  {:<26} {} all true, {} all "
      "false\n",
      "Blocks", format_count(count.blocks), "Warps", format_count(count.warps), "Diverge",
      format_count(count.divergent), format_count(count.evaluations), unit, 100.0 * count.share(),
      "Agree", format_count(count.all_true), format_count(count.all_false));
}

nlohmann::json divergence_json(const gpu::DivergenceCount& count) {
  return {{"blocks", count.blocks},
          {"warps", count.warps},
          {"evaluations", count.evaluations},
          {"divergent", count.divergent},
          {"divergent_warps", count.divergent_warps},
          {"all_true", count.all_true},
          {"all_false", count.all_false},
          {"divergent_share", count.share()}};
}

}  // namespace tilescope::report
