#include "report/occupancy_report.hpp"

#include <algorithm>

#include "report/gpu_report.hpp"

namespace tilescope::report {
namespace {

using gpu::BlockNeeds;
using gpu::Gpu;
using gpu::Limiter;
using gpu::Occupancy;

std::string limiters_text(const Occupancy& result) {
  std::string text;
  for (const Limiter limiter : result.limiters) {
    text += text.empty() ? "" : " and ";
    text += limiter == Limiter::shared_memory ? "shared memory" : name_of(limiter);
  }
  return text;
}

/// The points of one plot, in the data and as a picture.
void add_curve(Page& page, bool is_drawn, const char* name, const char* key, Curve curve,
               const std::vector<gpu::OccupancyPoint>& points) {
  List list;
  for (const gpu::OccupancyPoint& point : points) {
    curve.points.emplace_back(double(point.value), double(point.warps_per_sm));
    list.push_back(Record{{key, point.value}, {"warps_per_sm", point.warps_per_sm}});
  }
  page.data.set(name, std::move(list));
  if (!is_drawn) return;
  page.gap();
  page.add(std::move(curve));
}

void add_curves(Page& page, const OccupancyContext& context, const Gpu& gpu) {
  const BlockNeeds& needs = context.needs;
  const auto& p = gpu.properties;
  const auto curve = [&](const char* title, const char* x_name, std::int64_t mark, bool has_mark) {
    return Curve{.title = title,
                 .x_name = x_name,
                 .y_name = "warps per SM",
                 .points = {},
                 .marked_x = double(mark),
                 .has_mark = has_mark,
                 .y_most = double(p.max_threads_per_sm / p.warp_size)};
  };
  add_curve(page, context.with_curves, "impact_of_threads", "threads_per_block",
            curve("Impact of varying the block size", "threads per block", needs.threads, true),
            vary_threads(needs, p, gpu.units));
  add_curve(page, context.with_curves, "impact_of_registers", "registers_per_thread",
            curve("Impact of varying the registers", "registers per thread",
                  needs.registers_per_thread, needs.registers_per_thread > 0),
            vary_registers(needs, p, gpu.units));
  add_curve(
      page, context.with_curves, "impact_of_shared_memory", "shared_bytes_per_block",
      curve("Impact of varying the shared memory", "bytes per block", needs.shared_bytes, true),
      vary_shared_memory(needs, p, gpu.units));
}

void add_steps(Page& page, const BlockNeeds& needs, const Occupancy& r, const Gpu& gpu) {
  const gpu::AllocationUnits& u = gpu.units;
  page.step("Warps per block",
            "{threads_per_block} threads / {on.warp_size} a warp, rounded up = {warps_per_block}");
  page.step("By threads",
            "an SM holds {on.max_threads_per_sm} threads = {max_warps_per_sm} warps; "
            "{max_warps_per_sm} / {warps_per_block} = {blocks_by_threads} blocks");
  page.step("By blocks", "an SM holds at most {on.max_blocks_per_sm} blocks");
  if (needs.registers_per_thread == 0) {
    page.step("By registers", "not counted");
  } else if (u.registers_for_whole_block) {
    page.step("By registers",
              "{warps_per_block} warps, rounded up to a multiple of "
              "{on.allocation_units.warp_unit}, x {on.warp_size} "
              "threads x {registers_per_thread} registers, in units of "
              "{on.allocation_units.register_unit} = "
              "{allocated_registers_per_block} a block; {on.registers_per_sm} / "
              "{allocated_registers_per_block} = {blocks_by_registers} blocks");
  } else {
    const std::int64_t per_warp = r.registers_per_block / std::max(1, r.warps_per_block);
    const std::int64_t part = gpu.properties.registers_per_sm / u.sub_partitions;
    page.data.let("registers_of_warp", gpu.properties.warp_size * needs.registers_per_thread)
        .let("registers_per_warp", per_warp)
        .let("registers_of_part", part)
        .let("warps_of_part", part / per_warp)
        .let("warps_of_parts", part / per_warp * u.sub_partitions);
    page.step("Registers of a warp",
              "{on.warp_size} threads x {registers_per_thread} registers = {registers_of_warp}, in "
              "units of {on.allocation_units.register_unit} = {registers_per_warp}");
    page.step("By registers",
              "each of {on.allocation_units.sub_partitions} parts of the register file has "
              "{registers_of_part}, room for "
              "{warps_of_part} warps; {warps_of_parts} warps in all / {warps_per_block} a block = "
              "{blocks_by_registers} blocks");
  }
  page.step("By shared memory",
            r.by_shared_memory == gpu::unlimited
                ? "none is used"
                : "{shared_bytes_per_block} B + {on.reserved_shared_bytes_per_block} B reserved, "
                  "in units of "
                  "{on.allocation_units.shared_unit_bytes:count} B = "
                  "{allocated_shared_bytes_per_block} B a block; {on.shared_bytes_per_sm} "
                  "/ {allocated_shared_bytes_per_block} = {blocks_by_shared_memory} blocks");
  page.step("The fewest", "{blocks_per_sm} blocks, limited by {limiters_text}");
  page.step("Occupancy",
            "{blocks_per_sm} blocks x {warps_per_block} warps = {warps_per_sm} of "
            "{max_warps_per_sm} = {occupancy:percent}");
}

}  // namespace

Page occupancy_page(const OccupancyContext& context, const Gpu& gpu) {
  const auto& [kernel, note, needs, r, with_curves] = context;
  const auto limit = [](int value) { return value == gpu::unlimited ? Value() : Value(value); };
  List limiters;
  for (const Limiter limiter : r.limiters) limiters.push_back(name_of(limiter));
  Page page("occupancy");
  page.data = {{"kernel", or_null(kernel)},
               {"note", note},
               {"gpu", gpu.name},
               {"threads_per_block", needs.threads},
               {"registers_per_thread", needs.registers_per_thread},
               {"shared_bytes_per_block", needs.shared_bytes},
               {"blocks_per_sm", r.blocks_per_sm},
               {"threads_per_sm", r.threads_per_sm},
               {"warps_per_sm", r.warps_per_sm},
               {"max_warps_per_sm", r.max_warps_per_sm},
               {"occupancy", r.share()},
               {"limiter", name_of(r.limiters.front())},
               {"limiters", std::move(limiters)},
               {"blocks_by_threads", limit(r.by_threads)},
               {"blocks_by_blocks", limit(r.by_blocks)},
               {"blocks_by_registers", limit(r.by_registers)},
               {"blocks_by_shared_memory", limit(r.by_shared_memory)},
               {"allocated_registers_per_block", r.registers_per_block},
               {"allocated_shared_bytes_per_block", r.shared_bytes_per_block}};
  page.data.let("on", gpu_record(gpu))
      .let("limiters_text", limiters_text(r))
      .let("warps_per_block", r.warps_per_block);
  page.say((kernel.empty() ? "" : "{kernel}: ") +
           std::string("{threads_per_block} threads a block, ") +
           (needs.registers_per_thread == 0 ? "registers not counted"
                                            : "{registers_per_thread} registers") +
           ", {shared_bytes_per_block} B of shared memory\non {on.name}");
  page.facts(28);
  page.fact("Occupancy", "{occupancy:percent} ({warps_per_sm} of {max_warps_per_sm} warps)");
  page.fact("Blocks per SM", "{blocks_per_sm}");
  page.fact("Threads per SM", "{threads_per_sm} of {on.max_threads_per_sm}");
  page.fact("Limited by", "{limiters_text}");
  page.fact("Blocks that each allows",
            "threads {blocks_by_threads}, blocks {blocks_by_blocks}, registers "
            "{blocks_by_registers?no limit}, shared memory {blocks_by_shared_memory?no limit}");
  if (!note.empty()) page.say("Note: {note}", 2, 2);
  add_curves(page, context, gpu);
  add_steps(page, needs, r, gpu);
  return page;
}

}  // namespace tilescope::report
