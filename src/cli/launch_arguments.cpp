#include "cli/launch_arguments.hpp"

#include <fmt/format.h>

#include <charconv>
#include <tilescope/error.hpp>

#include "base/file.hpp"

namespace tilescope::cli {

void LaunchArguments::add_to(CLI::App& app) {
  constexpr const char* group = "Launch";
  command = app.get_name();
  app.add_option("--kernel", kernel, "Kernel to run: scale, lib::scale or 'scale<16>'")
      ->type_name("NAME")
      ->group(group);
  app.add_option("--grid", grid, "Blocks")->type_name("X[,Y[,Z]]")->group(group);
  app.add_option("--block", block, "Threads per block")->type_name("X[,Y[,Z]]")->group(group);
  shared_given = app.add_option("--shared", shared, "Dynamic shared memory per block, bytes")
                     ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 40U).description(""))
                     ->type_name("BYTES")
                     ->group(group);
  app.add_option("--arg", arguments,
                 "One per parameter, in order: TYPE:VALUE (i32:256, f32:2.5) or "
                 "[NAME=]TYPE[COUNT]=INIT[>SAVE.npy], INIT being zeros, ones, iota, random[:SEED], "
                 "uninitialised, a number or @FILE.npy; TYPE i8 to i64, u8 to u64, f16, bf16, "
                 "f32, f64, bool")
      ->type_name("ARG")
      ->allow_extra_args(false)
      ->group(group);
  app.add_option("-D", defines, "Define a macro")
      ->type_name("NAME[=VALUE]")
      ->allow_extra_args(false)
      ->group(group);
  app.add_option("-I", includes, "Folder of headers")
      ->type_name("DIR")
      ->allow_extra_args(false)
      ->group(group);
  app.add_flag("--cooperative", cooperative, "The kernel synchronises the whole grid")
      ->group(group);
  app.add_option("--launch", file,
                 takes_number ? "Read all of the above from a JSON file; for a program: "
                                "count only launch N, from 0"
                              : "Read all of the above from a JSON file")
      ->type_name(takes_number ? "FILE.json|N" : "FILE.json")
      ->group(group);
}

std::optional<std::uint64_t> LaunchArguments::number() const {
  std::uint64_t value = 0;
  const char* const end = file.data() + file.size();
  const auto [stop, error] = std::from_chars(file.data(), end, value);
  if (!takes_number || file.empty() || error != std::errc() || stop != end) return std::nullopt;
  return value;
}

bool LaunchArguments::describes_launch() const {
  return !kernel.empty() || !grid.empty() || !block.empty() || shared_given->count() > 0 ||
         cooperative || !arguments.empty() || (!file.empty() && !number());
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
    throw Error(ErrorKind::usage,
                fmt::format("--arg and the \"args\" of {} exclude each other", quoted(file)));
  }
  for (const std::string& text : arguments) d.arguments.push_back(parse_argument(text));
  return d;
}

}  // namespace tilescope::cli
