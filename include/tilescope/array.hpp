// Views of lists in host memory: dense elements of any type. Views own nothing.
//
//     std::vector<float> x(n);
//     const ConstArrayView in{DataType::float32, x.size(), x.data()};
#pragma once

#include <cstddef>

#include "tilescope/types.hpp"

namespace tilescope {

/// A read-only list: `count` contiguous elements of `type`, owned by the caller.
struct ConstArrayView {
  DataType type = DataType::float32;
  std::size_t count = 0;
  const void* data = nullptr;

  std::size_t bytes() const { return count * size_of(type); }
};

/// A list that can be written.
struct ArrayView : ConstArrayView {
  void* mutable_data() const { return const_cast<void*>(data); }
};

}  // namespace tilescope
