// The options of every reasoning command: --gpu, --show, --json.
#pragma once

#include <optional>
#include <string>
#include <tilescope/gpu/gpu_table.hpp>
#include <tilescope/launch.hpp>
#include <vector>

#include "cli/options.hpp"
#include "report/page/page.hpp"

namespace tilescope::cli {

struct ReasoningOptions {
  std::string gpu_name = "h200", json;
  bool show = false;

  void declare(const Options& add, bool with_gpu = true);
  gpu::Gpu gpu() const { return gpu::find_gpu(gpu_name); }

  /// Prints `page`, with its steps if requested.
  int finish(report::Page page) const;
};

/// "16,16" or "16x16x1" as extents; throws Error(usage) naming `option`.
Dim3 parse_extents(const std::string& text, std::string_view option);
/// "100x80" or "100,80": as many whole numbers as there are; throws Error(usage).
std::vector<std::int64_t> parse_numbers(const std::string& text, std::string_view option);
/// NAME=EXPRESSION pairs as a map; throws Error(usage).
std::map<std::string, std::string> parse_definitions(const std::vector<std::string>& pairs);

}  // namespace tilescope::cli
