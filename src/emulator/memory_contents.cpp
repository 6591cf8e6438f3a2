#include "emulator/memory_contents.hpp"

#include <algorithm>
#include <cstring>

namespace tilescope::emulator {
namespace {

/// Pages that are the same are not written: nobody may have touched them yet.
void copy_differences(std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  for (std::size_t i = 0; i < bytes; i += kPage) {
    const std::size_t part = std::min(kPage, bytes - i);
    if (std::memcmp(to + i, from + i, part) != 0) std::memcpy(to + i, from + i, part);
  }
}

}  // namespace

MemoryContents::MemoryContents(const MemoryMap& memory) {
  for (const auto& [address, allocation] : memory.allocations()) {
    pieces_.push_back({address,
                       {allocation.data(), allocation.data() + allocation.bytes()},
                       allocation.initialisation()});
  }
}

std::uint64_t MemoryContents::bytes_of(const MemoryMap& memory) {
  std::uint64_t bytes = 0;
  for (const auto& [address, allocation] : memory.allocations()) bytes += allocation.bytes();
  return bytes;
}

void MemoryContents::restore(MemoryMap& memory) const {
  auto piece = pieces_.begin();
  for (const auto& [address, unused] : memory.allocations()) {
    Allocation& allocation = *memory.find(address, 0);
    while (piece != pieces_.end() && piece->address < address) ++piece;
    if (piece != pieces_.end() && piece->address == address) {
      copy_differences(allocation.data(), piece->bytes.data(), piece->bytes.size());
      allocation.set_initialisation(piece->initialisation);
    } else {
      std::memset(allocation.data(), 0, allocation.bytes());
    }
  }
}

}  // namespace tilescope::emulator
