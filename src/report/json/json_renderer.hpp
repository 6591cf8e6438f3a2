// Pages as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "report/page/page.hpp"

namespace tilescope::report {

/// The version of the document.
inline constexpr int json_version = 1;

nlohmann::json json_of(const Record& record);

/// The document: {"version", "command", "steps" if they are shown, ...the page's
/// data}.
nlohmann::json json_of(const Page& page);

/// The same as text with a line break at its end. Bytes that are no UTF-8 become U+FFFD.
std::string render_json(const Page& page);

}  // namespace tilescope::report
