#include "report/memories_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/format.hpp"
#include "report/wrap.hpp"

namespace tilescope::report {
namespace {

using gpu::LevelCost;
using gpu::MemoryLevel;
using gpu::MemorySpace;

const LevelCost* find(const std::vector<LevelCost>& costs, MemoryLevel level) {
  for (const LevelCost& cost : costs) {
    if (cost.level == level) return &cost;
  }
  return nullptr;
}

std::string cycles_of(const std::vector<LevelCost>& costs, MemoryLevel level) {
  const LevelCost* cost = find(costs, level);
  return cost == nullptr || cost->latency_cycles == 0.0
             ? "?"
             : fmt::format("{:.0f}", cost->latency_cycles);
}

std::string_view words(MemoryLevel level) {
  return level == MemoryLevel::constant_cache ? "constant cache" : name_of(level);
}

}  // namespace

std::string memories_text(const std::string& machine, const std::vector<LevelCost>& costs) {
  std::string text = fmt::format("Memories of {}\n\n", machine);
  text += fmt::format("{:<10} {:<31} {:<11} {:<12} {:>11}\n", "space", "declared", "seen by",
                      "lives", "cycles");
  for (const MemorySpace& space : gpu::memory_spaces()) {
    std::string cycles = cycles_of(costs, space.nearest);
    if (space.farthest != space.nearest) cycles += "-" + cycles_of(costs, space.farthest);
    text += fmt::format("{:<10} {:<31} {:<11} {:<12} {:>11}\n", space.name, space.declaration,
                        space.scope, space.lifetime, cycles);
  }
  const bool measured =
      std::any_of(costs.begin(), costs.end(), [](const LevelCost& c) { return c.measured; });
  text += fmt::format("\n{:<15} {:>8} {:>9} {:>14} {:>11}  ({})\n", "level", "cycles", "ns",
                      "bandwidth", "size", measured ? "measured" : "published");
  for (const LevelCost& cost : costs) {
    text += fmt::format(
        "{:<15} {:>8} {:>9} {:>14} {:>11}\n", words(cost.level),
        cost.latency_cycles > 0.0 ? fmt::format("{:.1f}", cost.latency_cycles) : "?",
        cost.latency_ns > 0.0 ? fmt::format("{:.1f}", cost.latency_ns) : "?",
        cost.bytes_per_second > 0.0 ? format_rate(cost.bytes_per_second, "B/s") : "?",
        cost.capacity_bytes > 0.0 ? format_bytes(static_cast<std::uint64_t>(cost.capacity_bytes))
                                  : "?");
  }
  std::vector<std::string> said;
  text += "\nLatencies: ";
  for (const LevelCost& cost : costs) {
    if (cost.latency_source.empty() ||
        std::find(said.begin(), said.end(), cost.latency_source) != said.end()) {
      continue;
    }
    said.push_back(cost.latency_source);
  }
  text += said.empty() ? "none are known for this GPU.\n"
                       : hang(fmt::format("{}.", fmt::join(said, "; ")), 0, 78) + "\n";
  return text;
}

nlohmann::json memories_json(const std::string& machine, const std::vector<LevelCost>& costs) {
  const auto known = [](double value) {
    return value > 0.0 ? nlohmann::json(value) : nlohmann::json();
  };
  nlohmann::json spaces = nlohmann::json::array(), levels = nlohmann::json::array();
  for (const MemorySpace& space : gpu::memory_spaces()) {
    spaces.push_back({{"name", space.name},
                      {"declaration", space.declaration},
                      {"scope", space.scope},
                      {"lifetime", space.lifetime},
                      {"access", space.access},
                      {"on_chip", space.on_chip},
                      {"cached", space.cached},
                      {"nearest_level", name_of(space.nearest)},
                      {"farthest_level", name_of(space.farthest)}});
  }
  for (const LevelCost& cost : costs) {
    levels.push_back({{"level", name_of(cost.level)},
                      {"latency_cycles", known(cost.latency_cycles)},
                      {"latency_ns", known(cost.latency_ns)},
                      {"bandwidth_bytes_per_second", known(cost.bytes_per_second)},
                      {"capacity_bytes", known(cost.capacity_bytes)},
                      {"measured", cost.measured},
                      {"latency_source", cost.latency_source},
                      {"bandwidth_source", cost.bandwidth_source}});
  }
  return {{"machine", machine}, {"spaces", std::move(spaces)}, {"levels", std::move(levels)}};
}

}  // namespace tilescope::report
