// The loads and stores that are the two halves of an update, `bins[i]++` or `sum += x`: they have
// the same address, and the load feeds the store. An atomic cures a race of such halves, a barrier
// any other. A compare-and-swap counts as a store of what it compares with: it notices when the
// loaded value is out of date.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/program.hpp"
#include "observe/address_values.hpp"

namespace tilescope::observe {

class UpdatePairs {
 public:
  explicit UpdatePairs(const emulator::Program& program);

  /// Whether the two are a load and a store of one update, or the same store of one.
  bool one_update(emulator::InstructionId a, emulator::InstructionId b) const;
  /// Whether some compare-and-swap tests the value that this plain load gives.
  bool is_tested(emulator::InstructionId load) const;

 private:
  struct Site {
    bool load = false, store = false, swap = false;
    AddressValue address;
  };
  static bool same_address(const Site& x, const Site& y);
  /// Whether the stored value is computed from the loaded one.
  bool feeds(emulator::InstructionId load, emulator::InstructionId store) const;
  bool is_update(emulator::InstructionId load, emulator::InstructionId store) const;

  const emulator::Program& program_;
  std::vector<Site> sites_;  ///< by instruction
};

}  // namespace tilescope::observe
