// A document of `explain --json` or `check --json` as values that can be compared: counters in all
// and by line and kernel, and findings.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::report {

/// Counters by their keys in JSON.
using Counters = std::map<std::string, double, std::less<>>;

struct SnapshotLine {
  std::string file, source;
  std::uint64_t line = 0;
  Counters counters;
  Counters spread = {};  ///< as in Snapshot
};

struct SnapshotFinding {
  std::string kind, severity, kernel, file, source, message, other_source;
  std::uint64_t line = 0;

  /// Equal for the same finding, wherever its lines have moved to.
  std::string key() const;
};

struct Snapshot {
  std::string origin;  ///< the file, for messages
  std::string command, target, device;
  bool complete = false;
  Counters totals = {};
  std::vector<SnapshotLine> lines = {};
  std::map<std::string, Counters, std::less<>> kernels = {};
  std::vector<SnapshotFinding> findings = {};
  bool is_estimate = false;    ///< its blocks are a sample (explain --blocks)
  bool has_intervals = false;  ///< the sample was drawn at random
  Counters spread = {};        ///< half-widths of the 95% intervals; a counter without one is exact
};

/// Throws Error(bad_input), one line that names `origin`, for a document of another version and for
/// one that is of neither command.
Snapshot snapshot_of(const nlohmann::json& document, const std::string& origin);

/// Throws Error(bad_input) for a file that cannot be read, too.
Snapshot read_snapshot(const std::string& path);

/// "k.cu:12" names line 12 of "src/k.cu" too.
bool is_file(std::string_view path, std::string_view given);

}  // namespace tilescope::report
