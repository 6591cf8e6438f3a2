// Memory for frames and for the memory of blocks. What one launch frees the next one takes: from
// the system it would come as pages to be cleared, each time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tilescope::emulator {

struct FreeAligned {
  std::size_t bytes = 0;
  void operator()(std::uint8_t* p) const;
};
using AlignedBytes = std::unique_ptr<std::uint8_t[], FreeAligned>;
/// Allocates bytes, 64-byte aligned and uninitialised.
AlignedBytes allocate_aligned(std::size_t bytes);

}  // namespace tilescope::emulator
