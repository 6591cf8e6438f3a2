// The part that strong accesses (atomic, volatile, relaxed, acquire, release) can play between
// threads, from the PTX alone.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/program.hpp"

namespace tilescope::observe {

struct AccessRole {
  bool block_scope = false;  ///< strong only among the threads of one block
  bool stores = false;       ///< `st`: the bits that it writes are known (stored_bits)
  bool escapes = false;      ///< a store of the address of a local variable
  bool tested = false;       ///< a plain load whose value a compare-and-swap tests
  bool relaxed = false;      ///< a read that says .relaxed: it orders nothing behind it
  bool decides = false;      ///< a strong read whose value decides a branch
  bool waits = false;        ///< and the branch leaves a loop around the read, without a barrier
  bool shuffled = false;     ///< a load of local memory whose value only goes to shuffles
  bool ignored = false;      ///< a test of an mbarrier whose answer decides nothing
  /// A load that is not only judged by what it touches.
  bool is_special() const { return escapes || tested || decides; }
};

/// By instruction.
std::vector<AccessRole> access_roles(const emulator::Program& program);

}  // namespace tilescope::observe
