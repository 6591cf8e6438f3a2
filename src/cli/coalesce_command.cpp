#include <fmt/format.h>

#include <tilescope/error.hpp>

#include "cli/access_options.hpp"
#include "cli/command.hpp"
#include "cli/reasoning_options.hpp"
#include "report/access_report.hpp"

namespace tilescope::cli {

void AccessOptions::add_to(CLI::App& command, bool required) {
  auto* option = command
                     .add_option("ACCESS", expression,
                                 "Such as 'A[row*n + k]', or 'tile[ty][k]' with --columns")
                     ->type_name("ACCESS");
  if (required) option->required();
  command.add_option("--block", block, "Extents of a block")
      ->type_name("X[,Y[,Z]]")
      ->capture_default_str();
  command.add_option("--grid", grid, "Extents of the grid")
      ->type_name("X[,Y[,Z]]")
      ->capture_default_str();
  command.add_option("--let", definitions, "Value of a name in the index")
      ->type_name("NAME=EXPRESSION");
  command.add_option("--element-bytes", element_bytes, "Bytes of an element: 1, 2, 4, 8, 16")
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--columns", columns, "Elements of a row, for two subscripts")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 31));
  command.add_option("--warp", warp, "Which warp of the block")
      ->type_name("N")
      ->check(CLI::Range(0, 31))
      ->capture_default_str();
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

void register_coalesce(CLI::App& app, std::function<int()>& run) {
  struct CoalesceCommand {
    AccessOptions access;
    ReasoningOptions options;
  };
  auto command = std::make_shared<CoalesceCommand>();
  CLI::App* sub = app.add_subcommand("coalesce", "Is an access to global memory coalesced?");
  command->access.add_to(*sub, true);
  command->options.add_to(*sub, false);
  sub->footer(
      "An index is coalesced when it is a part free of threadIdx.x, plus threadIdx.x.\n"
      "Known names: threadIdx, blockIdx, blockDim, gridDim (.x .y .z), and as lectures\n"
      "use them tx, ty, bx, by, row, col, i, j. Other names get a value with --let;\n"
      "without one, 1,024 if they multiply something, else 0.\n"
      "\n"
      "Examples:\n"
      "  tilescope coalesce 'A[row*n + k]'\n"
      "  tilescope coalesce 'A[i*n + k]' --let n=1000 --show\n"
      "  tilescope coalesce 'points[3*i]' --block 256\n"
      "  tilescope coalesce 'table[key[i]]'");
  sub->callback([command, &run] {
    run = [command] {
      const gpu::AccessQuestion question = command->access.question(32);
      return command->options.finish(
          report::coalescing_page(question, gpu::analyse_access(question)));
    };
  });
}

}  // namespace tilescope::cli
