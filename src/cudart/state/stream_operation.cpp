#include "cudart/state/stream_operation.hpp"

namespace tilescope::cudart {

CopySide CopySide::at(std::size_t row, std::size_t slice) const {
  CopySide side = *this;
  side.address += slice * slice_pitch + row * pitch;
  side.y += row;
  side.z += slice;
  return side;
}

std::size_t extent(const CopySide& side, std::size_t row_bytes, std::size_t rows,
                   std::size_t slices) {
  return (slices - 1) * side.slice_pitch + (rows - 1) * side.pitch + row_bytes;
}

}  // namespace tilescope::cudart
