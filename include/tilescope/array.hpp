// Views of lists in host memory: dense elements of any type. Views own nothing.
//
//     std::vector<float> x(n), y(n);
//     reverse(*device, x, y);                            // a vector, array or span is a view
//     reverse(*device, {DataType::float16, n, in}, {DataType::float16, n, out});
#pragma once

#include <cstddef>

#include "tilescope/element_type.hpp"
#include "tilescope/types.hpp"

namespace tilescope {

/// A read-only list: `count` contiguous elements of `type`, owned by the caller.
struct ConstArrayView {
  DataType type = DataType::float32;
  std::size_t count = 0;
  const void* data = nullptr;

  ConstArrayView() = default;
  ConstArrayView(DataType element_type, std::size_t elements, const void* first)
      : type(element_type), count(elements), data(first) {}
  template <ElementRange Range>
  ConstArrayView(const Range& elements)
      : type(data_type_of<std::ranges::range_value_t<Range>>()),
        count(std::ranges::size(elements)),
        data(std::ranges::data(elements)) {}

  std::size_t bytes() const { return count * size_of(type); }
};

/// A list that can be written.
struct ArrayView : ConstArrayView {
  ArrayView() = default;
  ArrayView(DataType element_type, std::size_t elements, void* first)
      : ConstArrayView(element_type, elements, first) {}
  template <MutableElementRange Range>
  ArrayView(Range&& elements) : ConstArrayView(elements) {}

  void* mutable_data() const { return const_cast<void*>(data); }
};

}  // namespace tilescope
