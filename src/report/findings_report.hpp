// The findings of `check`: each with its source lines, its threads and its cure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "report/source_text.hpp"
#include "tilescope/finding.hpp"

namespace tilescope::report {

/// One finding, several lines of at most 80 columns (source quotations are cut to fit).
std::string finding_text(const Finding& finding, SourceTexts& sources);

/// All findings, with an empty line after each. Of many of one kind about the same variable only
/// the first few are printed.
std::string findings_text(const std::vector<Finding>& findings, SourceTexts& sources);

/// "2 errors, 1 warning", or "no defects found".
std::string findings_foot(const std::vector<Finding>& findings);

/// The elements of `reports` in JSON.
nlohmann::json findings_json(const std::vector<Finding>& findings, SourceTexts& sources);

}  // namespace tilescope::report
