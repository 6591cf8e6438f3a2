#include "cli/target_arguments.hpp"

#include <tilescope/error.hpp>

#include "cli/problem_arguments.hpp"

namespace tilescope::cli {

void TargetArguments::add_to(CLI::App& command) {
  command
      .add_option("TARGET", what,
                  "OPERATION/VARIANT, such as matmul/tiled_16, or a .cu or .ptx file")
      ->required()
      ->type_name("TARGET");
  command.add_option("--tile", tile, "Tile width of the variant: matmul/tiled --tile 16")
      ->check(CLI::Range(1, 1024))
      ->type_name("W")
      ->group("Problem");
  add_problem_options(command, problem);
  launch.add_to(command);
  command.add_option("--device", device, "emulated or emulated:GPU, such as emulated:t4")
      ->type_name("DEVICE");
  command
      .add_option("--max-instructions", max_instructions,
                  "Stop each launch after N warp instructions and report the findings so far")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 62U).description(""))
      ->type_name("N");
}

Target TargetArguments::target() const {
  if (!is_file()) return LadderRung{.name = what, .problem = problem, .tile = tile};
  if (tile == 0) return SourceFile{what};
  throw Error(ErrorKind::usage, "--tile is for OPERATION/VARIANT; give a file's kernel -D");
}

}  // namespace tilescope::cli
