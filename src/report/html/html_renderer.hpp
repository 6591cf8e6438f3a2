// Pages for a browser: one file that needs no other, no network, and no script to be read.
#pragma once

#include <string>

#include "report/page/page.hpp"

namespace tilescope::report {

/// The figures first, then the blocks, then the page as text of 80 columns.
std::string render_html(const Page& page);

}  // namespace tilescope::report
