// Extents of a product in the form that commands take.
#pragma once

#include <string_view>
#include <tilescope/matmul.hpp>

namespace tilescope::operations {

/// The value of an option --shape, "1000x999x1001": rows of A, columns of B, columns of A. Throws
/// Error(usage) unless these are three whole numbers of at least 1.
MatmulShape parse_shape(std::string_view text);

}  // namespace tilescope::operations
