// The files that a command writes besides its text.
#pragma once

#include <string>

namespace tilescope::cli {

/// Names of files; empty: none is wanted.
struct Outputs {
  std::string json;             ///< "-": standard output, in place of the text
  std::string html = {};        ///< a page for a browser
  std::string trace = {};       ///< launches, blocks and waits, in Chrome's format
  std::string format = "text";  ///< of standard output: "text" or one of report::format_names()
};

}  // namespace tilescope::cli
