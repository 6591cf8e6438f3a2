// Results of check() and explain() as documents: for people, for browsers and for other tools; and
// budgets, which decide whether a result passes.
//
//     const tilescope::CheckResult result = tilescope::check(tilescope::SourceFile{"race.cu"},
//     launch); const tilescope::Report report =
//         tilescope::make_report(result, {.format = tilescope::ReportFormat::sarif});
//     std::ofstream("race.sarif") << report.text;
//     return report.passes ? 0 : 1;
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilescope/check.hpp"
#include "tilescope/explain.hpp"

namespace tilescope {

/// The form of a report; docs/ci.md describes those for other tools.
enum class ReportFormat : std::uint8_t {
  text,    ///< 80 columns
  json,    ///< as --json writes it
  html,    ///< one page; explain() needs InspectOptions::pictures for all of its pictures
  gcc,     ///< a line for each finding
  github,  ///< annotations of a pull request
  sarif,   ///< SARIF 2.1.0
  junit,   ///< a test case for each kernel and budget
};

struct ReportOptions {
  ReportFormat format = ReportFormat::text;
  std::string file = {};  ///< the source, for findings without a line; empty: it is none
  /// Conditions on counters, such as "shared_load_conflicts == 0" or "k.cu:25 instructions < 900".
  std::vector<std::string> assertions = {};
  std::string baseline = {};  ///< a former report in JSON, by its path: no count may grow, no
                              ///< finding may be new; empty: none
  /// How much a count may grow beyond the baseline, such as "instructions=5%".
  std::vector<std::string> tolerances = {};
  bool allow_warnings = false;  ///< only findings that are errors fail
};

struct Report {
  std::string text;
  /// No finding but notes, every budget holds, and the run is complete and launched a kernel.
  bool passes = false;
};

/// Errors: usage for what is no condition or tolerance, for an unknown counter, and for a baseline
/// of another target, command or device; bad_input for a baseline that cannot be read.
Report make_report(const CheckResult& result, const ReportOptions& options = {});
Report make_report(const ExplainResult& result, const ReportOptions& options = {});

}  // namespace tilescope
