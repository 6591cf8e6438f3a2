#include "report/tiles_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/format.hpp"
#include "report/wrap.hpp"

namespace tilescope::report {
namespace {

using gpu::TilePlan;

// FLOP/s at the plan's intensity, or 0 where the GPU's rates are not known.
double attainable(const TilesContext& context, const TilePlan& plan) {
  const bool known = context.gpu.rate("fp32") != nullptr && context.gpu.bandwidth() > 0.0;
  return known ? context.gpu.roofline().attainable(plan.intensity) : 0.0;
}

double estimated_seconds(const TilesContext& context, const TilePlan& plan) {
  const int khz = context.gpu.properties.core_clock_khz;
  return khz > 0 ? plan.estimated_cycles / (khz * 1e3) : 0.0;
}

std::string limiter_text(const gpu::Occupancy& occupancy) {
  const gpu::Limiter first = occupancy.limiters.front();
  return first == gpu::Limiter::shared_memory ? "shared" : std::string(name_of(first));
}

}  // namespace

std::string tiles_text(const TilesContext& context) {
  const gpu::Gpu& gpu = context.gpu;
  std::string text = fmt::format("Tiles of a matrix product on {}\n", gpu.properties.name);
  if (context.problem) {
    text += fmt::format("C ({} x {}) = A ({} x {}) * B ({} x {})\n",
                        format_count(context.problem->m), format_count(context.problem->n),
                        format_count(context.problem->m), format_count(context.problem->k),
                        format_count(context.problem->k), format_count(context.problem->n));
  }
  text += fmt::format("  {:<15} {:>7} {:>9} {:>6} {:<9} {:>7} {:>9} {:>8}\n", "tile", "threads",
                      "shared B", "blocks", "limit", "op/load", "pending", "FLOP/B");
  for (std::size_t i = 0; i < context.plans.size(); ++i) {
    const TilePlan& plan = context.plans[i];
    const bool best = context.best == i;
    if (!plan.possible()) {
      text +=
          fmt::format("  {:<15} {}\n", plan.tile.text(), hang(plan.occupancy.impossible, 18, 62));
      continue;
    }
    text += fmt::format("{} {:<15} {:>7} {:>9} {:>6} {:<9} {:>7.4g} {:>9} {:>8.4g}\n",
                        best ? '*' : ' ', plan.tile.text(), format_count(plan.needs.threads),
                        format_count(plan.needs.shared_bytes), plan.occupancy.blocks_per_sm,
                        limiter_text(plan.occupancy), plan.operations_per_load,
                        format_count(plan.pending_loads), plan.intensity);
  }
  if (context.problem) {
    text += fmt::format("\n  {:<15} {:>11} {:>9} {:>11} {:>8} {:>10}\n", "tile", "blocks", "phases",
                        "traffic", "useful", "estimate");
    for (std::size_t i = 0; i < context.plans.size(); ++i) {
      const TilePlan& plan = context.plans[i];
      if (!plan.possible()) continue;
      const double seconds = estimated_seconds(context, plan);
      text += fmt::format(
          "{} {:<15} {:>11} {:>9} {:>11} {:>7.1f}% {:>10}\n", context.best == i ? '*' : ' ',
          plan.tile.text(), format_count(plan.blocks), format_count(plan.phases),
          format_bytes(static_cast<std::uint64_t>(plan.traffic_bytes)), 100.0 * plan.useful_share,
          seconds > 0.0 ? format_duration(seconds)
                        : fmt::format("{:.3g} cyc", plan.estimated_cycles));
    }
  }
  text += "\n";
  for (std::size_t i = 0; i < context.plans.size(); ++i) {
    const double rate = attainable(context, context.plans[i]);
    if (context.best != i) continue;
    text += fmt::format("* {}: {}\n", context.plans[i].tile.text(),
                        context.problem ? "estimated to finish first"
                                        : "the widest that keeps half of the SM's threads "
                                          "resident");
    if (rate > 0.0) {
      text += fmt::format(
          "  If every load came from memory: {} of {} ({}).\n", format_rate(rate, "FLOP/s"),
          format_rate(context.gpu.roofline().flops_per_second, "FLOP/s"),
          context.gpu.roofline().memory_bound(context.plans[i].intensity) ? "memory" : "compute");
    }
  }
  return text;
}

Steps tiles_steps(const TilesContext& context) {
  Steps steps;
  for (const TilePlan& plan : context.plans) {
    const gpu::TileShape& t = plan.tile;
    steps.add(fmt::format("Tile {}", t.text()),
              fmt::format("{} x {} elements of C / {} a thread = {} threads", t.rows, t.columns,
                          t.thread_rows * t.thread_columns, format_count(plan.needs.threads)));
    steps.add("  loads a phase", fmt::format("{} x ({} + {}) = {} floats", t.depth, t.rows,
                                             t.columns, format_count(plan.loads_per_phase)));
    steps.add("  operations a phase",
              fmt::format("2 x {} x {} x {} = {}; {} / {} = {:.4g} a load", t.rows, t.columns,
                          t.depth, format_count(plan.operations_per_phase),
                          format_count(plan.operations_per_phase),
                          format_count(plan.loads_per_phase), plan.operations_per_load));
    steps.add("  shared memory",
              fmt::format("{} floats x 4 B = {} B", format_count(plan.loads_per_phase),
                          format_count(plan.needs.shared_bytes)));
    if (!plan.possible()) {
      steps.add("  impossible", plan.occupancy.impossible);
      continue;
    }
    if (plan.occupancy.by_shared_memory != gpu::unlimited) {
      steps.add("  blocks if shared memory alone limited",
                fmt::format("{}; pending loads {} x {} = {}", plan.occupancy.by_shared_memory,
                            plan.occupancy.by_shared_memory, format_count(plan.loads_per_phase),
                            format_count(plan.pending_loads_by_shared_memory)));
    }
    steps.add("  blocks on an SM",
              fmt::format("{} (threads allow {}, blocks {}); pending loads {} x {} = {}",
                          plan.occupancy.blocks_per_sm, plan.occupancy.by_threads,
                          plan.occupancy.by_blocks, plan.occupancy.blocks_per_sm,
                          format_count(plan.loads_per_phase), format_count(plan.pending_loads)));
    steps.add("  intensity", fmt::format("{:.4g} operations a load / 4 B = {:.4g} FLOP/B",
                                         plan.operations_per_load, plan.intensity));
    const double rate = attainable(context, plan);
    if (rate > 0.0) {
      steps.add("  attainable from memory",
                fmt::format("min({}, {:.4g} x {}) = {}",
                            format_rate(context.gpu.roofline().flops_per_second, "FLOP/s"),
                            plan.intensity, format_rate(context.gpu.bandwidth(), "B/s"),
                            format_rate(rate, "FLOP/s")));
    }
    if (plan.phases > 0) {
      steps.add("  traffic",
                fmt::format("{} blocks x {} phases x {} loads x 4 B, and C once = {}",
                            format_count(plan.blocks), format_count(plan.phases),
                            format_count(plan.loads_per_phase),
                            format_bytes(static_cast<std::uint64_t>(plan.traffic_bytes))));
    }
  }
  return steps;
}

nlohmann::json tiles_json(const TilesContext& context) {
  nlohmann::json tiles = nlohmann::json::array();
  for (std::size_t i = 0; i < context.plans.size(); ++i) {
    const TilePlan& plan = context.plans[i];
    nlohmann::json tile{{"tile", plan.tile.text()},
                        {"rows", plan.tile.rows},
                        {"columns", plan.tile.columns},
                        {"depth", plan.tile.depth},
                        {"threads_per_block", plan.needs.threads},
                        {"shared_bytes_per_block", plan.needs.shared_bytes},
                        {"registers_per_thread", plan.needs.registers_per_thread},
                        {"possible", plan.possible()},
                        {"best", context.best == i},
                        {"blocks_per_sm", plan.occupancy.blocks_per_sm},
                        {"threads_per_sm", plan.occupancy.threads_per_sm},
                        {"blocks_by_shared_memory", plan.occupancy.by_shared_memory},
                        {"limiter", name_of(plan.occupancy.limiters.front())},
                        {"loads_per_phase", plan.loads_per_phase},
                        {"operations_per_phase", plan.operations_per_phase},
                        {"operations_per_load", plan.operations_per_load},
                        {"pending_loads", plan.pending_loads},
                        {"pending_loads_by_shared_memory", plan.pending_loads_by_shared_memory},
                        {"intensity_flops_per_byte", plan.intensity},
                        {"why_not", plan.occupancy.impossible}};
    const double rate = attainable(context, plan);
    tile["attainable_flops_per_second"] = rate > 0.0 ? nlohmann::json(rate) : nlohmann::json();
    if (plan.phases > 0) {
      tile["blocks"] = plan.blocks;
      tile["phases"] = plan.phases;
      tile["traffic_bytes"] = plan.traffic_bytes;
      tile["useful_share"] = plan.useful_share;
      tile["estimated_cycles"] = plan.estimated_cycles;
    }
    tiles.push_back(std::move(tile));
  }
  nlohmann::json json{{"gpu", context.gpu.name}, {"tiles", std::move(tiles)}};
  json["best"] =
      context.best ? nlohmann::json(context.plans[*context.best].tile.text()) : nlohmann::json();
  if (context.problem) {
    json["m"] = context.problem->m;
    json["n"] = context.problem->n;
    json["k"] = context.problem->k;
  }
  return json;
}

}  // namespace tilescope::report
