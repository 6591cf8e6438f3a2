// Pages for a terminal.
#pragma once

#include <string>

#include "report/page/page.hpp"

namespace tilescope::report {

struct TextStyle {
  std::size_t columns = 80;  ///< source lines are cut to fit; everything else takes at most 80
  bool colour = false;
};

std::string render_text(const Page& page, const TextStyle& style = {});

}  // namespace tilescope::report
