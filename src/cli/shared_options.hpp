// The options that several commands share: of a problem, of a calculation, of an access given as
// text.
#pragma once

#include <optional>
#include <string>
#include <tilescope/gpu/access.hpp>
#include <tilescope/gpu/gpu_table.hpp>
#include <tilescope/launch.hpp>
#include <vector>

#include "cli/options.hpp"
#include "operations/registry.hpp"
#include "report/page/page.hpp"

namespace tilescope::cli {

/// Declares --size, --rows, ... and --seed. Making the problem checks which of them the
/// operation takes.
void declare_problem(const Options& command, ProblemOptions& options);

/// The options of every calculation: --gpu, --show, --json, --html.
struct ReasoningOptions {
  std::string gpu_name = "h200";
  Outputs outputs;
  bool show = false;

  void declare(const Options& add, bool with_gpu = true);
  gpu::Gpu gpu() const { return gpu::find_gpu(gpu_name); }

  /// Prints `page`, with its steps if requested.
  int finish(report::Page page) const;
};

/// "16,16" or "16x16x1" as extents; throws Error(usage) naming `option`. Stricter than
/// parse_extents() of a launch, whose limits the device checks.
Dim3 parse_dimensions(const std::string& text, std::string_view option);
/// "100x80" or "100,80": as many whole numbers as there are; throws Error(usage).
std::vector<std::int64_t> parse_numbers(const std::string& text, std::string_view option);
/// NAME=EXPRESSION pairs as a map; throws Error(usage).
std::map<std::string, std::string> parse_definitions(const std::vector<std::string>& pairs);

/// The options of the commands that analyse an access given as text.
struct AccessOptions {
  static constexpr const char* help = "Such as 'A[row*n + k]', or 'tile[ty][k]' with --columns";
  std::string expression, block = "32,8", grid = "4,4";
  std::vector<std::string> definitions;
  int element_bytes = 4;
  std::int64_t columns = 0, warp = 0;

  /// Declares all but ACCESS, whose help is above.
  void declare(const Options& add);
  gpu::AccessQuestion question(int shared_banks) const;
};

}  // namespace tilescope::cli
