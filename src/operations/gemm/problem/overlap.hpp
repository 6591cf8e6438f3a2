// Whether a result shares memory with an operand.
#pragma once

#include <span>
#include <tilescope/matmul.hpp>

namespace tilescope::operations {

/// Whether any element of `one` shares a byte with an element of `other`. Rows that lie between
/// each other's do not. The matrices of `other` must not overlap each other.
bool overlaps(const ConstMatrixBatch& one, const ConstMatrixBatch& other);

/// Whether one of `c` shares memory with another of them or with one of `others`.
bool any_overlaps(std::span<const MatrixView> c, std::span<const ConstMatrixView> others);

}  // namespace tilescope::operations
