#include "cli/target_arguments.hpp"

#include "base/errors.hpp"
#include "base/file.hpp"
#include "cli/shared_options.hpp"

namespace tilescope::cli {

void LaunchArguments::declare(const Options& options) {
  command = options.command_name();
  const Options add = options.in_group("Launch");
  add("--kernel NAME", kernel, "Kernel to run: scale, lib::scale or 'scale<16>'");
  add("--grid X[,Y[,Z]]", grid, "Blocks");
  add("--block X[,Y[,Z]]", block, "Threads per block");
  shared_given = add("--shared BYTES", shared, "Dynamic shared memory per block, bytes",
                     up_to(std::uint64_t{1} << 40U));
  add("--arg ARG", arguments,
      "One per parameter, in order: TYPE:VALUE (i32:256, f32:2.5) or "
      "[NAME=]TYPE[COUNT]=INIT[>SAVE.npy], INIT being zeros, ones, iota, random[:SEED], "
      "uninitialised, a number or @FILE.npy; TYPE i8 to i64, u8 to u64, f16, bf16, f32, f64, bool",
      one_at_a_time);
  add("-D NAME[=VALUE]", defines, "Define a macro", one_at_a_time);
  add("-I DIR", includes, "Folder of headers", one_at_a_time);
  add("--cooperative", cooperative, "The kernel synchronises the whole grid");
  add("--launch FILE.json", file, "Read all of the above from a JSON file");
}

LaunchDescription LaunchArguments::description() const {
  LaunchDescription d;
  if (!file.empty()) d = read_launch_file(file);
  if (!kernel.empty()) d.kernel = kernel;
  if (!grid.empty()) d.grid = parse_extents(grid, "grid");
  if (!block.empty()) d.block = parse_extents(block, "block");
  if (shared_given->count() > 0) d.shared_bytes = shared;
  d.cooperative = d.cooperative || cooperative;
  for (const std::string& text : defines) d.defines.push_back(parse_define(text));
  d.include_directories.insert(d.include_directories.end(), includes.begin(), includes.end());
  if (!arguments.empty() && !d.arguments.empty()) {
    throw usage_error("--arg and the \"args\" of {} exclude each other", quoted(file));
  }
  for (const std::string& text : arguments) d.arguments.push_back(parse_argument(text));
  return d;
}

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
  throw usage_error("--tile is for OPERATION/VARIANT; give a file's kernel -D");
}

}  // namespace tilescope::cli
