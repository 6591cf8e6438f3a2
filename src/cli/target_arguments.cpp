#include "cli/target_arguments.hpp"

#include "base/errors.hpp"
#include "base/file.hpp"
#include "base/parse_number.hpp"
#include "base/text.hpp"
#include "cli/shared_options.hpp"
#include "inspect/program/program_sources.hpp"

namespace tilescope::cli {

void LaunchArguments::declare(const Options& options) {
  command = options.command_name();
  const Options add = options.in_group("Launch");
  add("--kernel NAME", kernel, "Kernel to run: scale, lib::scale or 'scale<16>'");
  add("--grid X[,Y[,Z]]", grid, "Blocks");
  add("--block X[,Y[,Z]]", block, "Threads per block");
  shared_given = add("--shared BYTES", shared, "Dynamic shared memory per block, bytes",
                     up_to(std::uint64_t{1} << 40U));
  add("--cluster X[,Y[,Z]]", cluster, "Blocks per cluster, for a GPU");
  add("--arg ARG", arguments,
      "One per parameter, in order: TYPE:VALUE (i32:256, f32:2.5) or "
      "[NAME=]TYPE[COUNT]=INIT[>SAVE.npy], INIT being zeros, ones, iota, random[:SEED], "
      "uninitialised, a number or @FILE.npy; TYPE i8 to i64, u8 to u64, f16, bf16, f32, f64, "
      "bool; a structure is {MEMBER, ...}",
      one_at_a_time);
  add("--constant NAME=ARG", constants,
      "Set a __constant__ or __device__ variable: NAME=TYPE[COUNT]=INIT", one_at_a_time);
  add("--guessed NAME,...", guessed,
      "Say in the report that these are guesses: grid, block, a parameter's name");
  add("-D NAME[=VALUE]", defines, "Define a macro", one_at_a_time);
  add("-I DIR", includes, "Folder of headers", one_at_a_time);
  add("--cooperative", cooperative, "The kernel synchronises the whole grid");
  if (takes_number) {
    add("--launch FILE.json|N", file,
        "Read all of the above from a JSON file; for a program: count only launch N, from 0");
  } else {
    add("--launch FILE.json", file, "Read all of the above from a JSON file");
  }
}

std::optional<std::uint64_t> LaunchArguments::number() const {
  return takes_number ? parse_number<std::uint64_t>(file) : std::nullopt;
}

bool LaunchArguments::describes_launch() const {
  return !kernel.empty() || !grid.empty() || !block.empty() || shared_given->count() > 0 ||
         cooperative || !cluster.empty() || !guessed.empty() || !arguments.empty() ||
         !constants.empty() || (!file.empty() && !number());
}

void LaunchArguments::add_compiler_options(LaunchDescription& launch) const {
  for (const std::string& text : defines) launch.defines.push_back(parse_define(text));
  launch.include_directories.insert(launch.include_directories.end(), includes.begin(),
                                    includes.end());
}

LaunchDescription LaunchArguments::several(LaunchDescription first) const {
  LaunchArguments others = *this;
  others.file.clear();
  if (others.describes_launch()) {
    throw usage_error("{} has several launches; beside it only -D and -I are taken", quoted(file));
  }
  add_compiler_options(first);
  for (LaunchDescription& launch : first.following) add_compiler_options(launch);
  return first;
}

LaunchDescription LaunchArguments::description() const {
  LaunchDescription d;
  if (!file.empty()) d = read_launch_file(file);
  if (!d.following.empty()) return several(std::move(d));
  if (!kernel.empty()) d.kernel = kernel;
  if (!grid.empty()) d.grid = parse_extents(grid, "grid");
  if (!block.empty()) d.block = parse_extents(block, "block");
  if (!cluster.empty()) d.cluster = parse_extents(cluster, "cluster");
  if (shared_given->count() > 0) d.shared_bytes = shared;
  d.cooperative = d.cooperative || cooperative;
  add_compiler_options(d);
  for (const std::string& text : constants) d.constants.push_back(parse_constant(text));
  for (const std::string_view name : split(guessed, ',')) {
    if (!trim(name).empty()) d.guessed.emplace_back(trim(name));
  }
  if (!arguments.empty() && !d.arguments.empty()) {
    throw usage_error("--arg and the \"args\" of {} exclude each other", quoted(file));
  }
  for (const std::string& text : arguments) d.arguments.push_back(parse_argument(text));
  return d;
}

void TargetArguments::declare(const Options& add) {
  add("TARGET", what,
      "A program (.cu with a main(), an executable, a script), a kernel in a .cu or .ptx file, or "
      "OPERATION/VARIANT, such as matmul/tiled_16",
      required);
  add.in_group("Problem")("--tile W", tile, "Tile width of the variant: matmul/tiled --tile 16",
                          within(1, 1024));
  declare_problem(add, problem);
  launch.declare(add);
  program.declare(add);
  add("--device DEVICE", device, "emulated or emulated:GPU, such as emulated:t4");
  add("--max-instructions N", max_instructions,
      "Stop each launch after N warp instructions and report the findings so far",
      up_to(std::uint64_t{1} << 62U));
  add.interpret();
}

std::optional<Program> given_program(const std::string& target, const LaunchArguments& launch,
                                     const ProgramArguments& program) {
  if (launch.describes_launch() || !inspect::is_program(target, program.words(), launch.includes)) {
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
  throw usage_error("--tile is for OPERATION/VARIANT; give a file's kernel -D");
}

}  // namespace tilescope::cli
