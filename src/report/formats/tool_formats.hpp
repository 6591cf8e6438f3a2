// Forms of an outcome that other tools read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/page/outcome.hpp"

namespace tilescope::report {

/// Names that a renderer needs besides the outcome.
struct FormatContext {
  std::string command;  ///< "check"
  std::string version;  ///< of Tilescope
};

/// "gcc", "github", "sarif" and "junit".
std::vector<std::string> format_names();

/// The outcome in the form of that name.
std::string render_format(std::string_view name, const Outcome& outcome,
                          const FormatContext& context);

/// A line for each annotation and each further place, as compilers write them:
/// "k.cu:12:3: error: ... [race]".
std::string render_gcc(const Outcome& outcome, const FormatContext& context);
/// Workflow commands of GitHub Actions: annotations at lines of a pull request.
std::string render_github(const Outcome& outcome, const FormatContext& context);
/// SARIF 2.1.0, within the limits of GitHub's code scanning.
std::string render_sarif(const Outcome& outcome, const FormatContext& context);
/// JUnit's XML as Ant writes it: a test case for each kernel and budget. Its time stamp is the
/// present, or SOURCE_DATE_EPOCH if the environment has it.
std::string render_junit(const Outcome& outcome, const FormatContext& context);

/// Column of the first character of the line's code, from 1.
std::size_t column_of(const AnnotatedPlace& place);
/// The path from the working folder if the file lies below it, else as it is.
std::string path_of(const std::string& file);
/// The annotation's lines in the form of render_gcc.
std::string lines_of(const Annotation& annotation, const Outcome& outcome);

}  // namespace tilescope::report
