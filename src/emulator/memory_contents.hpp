// A copy of everything in a device's memory, to run a launch again from the same state and to
// compare what two runs left.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/memory_map.hpp"

namespace tilescope::emulator {

class MemoryContents {
 public:
  explicit MemoryContents(const MemoryMap& memory);
  /// The bytes that a copy would take.
  static std::uint64_t bytes_of(const MemoryMap& memory);
  /// Puts everything back, writing only what differs. Allocations that are not in the copy, which a
  /// launch has made, are zeroed.
  void restore(MemoryMap& memory) const;

  struct Piece {
    std::uint64_t address;
    std::vector<std::uint8_t> bytes;
    Allocation::Initialisation initialisation;
  };
  /// By ascending address.
  const std::vector<Piece>& pieces() const { return pieces_; }

 private:
  std::vector<Piece> pieces_;
};

}  // namespace tilescope::emulator
