#include <fmt/format.h>

#include <tilescope/error.hpp>

#include "cli/access_options.hpp"
#include "cli/command.hpp"
#include "cli/reasoning_options.hpp"
#include "report/access_report.hpp"

namespace tilescope::cli {

void AccessOptions::declare(const Options& add) {
  add("--block X[,Y[,Z]]", block, "Extents of a block", shown);
  add("--grid X[,Y[,Z]]", grid, "Extents of the grid", shown);
  add("--let NAME=EXPRESSION", definitions, "Value of a name in the index");
  add("--element-bytes N", element_bytes, "Bytes of an element: 1, 2, 4, 8, 16", shown);
  add("--columns N", columns, "Elements of a row, for two subscripts",
      within(std::int64_t{0}, std::int64_t{1} << 31));
  add("--warp N", warp, "Which warp of the block", shown, within(0, 31));
}

gpu::AccessQuestion AccessOptions::question(int shared_banks) const {
  return {
      .expression = expression,
      .definitions = parse_definitions(definitions),
      .launch = {.grid = parse_extents(grid, "--grid"), .block = parse_extents(block, "--block")},
      .element_bytes = element_bytes,
      .columns = columns,
      .warp = static_cast<std::uint64_t>(warp),
      .shared_banks = shared_banks};
}

namespace {

struct CoalesceCommand {
  AccessOptions access;
  ReasoningOptions options;

  void declare(const Options& add) {
    add("ACCESS", access.expression, AccessOptions::help, required);
    access.declare(add);
    options.declare(add, false);
  }

  int run() const {
    const gpu::AccessQuestion question = access.question(32);
    return options.finish(report::coalescing_page(question, gpu::analyse_access(question)));
  }
};

}  // namespace

const Command coalesce_command{
    "coalesce", "Is an access to global memory coalesced?", declare<CoalesceCommand>,
    "An index is coalesced when it is a part free of threadIdx.x, plus threadIdx.x.\n"
    "Known names: threadIdx, blockIdx, blockDim, gridDim (.x .y .z), and as lectures\n"
    "use them tx, ty, bx, by, row, col, i, j. Other names get a value with --let;\n"
    "without one, 1,024 if they multiply something, else 0.",
    "tilescope coalesce 'A[row*n + k]'\n"
    "tilescope coalesce 'A[i*n + k]' --let n=1000 --show\n"
    "tilescope coalesce 'points[3*i]' --block 256\n"
    "tilescope coalesce 'table[key[i]]'"};

}  // namespace tilescope::cli
