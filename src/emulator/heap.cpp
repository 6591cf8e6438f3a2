#include "emulator/heap.hpp"

namespace tilescope::emulator {

/// Allocates behind the previous allocation, and only at the end of the heap from its start again.
/// Freed memory is reused late, so that threads which use it one after the other are not taken for
/// racing.
std::uint64_t KernelHeap::allocate(std::uint64_t bytes) {
  if (bytes > end_ - begin_) return 0;
  const std::uint64_t size = bytes == 0 ? 16 : (bytes + 15) / 16 * 16;
  if (size >= hopeless_) return 0;
  std::uint64_t at = room(next_, size);
  if (at == 0) at = room(begin_, size);
  if (at == 0) {
    hopeless_ = size;
    return 0;
  }
  used_[at] = size;
  next_ = at + size;
  return at;
}

/// The first free gap of `size` bytes at or behind `from`; 0: none.
std::uint64_t KernelHeap::room(std::uint64_t from, std::uint64_t size) const {
  for (auto used = used_.lower_bound(from); used != used_.end(); ++used) {
    if (used->first - from >= size) return from;
    from = used->first + used->second;
  }
  return from + size <= end_ ? from : 0;
}

bool KernelHeap::free(std::uint64_t address) {
  if (address == 0) return true;
  hopeless_ = ~std::uint64_t{0};
  return used_.erase(address) == 1;
}

}  // namespace tilescope::emulator
