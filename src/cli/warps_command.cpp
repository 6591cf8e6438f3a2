#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <tilescope/error.hpp>
#include <tilescope/gpu/warps.hpp>

#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/reasoning_options.hpp"
#include "report/warps_report.hpp"

namespace tilescope::cli {
namespace {

using nlohmann::json;

struct WarpsCommand {
  ReasoningOptions options;
  std::string condition, block = "256", grid = "1", loop, matrix, operand = "A";
  std::vector<std::string> definitions;
  std::int64_t vector = 0;
  int tile = 16, warp_size = 32;

  int run() const {
    if (!condition.empty() + (vector != 0) + !matrix.empty() > 1) {
      throw Error(ErrorKind::usage, "give one of CONDITION, --vector and --matrix");
    }
    if (vector != 0) return run_vector();
    if (!matrix.empty()) return run_matrix();
    return run_condition();
  }

  int run_condition() const {
    const Launch launch{.grid = parse_extents(grid, "--grid"),
                        .block = parse_extents(block, "--block")};
    report::Steps steps;
    steps.add("Threads per block", fmt::format("{} x {} x {} = {}", launch.block.x, launch.block.y,
                                               launch.block.z, launch.block.count()));
    steps.add("Warps per block",
              fmt::format("{} / {}, rounded up = {}", launch.block.count(), warp_size,
                          gpu::warps_per_block(launch.block, warp_size)));
    std::string text = report::warp_layout(launch.block, warp_size);
    json body{{"block", {launch.block.x, launch.block.y, launch.block.z}},
              {"grid", {launch.grid.x, launch.grid.y, launch.grid.z}},
              {"warp_size", warp_size},
              {"warps_per_block", gpu::warps_per_block(launch.block, warp_size)}};
    if (!condition.empty()) {
      const gpu::ConditionLoop parsed = parse_loop();
      const gpu::DivergenceCount count = gpu::count_divergence(
          condition, launch, parsed, parse_definitions(definitions), warp_size);
      text += fmt::format(
          "\n{}{}\n", condition,
          parsed.variable.empty()
              ? ""
              : fmt::format(", {} from {} to {}", parsed.variable, parsed.first, parsed.last - 1));
      text += report::divergence_text(count, parsed.variable.empty() ? "warps" : "warp-phases");
      add_steps(steps, count, parsed);
      body["condition"] = condition;
      body["divergence"] = report::divergence_json(count);
    }
    options.finish("warps", text, steps, std::move(body));
    return 0;
  }

  void add_steps(report::Steps& steps, const gpu::DivergenceCount& count,
                 const gpu::ConditionLoop& parsed) const {
    steps.add("Warps", fmt::format("{} blocks x {} = {}", format_count(count.blocks),
                                   count.warps / count.blocks, format_count(count.warps)));
    if (!parsed.variable.empty()) {
      steps.add("Warp-phases",
                fmt::format("{} warps x {} iterations = {}", format_count(count.warps),
                            parsed.last - parsed.first, format_count(count.evaluations)));
    }
    steps.add("Diverge",
              fmt::format("a warp diverges when some of its threads find the condition "
                          "true and some false: {} of {}",
                          format_count(count.divergent), format_count(count.evaluations)));
  }

  int run_vector() const {
    const Dim3 threads = parse_extents(block, "--block");
    if (threads.count() > 1024) {
      throw Error(ErrorKind::usage, fmt::format("a block of {} threads: no GPU takes more than "
                                                "1,024",
                                                format_count(threads.count())));
    }
    const auto size = static_cast<int>(threads.count());
    const gpu::DivergenceCount count = gpu::vector_bounds(vector, size, warp_size);
    std::string text = fmt::format("i < {}, one element a thread, blocks of {} threads\n",
                                   format_count(vector), size) +
                       report::divergence_text(count, "warps");
    report::Steps steps;
    steps.add("Blocks", fmt::format("{} / {}, rounded up = {}", format_count(vector), size,
                                    format_count(count.blocks)));
    add_steps(steps, count, {});
    const std::int64_t rest = vector % size;
    steps.say(rest == 0 ? "The last block is full: no warp diverges."
                        : fmt::format("The last block has {} elements; {} of its threads stand in "
                                      "the warp in which the elements end.",
                                      rest, rest % warp_size));
    options.finish("warps", text, steps,
                   {{"elements", vector},
                    {"block", {size, 1, 1}},
                    {"warp_size", warp_size},
                    {"divergence", report::divergence_json(count)}});
    return 0;
  }

