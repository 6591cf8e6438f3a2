#include "cudart/state/stream_operation.hpp"

namespace tilescope::cudart {

CopySide CopySide::at(std::size_t row, std::size_t slice) const {
  CopySide side = *this;
  side.address += slice * slice_pitch + row * pitch;
  return side;
}

}  // namespace tilescope::cudart
