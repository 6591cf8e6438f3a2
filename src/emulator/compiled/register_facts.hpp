// The facts about registers at a place in a region, where all 32 lanes of a warp are.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "emulator/compiled/lane_shape.hpp"
#include "emulator/compiled/register_set.hpp"

namespace tilescope::emulator::compiled {

/// The number of a register is the value of lane 0; that of a predicate has a bit for each lane.
struct RegisterFact {
  ShapeNumber shape = kNoShape;
  bool stale = false;  ///< the frame has an older value: the number is the truth
  /// The number is known when the code is compiled, and so is each lane's. Its slot holds nothing.
  bool known = false;
  /// Low bits of the number that are zero. Where the shape's differences fit in them, the bits of
  /// number and differences are apart, so that `and`, `or` and `shr` keep a shape.
  std::uint8_t zeros = 0;
  std::uint64_t value = 0;
};

/// A register that is kept as a number, and its shape.
struct KeptNumber {
  std::uint32_t reg = 0;
  ShapeNumber shape = kNoShape;
  std::optional<std::uint64_t> known{};  ///< the number; its slot does not hold it then
};
KeptNumber kept_number(std::uint32_t reg, const RegisterFact& fact);

/// The facts that are worth keeping for later: those of registers that have a shape and are still
/// read, in ascending order. A function has thousands of registers, of which few have one.
struct KnownFacts {
  struct Entry {
    std::uint32_t reg = 0;
    RegisterFact fact;
  };
  std::vector<Entry> entries;
};

/// The facts of all registers of a function.
class Facts {
 public:
  explicit Facts(std::uint32_t registers) : facts_(registers), shaped_(registers) {}

  const RegisterFact& operator[](std::uint32_t reg) const { return facts_[reg]; }
  void set(std::uint32_t reg, const RegisterFact& fact);
  /// All other registers have no shape.
  void assign(const KnownFacts& known);
  /// These have no shape any more.
  void forget(const RegisterSet& registers);
  KnownFacts known(const RegisterSet& live) const;
  /// Live registers of which the frame has an older value.
  std::vector<KeptNumber> stale(const RegisterSet& live) const;

 private:
  std::vector<RegisterFact> facts_;
  RegisterSet shaped_;
};

/// Leaves the facts that hold on both ways; true if `facts` lost any, or gained an old value in the
/// frame.
bool meet(KnownFacts& facts, const Facts& other);

}  // namespace tilescope::emulator::compiled
