#include "report/tiles_report.hpp"

#include <fmt/format.h>

namespace tilescope::report {
namespace {

using gpu::TilePlan;

bool has_rates(const gpu::Gpu& gpu) {
  return gpu.rate("fp32") != nullptr && gpu.bandwidth() > 0.0;
}

Record tile_record(const TilesContext& context, std::size_t index) {
  const TilePlan& plan = context.plans[index];
  const gpu::Gpu& gpu = context.gpu;
  const gpu::Limiter limiter = plan.occupancy.limiters.front();
  const bool is_best = context.best == index;
  Record tile{{"tile", plan.tile.text()},
              {"rows", plan.tile.rows},
              {"columns", plan.tile.columns},
              {"depth", plan.tile.depth},
              {"threads_per_block", plan.needs.threads},
              {"shared_bytes_per_block", plan.needs.shared_bytes},
              {"registers_per_thread", plan.needs.registers_per_thread},
              {"possible", plan.possible()},
              {"best", is_best},
              {"blocks_per_sm", plan.occupancy.blocks_per_sm},
              {"threads_per_sm", plan.occupancy.threads_per_sm},
              {"blocks_by_shared_memory", plan.occupancy.by_shared_memory},
              {"limiter", name_of(limiter)},
              {"loads_per_phase", plan.loads_per_phase},
              {"operations_per_phase", plan.operations_per_phase},
              {"operations_per_load", plan.operations_per_load},
              {"pending_loads", plan.pending_loads},
              {"pending_loads_by_shared_memory", plan.pending_loads_by_shared_memory},
              {"intensity_flops_per_byte", plan.intensity},
              {"attainable_flops_per_second",
               has_rates(gpu) ? known(gpu.roofline().attainable(plan.intensity)) : Value()},
              {"why_not", plan.occupancy.impossible}};
  if (plan.phases > 0) {
    tile.set_all({{"blocks", plan.blocks},
                  {"phases", plan.phases},
                  {"traffic_bytes", plan.traffic_bytes},
                  {"useful_share", plan.useful_share},
                  {"estimated_cycles", plan.estimated_cycles}});
    const int khz = gpu.properties.core_clock_khz;
    tile.let("estimate", khz > 0 ? text_of(plan.estimated_cycles / khz, "_ms")
                                 : fmt::format("{:.3g} cyc", plan.estimated_cycles));
  }
  tile.let("mark", is_best ? "*" : " ");
  tile.let("limit", limiter == gpu::Limiter::shared_memory ? "shared" : name_of(limiter));
  tile.let("elements_per_thread", plan.tile.thread_rows * plan.tile.thread_columns);
  tile.let("blocks_by_threads", plan.occupancy.by_threads);
  tile.let("blocks_by_blocks", plan.occupancy.by_blocks);
  tile.let("peak", has_rates(gpu) ? known(gpu.roofline().flops_per_second) : Value());
  tile.let("bandwidth", gpu.bandwidth());
  return tile;
}

void add_steps(Page& page, const TilePlan& plan, const Record& tile) {
  const auto step = [&](std::string_view what, std::string_view how) {
    page.step(what, how, tile);
  };
  step(tile.fill("Tile {tile}"),
       "{rows} x {columns} elements of C / {elements_per_thread} a thread = {threads_per_block} "
       "threads");
  step("  loads a phase", "{depth} x ({rows} + {columns}) = {loads_per_phase} floats");
  step("  operations a phase",
       "2 x {rows} x {columns} x {depth} = {operations_per_phase}; {operations_per_phase} / "
       "{loads_per_phase} = {operations_per_load} a load");
  step("  shared memory", "{loads_per_phase} floats x 4 B = {shared_bytes_per_block} B");
  if (!plan.possible()) {
    step("  impossible", "{why_not}");
    return;
  }
  if (plan.occupancy.by_shared_memory != gpu::unlimited) {
    step("  blocks if shared memory alone limited",
         "{blocks_by_shared_memory}; pending loads {blocks_by_shared_memory} x {loads_per_phase} "
         "= {pending_loads_by_shared_memory}");
  }
  step("  blocks on an SM",
       "{blocks_per_sm} (threads allow {blocks_by_threads}, blocks {blocks_by_blocks:plain}); "
       "pending "
       "loads {blocks_per_sm} x {loads_per_phase} = {pending_loads}");
  step("  intensity",
       "{operations_per_load} operations a load / 4 B = {intensity_flops_per_byte} FLOP/B");
  if (!tile.find("attainable_flops_per_second")->is_null()) {
    step("  attainable from memory",
         "min({peak:flops}, {intensity_flops_per_byte} x {bandwidth:rate}) = "
         "{attainable_flops_per_second}");
  }
  if (plan.phases > 0) {
    step("  traffic",
         "{blocks} blocks x {phases} phases x {loads_per_phase} loads x 4 B, and C once = "
         "{traffic_bytes}");
  }
}

TilePicture picture_of(const TilePlan& plan, const Record& tile) {
  return {.title = tile.fill("Tile {tile}: a phase loads {loads_per_phase} elements"),
          .rows = plan.tile.rows,
          .columns = plan.tile.columns,
          .depth = plan.tile.depth,
          .thread_rows = plan.tile.thread_rows,
          .thread_columns = plan.tile.thread_columns,
          .global = plan.phases > 0 ? tile.fill("{blocks} tiles, {phases} phases each")
                                    : std::string("a block computes one tile of C"),
          .shared = tile.fill("{shared_bytes_per_block} bytes; an SM holds {blocks_per_sm}"),
          .registers = tile.fill("one of {threads_per_block} threads"),
          .loads = tile.fill("{loads_per_phase} a phase"),
          .operations = tile.fill("{operations_per_load} op a load")};
}

Table occupancy_table(const std::vector<Record>& tiles) {
  return {.columns = {{"  tile", left, 17, "{mark} {tile}"},
                      {"threads", right, 7, "{threads_per_block}"},
                      {"shared B", right, 9, "{shared_bytes_per_block}"},
                      {"blocks", right, 6, "{blocks_per_sm}"},
                      {"limit", left, 9, "{limit}"},
                      {"op/load", right, 7, "{operations_per_load}"},
                      {"pending", right, 9, "{pending_loads}"},
                      {"FLOP/B", right, 8, "{intensity_flops_per_byte}"}},
          .rows = tiles,
          .note = "{why_not}",
          .note_from = 1};
}

Table problem_table(const std::vector<Record>& tiles) {
  Table table{.columns = {{"  tile", left, 17, "{mark} {tile}"},
                          {"blocks", right, 11, "{blocks}"},
                          {"phases", right, 9, "{phases}"},
                          {"traffic", right, 11, "{traffic_bytes}"},
                          {"useful", right, 8, "{useful_share}"},
                          {"estimate", right, 10, "{estimate}"}},
              .rows = {}};
  for (const Record& tile : tiles) {
    if (tile.find("blocks") != nullptr) table.rows.push_back(tile);
  }
  return table;
}

}  // namespace

Page tiles_page(const TilesContext& context) {
  const gpu::Gpu& gpu = context.gpu;
  Page page("tiles");
  std::vector<Record> tiles;
  for (std::size_t i = 0; i < context.plans.size(); ++i) {
    tiles.push_back(tile_record(context, i));
    add_steps(page, context.plans[i], tiles.back());
  }
  page.data = {{"gpu", gpu.name}, {"tiles", tiles}, {"best", Value()}};
  if (context.best) page.data.set("best", *tiles[*context.best].find("tile"));
  if (!tiles.empty()) {
    const std::size_t drawn = context.best.value_or(0);
    page.figures.emplace_back(picture_of(context.plans[drawn], tiles[drawn]));
  }
  page.add(Text{"Tiles of a matrix product on " + gpu.properties.name});
  if (context.problem) {
    page.data.set_all(
        {{"m", context.problem->m}, {"n", context.problem->n}, {"k", context.problem->k}});
    page.say("C ({m} x {n}) = A ({m} x {k}) * B ({k} x {n})");
  }
  page.add(occupancy_table(tiles));
  if (context.problem) {
    page.gap();
    page.add(problem_table(tiles));
  }
  page.gap();
  if (!context.best) return page;
  const Record& best = tiles[*context.best];
  page.add(Text{best.fill("* {tile}: ") + (context.problem
                                               ? "estimated to finish first"
                                               : "the widest that keeps half of the SM's threads "
                                                 "resident")});
  if (has_rates(gpu)) {
    const bool by_memory = gpu.roofline().memory_bound(context.plans[*context.best].intensity);
    page.add(Text{best.fill("If every load came from memory: {attainable_flops_per_second} of "
                            "{peak:flops} (") +
                      (by_memory ? "memory)." : "compute)."),
                  2});
  }
  return page;
}

}  // namespace tilescope::report
