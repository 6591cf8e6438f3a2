// Views of lists in host memory: dense elements of any type.
#pragma once

#include <cstddef>

#include "tilescope/types.hpp"

namespace tilescope {

/// Elements that somebody else owns, one after the other.
struct ConstArrayView {
  DataType type = DataType::float32;
  std::size_t count = 0;
  const void* data = nullptr;

  std::size_t bytes() const { return count * size_of(type); }
};

/// The same, writable.
struct ArrayView : ConstArrayView {
  void* mutable_data() const { return const_cast<void*>(data); }
};

}  // namespace tilescope
