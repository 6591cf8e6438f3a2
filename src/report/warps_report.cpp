#include "report/warps_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.hpp"

namespace tilescope::report {
namespace {

using gpu::DivergenceCount;

constexpr std::size_t most_warps = 12;  // that are listed

std::string thread_text(std::uint64_t linear, const Dim3& block) {
  const Dim3 t = gpu::thread_at(linear, block);
  if (block.z > 1) return fmt::format("({},{},{})", t.x, t.y, t.z);
  return block.y > 1 ? fmt::format("({},{})", t.x, t.y) : fmt::format("{}", t.x);
}

void add_layout(Page& page, const Dim3& block, int warp_size) {
  const std::uint64_t warps = gpu::warps_per_block(block, warp_size);
  const auto width = static_cast<std::uint64_t>(warp_size);
  page.say(
      "A block of {extents} = {threads} threads: {warps_per_block} warp{warps_per_block:s} of "
      "{warp_size}, x fastest, then y, then z");
  std::string lines;
  for (std::uint64_t warp = 0; warp < warps; ++warp) {
    if (warp >= most_warps && warp + 1 < warps) {
      lines += fmt::format("... {} more\n", warps - 1 - warp);
      warp = warps - 1;
    }
    const std::uint64_t first = warp * width;
    const std::uint64_t last = std::min(block.count(), first + width) - 1;
    lines += fmt::format("warp {:>3}: threads {} to {}", warp, thread_text(first, block),
                         thread_text(last, block));
    if (last - first + 1 < width) {
      lines += fmt::format("; {} of {} lanes idle for ever", width - (last - first + 1), width);
    }
    lines += warp + 1 < warps ? "\n" : "";
  }
  page.add(Text{lines, 2});
}

/// Rows as the block has them; of a block of one row as wide as a warp.
BlockWarps warps_picture(const Dim3& block, int warp_size) {
  const auto lanes = static_cast<std::uint32_t>(warp_size);
  const std::uint64_t warps = gpu::warps_per_block(block, warp_size);
  const std::uint64_t idle = warps * lanes - block.count();
  const bool is_flat = block.y == 1 && block.z == 1;
  const bool fits = !is_flat && block.x <= 2 * lanes;
  return {
      .title = fmt::format("{} threads in {} warp{}", block.count(), warps, warps == 1 ? "" : "s"),
      .across = fits ? "threadIdx.x runs to the right, then y down, then z"
                     : "one row a warp: threadIdx.x runs to the right, then down",
      .below = idle == 0 ? std::string("every lane of every warp has a thread")
                         : fmt::format("{} lane{} of the last warp have no thread: they idle "
                                       "for ever",
                                       idle, idle == 1 ? "" : "s"),
      .threads = block.count(),
      .warps = warps,
      .columns = fits ? block.x : lanes,
      .warp_size = lanes};
}

/// How often the threads of a warp agree, and how often they do not.
void add_divergence_chart(Page& page, const DivergenceCount& count, const std::string& unit) {
  if (count.evaluations == 0) return;
  BarChart chart{.title = "What the threads of a warp find",
                 .axis = "A warp whose threads disagree runs both ways, one after the other: " +
                         format_count(count.divergent) + " of " + format_count(count.evaluations) +
                         " " + unit + "."};
  const auto bar = [&](const char* name, std::uint64_t number, bool is_waste) {
    const auto value = static_cast<double>(number);
    chart.bars.push_back({.name = name,
                          .value = value,
                          .wasted = is_waste ? value : 0.0,
                          .label = format_count(number)});
  };
  bar("all true", count.all_true, false);
  bar("all false", count.all_false, false);
  bar("some true, some false", count.divergent, true);
  page.figures.emplace_back(std::move(chart));
}

Record count_record(const DivergenceCount& count, std::string_view unit = {}) {
  return Record{{"blocks", count.blocks},
                {"warps", count.warps},
                {"evaluations", count.evaluations},
                {"divergent", count.divergent},
                {"divergent_warps", count.divergent_warps},
                {"all_true", count.all_true},
                {"all_false", count.all_false},
                {"divergent_share", count.share()}}
      .let("unit", unit)
      .let("warps_each", count.blocks == 0 ? 0 : count.warps / count.blocks)
      .let("phases", count.warps == 0 ? 0 : count.evaluations / count.warps);
}

void add_count(Page& page, const Record& count) {
  page.facts(26);
  page.fact("Blocks", "{blocks}", count);
  page.fact("Warps", "{warps}", count);
  page.fact("Diverge", "{divergent} of {evaluations} {unit} ({divergent_share})", count);
  page.fact("Agree", "{all_true} all true, {all_false} all false", count);
}

void add_warp_steps(Page& page, const Record& count, const gpu::ConditionLoop& loop) {
  page.step("Warps", "{blocks} blocks x {warps_each} = {warps}", count);
  if (!loop.variable.empty()) {
    page.step("Warp-phases", "{warps} warps x {phases} iterations = {evaluations}", count);
  }
  page.step("Diverge",
            "a warp diverges when some of its threads find the condition true and some false: "
            "{divergent} of {evaluations}",
            count);
}

}  // namespace

Page warps_page(const Launch& launch, int warp_size, const std::optional<Divergence>& divergence) {
  const Dim3& block = launch.block;
  Page page("warps");
  page.data = {{"block", block},
               {"grid", launch.grid},
               {"warp_size", warp_size},
               {"warps_per_block", gpu::warps_per_block(block, warp_size)}};
  page.data.let("threads", block.count())
      .let("extents", fmt::format("{} x {} x {}", block.x, block.y, block.z));
  page.figures.emplace_back(warps_picture(block, warp_size));
  add_layout(page, block, warp_size);
  page.step("Threads per block", "{extents} = {threads:plain}");
  page.step("Warps per block", "{threads:plain} / {warp_size}, rounded up = {warps_per_block}");
  if (!divergence) return page;
  const auto& [condition, loop, count] = *divergence;
  const std::string unit = loop.variable.empty() ? "warps" : "warp-phases";
  const Record record = count_record(count, unit);
  add_divergence_chart(page, count, unit);
  page.data.set("condition", condition).set("divergence", record);
  page.gap();
  page.add(
      Text{condition + (loop.variable.empty() ? ""
                                              : fmt::format(", {} from {} to {}", loop.variable,
                                                            loop.first, loop.last - 1))});
  add_count(page, record);
  add_warp_steps(page, record, loop);
  return page;
}

Page vector_bounds_page(std::int64_t elements, int threads, int warp_size) {
  const DivergenceCount bounds = gpu::vector_bounds(elements, threads, warp_size);
  const Record count = count_record(bounds, "warps");
  const std::int64_t rest = elements % threads;
  Page page("warps");
  add_divergence_chart(page, bounds, "warps");
  page.data = {{"elements", elements},
               {"block", List{threads, 1, 1}},
               {"warp_size", warp_size},
               {"divergence", count}};
  page.data.let("threads", threads).let("rest", rest).let("rest_of_warp", rest % warp_size);
  page.say("i < {elements}, one element a thread, blocks of {threads:plain} threads");
  add_count(page, count);
  page.step("Blocks", "{elements} / {threads:plain}, rounded up = {divergence.blocks}");
  add_warp_steps(page, count, {});
  page.remark(rest == 0 ? "The last block is full: no warp diverges."
                        : "The last block has {rest:plain} elements; {rest_of_warp} of its threads "
                          "stand in the warp in which the elements end.");
  return page;
}

Page tile_loads_page(const TileLoads& loads, int warp_size) {
  const auto& [operand, m, n, k, tile] = loads;
  const gpu::TileLoadDivergence result =
      gpu::tile_load_divergence(operand, m, n, k, tile, warp_size);
  const bool is_a = operand == gpu::Operand::a;
  const Record inside = count_record(result.inside, "warp-phases"),
               edge = count_record(result.edge, "warp-phases"),
               total = count_record(result.total(), "warp-phases");
  Page page("warps");
  page.data = {{"m", m},
               {"n", n},
               {"k", k},
               {"tile", tile},
               {"operand", is_a ? "A" : "B"},
               {"inside", inside},
               {"edge", edge},
               {"divergence", total}};
  add_divergence_chart(page, result.total(), "warp-phases");
  page.say(
      "Loading tiles of {operand} with boundary checks: C is {m} x {n}, k is {k}, tiles {tile} x "
      "{tile}");
  page.say(is_a ? "Blocks whose rows all exist:" : "Blocks whose columns all exist:");
  add_count(page, inside);
  page.say("Blocks at the edge:");
  add_count(page, edge);
  page.say("Together:");
  add_count(page, total);
  for (const auto& [name, count] : {std::pair("Inside", &inside), std::pair("Edge", &edge)}) {
    if (count->fill("{blocks}") == "0") continue;
    page.step(name,
              "{blocks} blocks x {warps_each} warps = {warps}; x {phases} phases = {evaluations} "
              "warp-phases, of which {divergent} diverge",
              *count);
  }
  page.step("Together",
            "{inside.divergent} + {edge.divergent} = {divergence.divergent} of "
            "{inside.evaluations} + {edge.evaluations} = {divergence.evaluations}: "
            "{divergence.divergent_share}");
  return page;
}

}  // namespace tilescope::report
