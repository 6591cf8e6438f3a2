#include "report/memories_report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tilescope::report {
namespace {

using gpu::LevelCost;
using gpu::MemoryLevel;
using gpu::MemorySpace;

std::string cycles_of(const std::vector<LevelCost>& costs, MemoryLevel level) {
  const auto cost = std::find_if(costs.begin(), costs.end(),
                                 [level](const LevelCost& one) { return one.level == level; });
  return cost == costs.end() || cost->latency_cycles == 0.0
             ? "?"
             : fmt::format("{:.0f}", cost->latency_cycles);
}

Record space_record(const MemorySpace& space, const std::vector<LevelCost>& costs) {
  std::string cycles = cycles_of(costs, space.nearest);
  if (space.farthest != space.nearest) cycles += "-" + cycles_of(costs, space.farthest);
  return Record{{"name", space.name},
                {"declaration", space.declaration},
                {"scope", space.scope},
                {"lifetime", space.lifetime},
                {"access", space.access},
                {"on_chip", space.on_chip},
                {"cached", space.cached},
                {"nearest_level", name_of(space.nearest)},
                {"farthest_level", name_of(space.farthest)}}
      .let("cycles", cycles);
}

Record level_record(const LevelCost& cost) {
  return Record{{"level", name_of(cost.level)},
                {"latency_cycles", known(cost.latency_cycles)},
                {"latency_ns", known(cost.latency_ns)},
                {"bandwidth_bytes_per_second", known(cost.bytes_per_second)},
                {"capacity_bytes", known(cost.capacity_bytes)},
                {"measured", cost.measured},
                {"latency_source", cost.latency_source},
                {"bandwidth_source", cost.bandwidth_source}}
      .let("words",
           cost.level == MemoryLevel::constant_cache ? "constant cache" : name_of(cost.level))
      .let("cycles_per_ns", cost.latency_cycles / cost.latency_ns);
}

std::string sources_text(const std::vector<LevelCost>& costs) {
  std::vector<std::string> said;
  for (const LevelCost& cost : costs) {
    if (cost.latency_source.empty()) continue;
    if (std::find(said.begin(), said.end(), cost.latency_source) != said.end()) continue;
    said.push_back(cost.latency_source);
  }
  return said.empty() ? "none are known for this GPU" : fmt::format("{}", fmt::join(said, "; "));
}

/// The levels that a thread reaches, without the cache of constants beside them.
MemoryLevels levels_picture(const std::string& machine, const std::vector<LevelCost>& costs) {
  MemoryLevels picture{.title = "The memories of " + machine};
  for (const LevelCost& cost : costs) {
    if (cost.level == MemoryLevel::constant_cache) continue;
    const Record level = level_record(cost);
    const bool has_size = cost.capacity_bytes > 0.0;
    picture.levels.push_back(
        {.name = level.fill("{words}"),
         .size = has_size ? level.fill("{capacity_bytes}") : std::string(),
         .bandwidth = cost.bytes_per_second > 0.0
                          ? (has_size ? ", " : "") + level.fill("{bandwidth_bytes_per_second}")
                          : std::string(),
         .latency = cost.latency_cycles > 0.0 ? level.fill("{latency_cycles:.0f} cycles")
                                              : std::string("not known"),
         .cycles = cost.latency_cycles});
  }
  return picture;
}

}  // namespace

Page memories_page(const std::string& machine, const std::vector<LevelCost>& costs) {
  Page page("memories");
  Table spaces{.columns = {{"space", left, 10, "{name}"},
                           {"declared", left, 31, "{declaration}"},
                           {"seen by", left, 11, "{scope}"},
                           {"lives", left, 12, "{lifetime}"},
                           {"cycles", right, 11, "{cycles}"}},
               .rows = {}};
  for (const MemorySpace& space : gpu::memory_spaces()) {
    spaces.rows.push_back(space_record(space, costs));
  }
  const bool measured = std::any_of(costs.begin(), costs.end(), [](auto& c) { return c.measured; });
  Table levels{.columns = {{"level", left, 15, "{words}"},
                           {"cycles", right, 8, "{latency_cycles:.1f?\?}"},
                           {"ns", right, 9, "{latency_ns:.1f?\?}"},
                           {"bandwidth", right, 14, "{bandwidth_bytes_per_second?\?}"},
                           {"size", right, 11, "{capacity_bytes?\?}"},
                           {measured ? " (measured)" : " (published)", left, 0, ""}},
               .rows = {}};
  for (const LevelCost& cost : costs) {
    const Record& level = levels.rows.emplace_back(level_record(cost));
    if (cost.latency_cycles > 0.0 && cost.latency_ns > 0.0) {
      page.step(name_of(cost.level),
                "{latency_cycles:.1f} cycles / {cycles_per_ns:.3f} cycles a ns = {latency_ns:.1f} "
                "ns ({latency_source})",
                level);
    }
    if (!cost.bandwidth_source.empty()) {
      page.step(level.fill("{level}, bandwidth"), "{bandwidth_source}", level);
    }
  }
  page.data = {{"machine", machine}, {"spaces", spaces.rows}, {"levels", levels.rows}};
  page.figures.emplace_back(levels_picture(machine, costs));
  page.data.let("sources", sources_text(costs));
  page.say("Memories of {machine}");
  page.gap();
  page.add(std::move(spaces));
  page.gap();
  page.add(std::move(levels));
  page.gap();
  page.say("Latencies: {sources}.");
  return page;
}

}  // namespace tilescope::report
