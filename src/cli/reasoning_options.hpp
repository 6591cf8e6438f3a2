// The options that every reasoning command has: --gpu, --show, --json.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <tilescope/gpu/gpu_table.hpp>
#include <tilescope/launch.hpp>
#include <vector>

#include "report/steps.hpp"

namespace tilescope::cli {

struct ReasoningOptions {
  std::string gpu_name = "h200", json;
  bool show = false;

  void add_to(CLI::App& command, bool with_gpu = true);
  gpu::Gpu gpu() const { return gpu::find_gpu(gpu_name); }

  /// Prints `text` with the steps, if they are wanted, unless JSON goes to standard output; then
  /// writes `json_body` with version, command and steps added.
  void finish(std::string_view command, const std::string& text, const report::Steps& steps,
              nlohmann::json json_body) const;
};

/// "16,16" or "16x16x1" as extents; throws Error(usage) naming `option`.
Dim3 parse_extents(const std::string& text, std::string_view option);
/// "100x80" or "100,80": as many whole numbers as there are; throws Error(usage).
std::vector<std::int64_t> parse_numbers(const std::string& text, std::string_view option);
/// NAME=EXPRESSION pairs as a map; throws Error(usage).
std::map<std::string, std::string> parse_definitions(const std::vector<std::string>& pairs);

}  // namespace tilescope::cli
