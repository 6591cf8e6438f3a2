// Compares what two runs of a launch left in memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "emulator/memory_contents.hpp"
#include "observe/trace/last_writers.hpp"
#include "tilescope/finding.hpp"

namespace tilescope::inspect {

/// An allocation in which two runs left different bytes.
struct ArrayDifference {
  std::uint64_t address = 0;           ///< of the allocation
  std::vector<std::uint64_t> words;    ///< addresses of the first bytes that differ, one for each
                                       ///< 4 bytes; a limited number
  std::vector<std::uint8_t> contents;  ///< of the second run
};

/// The allocations that differ, by address. The kernel heap, whose pieces lie where the order of
/// calls puts them, is left out, and so are pointers to it.
std::vector<ArrayDifference> differences(const emulator::MemoryContents& usual,
                                         const emulator::MemoryMap& other);

/// The finding about a difference; `usual` are the contents of its allocation in the usual order.
/// It has no seeds yet.
Finding describe_difference(const ArrayDifference& difference, const emulator::Allocation& in,
                            std::span<const std::uint8_t> usual,
                            const observe::LastWriters& usual_writers,
                            const observe::LastWriters& other_writers);

}  // namespace tilescope::inspect
