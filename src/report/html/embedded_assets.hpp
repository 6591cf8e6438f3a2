// The style sheet and the script of pages. CMake generates the table from the files beside this
// one.
#pragma once

#include <span>
#include <string_view>

namespace tilescope::report {

struct EmbeddedAsset {
  std::string_view name;  ///< "page.css" or "page.js"
  std::string_view text;
};

std::span<const EmbeddedAsset> embedded_assets();

}  // namespace tilescope::report
