// Extents of a product as commands take them.
#pragma once

#include <string_view>
#include <tilescope/matmul.hpp>

namespace tilescope::operations {

/// What an option --shape says, "1000x999x1001": rows of A, columns of B, columns of A. Throws
/// Error(usage) unless these are three whole numbers of at least 1.
MatmulShape parse_shape(std::string_view text);

}  // namespace tilescope::operations
