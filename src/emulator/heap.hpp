// malloc and free of kernels: next fit in one allocation of device memory.
#pragma once

#include <cstdint>
#include <map>

namespace tilescope::emulator {

class KernelHeap {
 public:
  KernelHeap(std::uint64_t address, std::uint64_t bytes)
      : begin_(address), end_(address + bytes), next_(address) {}

  /// Frees everything.
  void clear() { *this = KernelHeap(begin_, end_ - begin_); }
  /// Address of `bytes` (16-byte aligned), or 0 when there is no room.
  std::uint64_t allocate(std::uint64_t bytes);
  /// Returns false if `address` is not the start of a live allocation. 0 is allowed.
  bool free(std::uint64_t address);

 private:
  std::uint64_t room(std::uint64_t from, std::uint64_t size) const;

  std::uint64_t begin_, end_;
  std::uint64_t next_;                           ///< behind the latest allocation
  std::uint64_t hopeless_ = ~std::uint64_t{0};   ///< the least size that did not fit since the last
                                                 ///< free
  std::map<std::uint64_t, std::uint64_t> used_;  ///< start -> bytes
};

}  // namespace tilescope::emulator
