#include <tilescope/gpu/warps.hpp>

#include "base/errors.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/shared_options.hpp"
#include "report/warps_report.hpp"

namespace tilescope::cli {
namespace {

struct WarpsCommand {
  ReasoningOptions options;
  std::string condition, block = "256", grid = "1", loop, matrix, operand = "A";
  std::vector<std::string> definitions;
  std::int64_t vector = 0;
  int tile = 16, warp_size = 32;

  void declare(const Options& add) {
    add("CONDITION", condition, "Such as 'threadIdx.x > 2' or 'i < 1000'");
    add("--block X[,Y[,Z]]", block, "Extents of a block", shown);
    add("--grid X[,Y[,Z]]", grid, "Extents of the grid", shown);
    add("--for NAME=FIRST:END", loop, "A loop around the condition: NAME from FIRST to END - 1");
    add("--let NAME=EXPRESSION", definitions, "Value of a name in the condition");
    add("--vector N", vector, "Count i < N for a grid that just covers N elements",
        within(std::int64_t{1}, std::int64_t{1} << 40));
    add("--matrix MxN[xK]", matrix,
        "Count the boundary checks of loading tiles for C (M x N), k = K (default: N)");
    add("--tile N", tile, "Tile width, with --matrix", shown, within(1, 32));
    add("--operand A|B", operand, "Operand whose tiles are loaded, with --matrix: A or B", shown,
        one_of({"A", "B"}));
    add("--warp-size N", warp_size, "Threads of a warp", shown, within(1, 64));
    options.declare(add, false);
  }

  int run() const {
    if (!condition.empty() + (vector != 0) + !matrix.empty() > 1) {
      throw usage_error("give one of CONDITION, --vector and --matrix");
    }
    return options.finish(vector != 0       ? of_vector()
                          : !matrix.empty() ? of_matrix()
                                            : of_condition());
  }

  report::Page of_condition() const {
    const Launch launch{.grid = parse_dimensions(grid, "--grid"),
                        .block = parse_dimensions(block, "--block")};
    if (condition.empty()) return report::warps_page(launch, warp_size, std::nullopt);
    const gpu::ConditionLoop parsed = parse_loop();
    return report::warps_page(
        launch, warp_size,
        report::Divergence{condition, parsed,
                           gpu::count_divergence(condition, launch, parsed,
                                                 parse_definitions(definitions), warp_size)});
  }

  report::Page of_vector() const {
    const Dim3 threads = parse_dimensions(block, "--block");
    if (threads.count() > 1024) {
      throw usage_error("a block of {} threads: no GPU takes more than 1,024",
                        format_count(threads.count()));
    }
    return report::vector_bounds_page(vector, static_cast<int>(threads.count()), warp_size);
  }

  report::Page of_matrix() const {
    const std::vector<std::int64_t> numbers = parse_numbers(matrix, "--matrix");
    if (numbers.size() != 2 && numbers.size() != 3) {
      throw usage_error("--matrix {}: write ROWSxCOLUMNS (square products) or MxNxK",
                        printable(matrix, 60));
    }
    return report::tile_loads_page({.operand = operand == "A" ? gpu::Operand::a : gpu::Operand::b,
                                    .m = numbers[0],
                                    .n = numbers[1],
                                    .k = numbers.back(),
                                    .tile = tile},
                                   warp_size);
  }

  // "ph=0:7": ph from 0 to 6.
  gpu::ConditionLoop parse_loop() const {
    if (loop.empty()) return {};
    const std::size_t equals = loop.find('='), colon = loop.find(':');
    if (equals == std::string::npos || colon == std::string::npos || colon < equals ||
        equals == 0) {
      throw usage_error("--for {}: write NAME=FIRST:END, such as ph=0:7", printable(loop, 60));
    }
    const auto first = parse_numbers(loop.substr(equals + 1, colon - equals - 1), "--for");
    const auto last = parse_numbers(loop.substr(colon + 1), "--for");
    if (first.size() != 1 || last.size() != 1) {
      throw usage_error("--for {}: write NAME=FIRST:END, such as ph=0:7", printable(loop, 60));
    }
    return {loop.substr(0, equals), first[0], last[0]};
  }
};

}  // namespace

const Command warps_command{
    "warps", "Show the warps of a block, and which diverge", declare<WarpsCommand>,
    "In a condition: threadIdx, blockIdx, blockDim, gridDim (.x .y .z), warpSize,\n"
    "and the short names tx, ty, bx, by, row, col, i, j (--let changes them).\n"
    "Arithmetic is that of signed 64-bit integers.",
    "tilescope warps --block 16,16\n"
    "tilescope warps 'threadIdx.x > 2' --block 256 --grid 8\n"
    "tilescope warps --vector 1000 --block 256 --show\n"
    "tilescope warps --matrix 100x100 --tile 16 --show\n"
    "tilescope warps 'row < 100' --grid 7,7 --block 16,16"};

}  // namespace tilescope::cli
