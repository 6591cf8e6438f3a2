#include "emulator/heap.hpp"

namespace tilescope::emulator {

std::uint64_t KernelHeap::allocate(std::uint64_t bytes) {
  if (bytes > kBytes) return 0;
  const std::uint64_t size = bytes == 0 ? 16 : (bytes + 15) / 16 * 16;
  std::uint64_t at = begin_;
  for (const auto& [start, used] : used_) {
    if (start - at >= size) break;
    at = start + used;
  }
  if (at + size > begin_ + kBytes) return 0;
  used_[at] = size;
  return at;
}

bool KernelHeap::free(std::uint64_t address) {
  return address == 0 || used_.erase(address) == 1;
}

}  // namespace tilescope::emulator
