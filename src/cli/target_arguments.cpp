#include "cli/target_arguments.hpp"

#include <tilescope/error.hpp>

#include "cli/problem_arguments.hpp"

namespace tilescope::cli {

void TargetArguments::add_to(CLI::App& command) {
  command
      .add_option(
          "TARGET", what,
          "A program (.cu with a main(), an executable, a script), a kernel in a .cu or .ptx "
          "file, or OPERATION/VARIANT, such as matmul/tiled_16")
      ->required()
      ->type_name("TARGET");
  command.add_option("--tile", tile, "Tile width of the variant: matmul/tiled --tile 16")
      ->check(CLI::Range(1, 1024))
      ->type_name("W")
      ->group("Problem");
  add_problem_options(command, problem);
  launch.add_to(command);
  program.add_to(command);
  command.add_option("--device", device, "emulated or emulated:GPU, such as emulated:t4")
      ->type_name("DEVICE");
  command
      .add_option("--max-instructions", max_instructions,
                  "Stop each launch after N warp instructions and report the findings so far")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 62U).description(""))
      ->type_name("N");
}

std::optional<Program> given_program(const std::string& target, const LaunchArguments& launch,
                                     const ProgramArguments& program) {
  if (launch.describes_launch() || !program.is_program(target)) {
    program.require_none(target);
    return std::nullopt;
  }
  return program.program(target, launch.defines, launch.includes);
}

LaunchDescription TargetArguments::description() const {
  return launch.describes_launch() || !std::holds_alternative<Program>(target())
             ? launch.description()
             : LaunchDescription{};
}

Target TargetArguments::target() const {
  if (auto given = given_program(what, launch, program)) return *std::move(given);
  if (!is_file()) return LadderRung{.name = what, .problem = problem, .tile = tile};
  if (tile == 0) return SourceFile{what};
  throw Error(ErrorKind::usage, "--tile is for OPERATION/VARIANT; give a file's kernel -D");
}

}  // namespace tilescope::cli
