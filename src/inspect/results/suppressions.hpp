// A project's decisions about findings of check: which it accepts, for which reason, and which
// severity a kind has.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tilescope/check.hpp>
#include <vector>

namespace tilescope::inspect {

/// Findings that a project accepts. Empty members and line 0 stand for any.
struct Suppression {
  FindingKind kind = FindingKind::race;
  std::string kernel, file;
  std::uint32_t line = 0;
  std::string reason;
  std::uint64_t used = 0;  ///< findings that it took

  /// "race in scale at k.cu:12"
  std::string name() const;
};

class Suppressions {
 public:
  Suppressions() = default;
  /// Reads {"suppress": [{"kind", "kernel", "place", "reason"}, ...], "severity": {KIND:
  /// SEVERITY}}. A place is FILE or FILE:LINE. Throws Error(bad_input), one line that names the
  /// file, for anything else, and for a suppression without a reason.
  explicit Suppressions(const std::string& path);

  /// Takes the accepted findings from `result` and gives the others their severities.
  void apply(CheckResult& result);

  const std::vector<Suppression>& all() const { return suppressions_; }

 private:
  std::vector<Suppression> suppressions_;
  std::map<FindingKind, Severity> severities_;
};

}  // namespace tilescope::inspect
