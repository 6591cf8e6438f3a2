// Pages of a report, printed or written as JSON.
#pragma once

#include <string>
#include <string_view>

#include "report/text/text_renderer.hpp"

namespace tilescope::cli {

/// Prints `page`, unless JSON goes to standard output, and writes its JSON to `json_target`: a file
/// (complete or not at all) or, for "-", standard output; nothing for an empty target.
void show(const report::Page& page, const std::string& json_target,
          const report::TextStyle& style = {});

/// Prints what `page` has by now, unless JSON goes to standard output, and drops it from the page.
void show_so_far(report::Page& page, const std::string& json_target);

/// After a failure of `command`: the error as JSON on standard output, unless a document is there
/// already.
void show_failure(std::string_view command, const std::string& message, int exit_code);

}  // namespace tilescope::cli
