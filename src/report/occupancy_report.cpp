#include "report/occupancy_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/format.hpp"
#include "report/plot.hpp"

namespace tilescope::report {
namespace {

using gpu::BlockNeeds;
using gpu::Gpu;
using gpu::Limiter;
using gpu::Occupancy;

std::string words(Limiter limiter) {
  return limiter == Limiter::shared_memory ? "shared memory" : std::string(name_of(limiter));
}

std::string limiters_text(const Occupancy& result) {
  std::string text;
  for (const Limiter limiter : result.limiters) {
    text += (text.empty() ? "" : " and ") + words(limiter);
  }
  return text;
}

std::string limit_text(int limit) {
  return limit == gpu::unlimited ? "no limit" : format_count(limit);
}

std::string percent(double share) {
  return fmt::format("{:.1f}%", 100.0 * share);
}

}  // namespace

std::string occupancy_text(const std::string& what, const BlockNeeds& needs,
                           const Occupancy& result, const Gpu& gpu) {
  std::string text = fmt::format("{}{} threads a block, {}, {} B of shared memory\non {}\n",
                                 what.empty() ? "" : what + ": ", format_count(needs.threads),
                                 needs.registers_per_thread == 0
                                     ? "registers not counted"
                                     : fmt::format("{} registers", needs.registers_per_thread),
                                 format_count(needs.shared_bytes), gpu.properties.name);
  const auto line = [&text](std::string_view name, const std::string& value) {
    text += fmt::format("  {:<28} {}\n", name, value);
  };
  line("Occupancy", fmt::format("{} ({} of {} warps)", percent(result.share()), result.warps_per_sm,
                                result.max_warps_per_sm));
  line("Blocks per SM", format_count(result.blocks_per_sm));
  line("Threads per SM", fmt::format("{} of {}", format_count(result.threads_per_sm),
                                     format_count(gpu.properties.max_threads_per_sm)));
  line("Limited by", limiters_text(result));
  line("Blocks that each allows",
       fmt::format("threads {}, blocks {}, registers {}, shared memory {}",
                   limit_text(result.by_threads), limit_text(result.by_blocks),
                   limit_text(result.by_registers), limit_text(result.by_shared_memory)));
  return text;
}

std::string occupancy_curves(const BlockNeeds& needs, const Gpu& gpu) {
  const int most = gpu.properties.max_threads_per_sm / gpu.properties.warp_size;
  const auto curve = [&](const char* title, const char* x_name,
                         const std::vector<gpu::OccupancyPoint>& points, double mark,
                         bool has_mark) {
    Curve drawn{.title = title,
                .x_name = x_name,
                .y_name = "warps per SM",
                .points = {},
                .marked_x = mark,
                .has_mark = has_mark,
                .y_most = double(most)};
    for (const gpu::OccupancyPoint& point : points) {
      drawn.points.emplace_back(double(point.value), double(point.warps_per_sm));
    }
    return '\n' + draw(drawn);
  };
  const auto& p = gpu.properties;
  return curve("Impact of varying the block size", "threads per block",
               vary_threads(needs, p, gpu.units), double(needs.threads), true) +
         curve("Impact of varying the registers", "registers per thread",
               vary_registers(needs, p, gpu.units), double(needs.registers_per_thread),
               needs.registers_per_thread > 0) +
         curve("Impact of varying the shared memory", "bytes per block",
               vary_shared_memory(needs, p, gpu.units), double(needs.shared_bytes), true);
}

Steps occupancy_steps(const BlockNeeds& needs, const Occupancy& r, const Gpu& gpu) {
  const DeviceProperties& p = gpu.properties;
  const gpu::AllocationUnits& u = gpu.units;
  Steps steps;
  steps.add("Warps per block",
            fmt::format("{} threads / {} a warp, rounded up = {}", format_count(needs.threads),
                        p.warp_size, r.warps_per_block));
  steps.add("By threads", fmt::format("an SM holds {} threads = {} warps; {} / {} = {} blocks",
                                      format_count(p.max_threads_per_sm), r.max_warps_per_sm,
                                      r.max_warps_per_sm, r.warps_per_block, r.by_threads));
  steps.add("By blocks", fmt::format("an SM holds at most {} blocks", p.max_blocks_per_sm));
  if (needs.registers_per_thread == 0) {
    steps.add("By registers", "not counted");
  } else if (u.registers_for_whole_block) {
    steps.add("By registers",
              fmt::format("{} warps, rounded up to a multiple of {}, x {} threads x {} registers, "
                          "in units of {} = {} a block; {} / {} = {} blocks",
                          r.warps_per_block, u.warp_unit, p.warp_size, needs.registers_per_thread,
                          u.register_unit, format_count(r.registers_per_block),
                          format_count(p.registers_per_sm), format_count(r.registers_per_block),
                          r.by_registers));
  } else {
    const std::int64_t per_warp = r.registers_per_block / std::max(1, r.warps_per_block);
    const std::int64_t part = p.registers_per_sm / u.sub_partitions;
    steps.add("Registers of a warp",
              fmt::format("{} threads x {} registers = {}, in units of {} = {}", p.warp_size,
                          needs.registers_per_thread,
                          format_count(p.warp_size * needs.registers_per_thread), u.register_unit,
                          format_count(per_warp)));
    steps.add("By registers",
              fmt::format("each of {} parts of the register file has {}, room for {} warps; {} "
                          "warps in all / {} a block = {} blocks",
                          u.sub_partitions, format_count(part), part / per_warp,
                          part / per_warp * u.sub_partitions, r.warps_per_block, r.by_registers));
  }
  if (r.by_shared_memory == gpu::unlimited) {
    steps.add("By shared memory", "none is asked for");
  } else {
    steps.add("By shared memory",
              fmt::format("{} B + {} B reserved, in units of {} B = {} B a block; {} / {} = {} "
                          "blocks",
                          format_count(needs.shared_bytes),
                          format_count(std::uint64_t{p.reserved_shared_bytes_per_block}),
                          u.shared_unit, format_count(r.shared_bytes_per_block),
                          format_count(std::uint64_t{p.shared_bytes_per_sm}),
                          format_count(r.shared_bytes_per_block), r.by_shared_memory));
  }
  steps.add("The fewest",
            fmt::format("{} blocks, limited by {}", r.blocks_per_sm, limiters_text(r)));
  steps.add("Occupancy",
            fmt::format("{} blocks x {} warps = {} of {} = {}", r.blocks_per_sm, r.warps_per_block,
                        r.warps_per_sm, r.max_warps_per_sm, percent(r.share())));
  return steps;
}

nlohmann::json occupancy_json(const std::string& what, const BlockNeeds& needs,
                              const Occupancy& result, const Gpu& gpu) {
  const auto limit = [](int value) {
    return value == gpu::unlimited ? nlohmann::json() : nlohmann::json(value);
  };
  nlohmann::json limiters = nlohmann::json::array();
  for (const Limiter limiter : result.limiters) limiters.push_back(name_of(limiter));
  const auto points = [](const std::vector<gpu::OccupancyPoint>& curve, const char* key) {
    nlohmann::json array = nlohmann::json::array();
    for (const gpu::OccupancyPoint& point : curve) {
      array.push_back({{key, point.value}, {"warps_per_sm", point.warps_per_sm}});
    }
    return array;
  };
  const auto& p = gpu.properties;
  return {
      {"kernel", what.empty() ? nlohmann::json() : nlohmann::json(what)},
      {"gpu", gpu.name},
      {"threads_per_block", needs.threads},
      {"registers_per_thread", needs.registers_per_thread},
      {"shared_bytes_per_block", needs.shared_bytes},
      {"blocks_per_sm", result.blocks_per_sm},
      {"threads_per_sm", result.threads_per_sm},
      {"warps_per_sm", result.warps_per_sm},
      {"max_warps_per_sm", result.max_warps_per_sm},
      {"occupancy", result.share()},
      {"limiter", name_of(result.limiters.front())},
      {"limiters", std::move(limiters)},
      {"blocks_by_threads", limit(result.by_threads)},
      {"blocks_by_blocks", limit(result.by_blocks)},
      {"blocks_by_registers", limit(result.by_registers)},
      {"blocks_by_shared_memory", limit(result.by_shared_memory)},
      {"allocated_registers_per_block", result.registers_per_block},
      {"allocated_shared_bytes_per_block", result.shared_bytes_per_block},
      {"impact_of_threads", points(vary_threads(needs, p, gpu.units), "threads_per_block")},
      {"impact_of_registers", points(vary_registers(needs, p, gpu.units), "registers_per_thread")},
      {"impact_of_shared_memory",
       points(vary_shared_memory(needs, p, gpu.units), "shared_bytes_per_block")}};
}

}  // namespace tilescope::report