  int run_matrix() const {
    const std::vector<std::int64_t> numbers = parse_numbers(matrix, "--matrix");
    if (numbers.size() != 2 && numbers.size() != 3) {
      throw Error(ErrorKind::usage,
                  fmt::format("--matrix {}: write ROWSxCOLUMNS (square products) or MxNxK",
                              printable(matrix, 60)));
    }
    const std::int64_t m = numbers[0], n = numbers[1], k = numbers.size() == 3 ? numbers[2] : n;
    const auto which = operand == "A" ? gpu::Operand::a : gpu::Operand::b;
    const gpu::TileLoadDivergence result =
        gpu::tile_load_divergence(which, m, n, k, tile, warp_size);
    const gpu::DivergenceCount total = result.total();
    std::string text = fmt::format(
        "Loading tiles of {} with boundary checks: C is {} x {}, k is {}, tiles {} x {}\n", operand,
        format_count(m), format_count(n), format_count(k), tile, tile);
    text +=
        fmt::format("Blocks whose {} all exist:\n{}", which == gpu::Operand::a ? "rows" : "columns",
                    report::divergence_text(result.inside, "warp-phases"));
    text +=
        fmt::format("Blocks at the edge:\n{}", report::divergence_text(result.edge, "warp-phases"));
    text += fmt::format("Together:\n{}", report::divergence_text(total, "warp-phases"));
    report::Steps steps;
    const auto add = [&](std::string_view name, const gpu::DivergenceCount& count) {
      if (count.blocks == 0) return;
      steps.add(name, fmt::format("{} blocks x {} warps = {}; x {} phases = {} warp-phases, of "
                                  "which {} diverge",
                                  format_count(count.blocks), count.warps / count.blocks,
                                  format_count(count.warps), count.evaluations / count.warps,
                                  format_count(count.evaluations), format_count(count.divergent)));
    };
    add("Inside", result.inside);
    add("Edge", result.edge);
    steps.add(
        "Together",
        fmt::format("{} + {} = {} of {} + {} = {}: {:.1f}%", format_count(result.inside.divergent),
                    format_count(result.edge.divergent), format_count(total.divergent),
                    format_count(result.inside.evaluations), format_count(result.edge.evaluations),
                    format_count(total.evaluations), 100.0 * total.share()));
    options.finish("warps", text, steps,
                   {{"m", m},
                    {"n", n},
                    {"k", k},
                    {"tile", tile},
                    {"operand", operand},
                    {"inside", report::divergence_json(result.inside)},
                    {"edge", report::divergence_json(result.edge)},
                    {"divergence", report::divergence_json(total)}});
    return 0;
  }

  // "ph=0:7": ph from 0 to 6.
  gpu::ConditionLoop parse_loop() const {
    if (loop.empty()) return {};
    const std::size_t equals = loop.find('='), colon = loop.find(':');
    if (equals == std::string::npos || colon == std::string::npos || colon < equals ||
        equals == 0) {
      throw Error(ErrorKind::usage, fmt::format("--for {}: write NAME=FIRST:END, such as ph=0:7",
                                                printable(loop, 60)));
    }
    const auto first = parse_numbers(loop.substr(equals + 1, colon - equals - 1), "--for");
    const auto last = parse_numbers(loop.substr(colon + 1), "--for");
    if (first.size() != 1 || last.size() != 1) {
      throw Error(ErrorKind::usage, fmt::format("--for {}: write NAME=FIRST:END, such as ph=0:7",
                                                printable(loop, 60)));
    }
    return {loop.substr(0, equals), first[0], last[0]};
  }
};

}  // namespace

void register_warps(CLI::App& app, std::function<int()>& run) {
  auto command = std::make_shared<WarpsCommand>();
  CLI::App* sub = app.add_subcommand("warps", "How threads fall into warps, and which diverge");
  sub->add_option("CONDITION", command->condition, "Such as 'threadIdx.x > 2' or 'i < 1000'")
      ->type_name("CONDITION");
  sub->add_option("--block", command->block, "Extents of a block")
      ->type_name("X[,Y[,Z]]")
      ->capture_default_str();
  sub->add_option("--grid", command->grid, "Extents of the grid")
      ->type_name("X[,Y[,Z]]")
      ->capture_default_str();
  sub->add_option("--for", command->loop, "A loop around the condition: NAME from FIRST to END - 1")
      ->type_name("NAME=FIRST:END");
  sub->add_option("--let", command->definitions, "What a name in the condition means")
      ->type_name("NAME=EXPRESSION");
  sub->add_option("--vector", command->vector, "Count i < N for a grid that just covers N elements")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  sub->add_option("--matrix", command->matrix,
                  "Count the boundary checks of loading tiles for C (M x N), k = K (default: N)")
      ->type_name("MxN[xK]");
  sub->add_option("--tile", command->tile, "Tile width, with --matrix")
      ->type_name("N")
      ->check(CLI::Range(1, 32))
      ->capture_default_str();
  sub->add_option("--operand", command->operand, "Whose tiles, with --matrix: A or B")
      ->check(CLI::IsMember({"A", "B"}))
      ->type_name("A|B")
      ->capture_default_str();
  sub->add_option("--warp-size", command->warp_size, "Threads of a warp")
      ->type_name("N")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command->options.add_to(*sub, false);
  sub->footer(
      "In a condition: threadIdx, blockIdx, blockDim, gridDim (.x .y .z), warpSize,\n"
      "and the short names tx, ty, bx, by, row, col, i, j (--let changes them).\n"
      "Arithmetic is that of signed 64-bit integers.\n"
      "\n"
      "Examples:\n"
      "  tilescope warps --block 16,16\n"
      "  tilescope warps 'threadIdx.x > 2' --block 256 --grid 8\n"
      "  tilescope warps --vector 1000 --block 256 --show\n"
      "  tilescope warps --matrix 100x100 --tile 16 --show\n"
      "  tilescope warps 'row < 100' --grid 7,7 --block 16,16");
  sub->callback([command, &run] { run = [command] { return command->run(); }; });
}

}  // namespace tilescope::cli
