#include "cli/target_arguments.hpp"

#include <tilescope/error.hpp>

#include "cli/problem_arguments.hpp"

namespace tilescope::cli {

void TargetArguments::declare(const Options& add) {
  add("TARGET", what, "OPERATION/VARIANT, such as matmul/tiled_16, or a .cu or .ptx file",
      required);
  add.in_group("Problem")("--tile W", tile, "Tile width of the variant: matmul/tiled --tile 16",
                          within(1, 1024));
  declare_problem(add, problem);
  launch.declare(add);
  add("--device DEVICE", device, "emulated or emulated:GPU, such as emulated:t4");
  add("--max-instructions N", max_instructions,
      "Stop each launch after N warp instructions and report the findings so far",
      up_to(std::uint64_t{1} << 62U));
}

Target TargetArguments::target() const {
  if (!is_file()) return LadderRung{.name = what, .problem = problem, .tile = tile};
  if (tile == 0) return SourceFile{what};
  throw Error(ErrorKind::usage, "--tile is for OPERATION/VARIANT; give a file's kernel -D");
}

}  // namespace tilescope::cli
