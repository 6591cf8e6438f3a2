// The blocks and figures of a page as HTML.
#pragma once

#include <string>

#include "report/page/page.hpp"

namespace tilescope::report {

std::string block_html(const Block& block);

/// `number` is the figure's place on the page, from 1: anchors are made of it.
std::string figure_html(const Figure& figure, std::size_t number);

/// A source with its counts, beside its instructions. Anchors are s2-12 for line 12 of figure 2.
std::string source_html(const SourceView& view, std::size_t number);

}  // namespace tilescope::report
