#include <tilescope/gpu/tiles.hpp>

#include "base/errors.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/shared_options.hpp"
#include "report/tiles_report.hpp"

namespace tilescope::cli {
namespace {

struct TilesCommand {
  ReasoningOptions options;
  std::vector<std::string> tiles;
  std::int64_t size = 0, rows = 0, columns = 0, inner = 0, registers = 0;

  // "16", "128x128x8" or "128x128x8/8x8".
  static gpu::TileShape parse_tile(const std::string& text) {
    const std::size_t slash = text.find('/');
    const std::vector<std::int64_t> block = parse_numbers(text.substr(0, slash), "--tile");
    const std::vector<std::int64_t> thread = slash == std::string::npos
                                                 ? std::vector<std::int64_t>{1, 1}
                                                 : parse_numbers(text.substr(slash + 1), "--tile");
    const bool shape = (block.size() == 1 && slash == std::string::npos) || block.size() == 3;
    for (const auto& numbers : {block, thread}) {
      for (const std::int64_t n : numbers) {
        if (!shape || thread.size() != 2 || n < 1 || n > 4096) {
          throw usage_error(
              "--tile {}: write a width (16) or ROWSxCOLUMNSxDEPTH, with /ROWSxCOLUMNS for a "
              "thread's part (128x128x8/8x8); 1 to 4,096",
              printable(text, 60));
        }
      }
    }
    const auto part = [](std::int64_t n) { return static_cast<int>(n); };
    if (block.size() == 1) return gpu::TileShape::square(part(block[0]));
    return {part(block[0]), part(block[1]), part(block[2]), part(thread[0]), part(thread[1])};
  }

  void declare(const Options& add) {
    add("--tile TILE", tiles,
        "A width, or ROWSxCOLUMNSxDEPTH[/ROWSxCOLUMNS of a thread]; several times (default: 2, 4, "
        "8, 16, 32)");
    add("--size N", size, "m = n = k of the product");
    add("-m,--rows M", rows, "Rows of A and C");
    add("-n,--columns N", columns, "Columns of B and C");
    add("-k,--inner K", inner, "Columns of A, rows of B");
    add("--registers N", registers, "Registers per thread (0: not counted)", within(0, 255));
    options.declare(add);
  }

  int run() const {
    report::TilesContext context{.gpu = options.gpu(), .problem = {}, .plans = {}, .best = {}};
    if (size != 0 || rows != 0 || columns != 0 || inner != 0) {
      const auto extent = [this](std::int64_t given, std::string_view name) {
        const std::int64_t value = given != 0 ? given : size;
        if (value < 1 || value > (std::int64_t{1} << 31)) {
          throw usage_error("{} {}: 1 to 2^31 are allowed", name, value);
        }
        return value;
      };
      context.problem = MatmulShape{extent(rows, "--rows"), extent(columns, "--columns"),
                                    extent(inner, "--inner")};
    }
    std::vector<gpu::TileShape> shapes;
    for (const std::string& tile : tiles) shapes.push_back(parse_tile(tile));
    if (shapes.empty()) {
      for (const int width : gpu::tile_widths) shapes.push_back(gpu::TileShape::square(width));
    }
    for (const gpu::TileShape& shape : shapes) {
      context.plans.push_back(gpu::plan_tile(shape, context.gpu.properties, context.gpu.units,
                                             registers, context.problem));
    }
    context.best = gpu::best_plan(context.plans, context.gpu.properties);
    return options.finish(report::tiles_page(context));
  }
};

}  // namespace

const Command tiles_command{
    "tiles", "Tile sizes of a matrix product, and the best one", declare<TilesCommand>,
    "pending: loads that an SM's blocks have in flight at the start of a phase. The\n"
    "estimate orders the tiles; it is no measurement. The kernel that chooses its\n"
    "width at run time (matmul/tiled_dynamic) asks this planner.",
    "tilescope tiles --size 1024 --gpu h200\n"
    "tilescope tiles --tile 16 --tile 32 --gpu s3-1536 --show\n"
    "tilescope tiles --tile 128x128x8/8x8 --registers 128 -m 4096 -n 4096 -k 64"};

}  // namespace tilescope::cli
