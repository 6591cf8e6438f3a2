// Tables for a terminal.
#pragma once

#include <cstddef>
#include <string>

#include "report/page/page.hpp"

namespace tilescope::report {

/// Lines of at most `most` columns, with two spaces or more between the cells of a row and one or
/// more between titles. A table that is too wide loses its padding first; then its widest cells of
/// text are broken into lines; then every row becomes a list of names and values.
std::string table_text(const Table& table, std::size_t most);

}  // namespace tilescope::report
