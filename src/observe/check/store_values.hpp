// Stores that write the same value in every order: when all threads set a flag to 1, or give an
// mbarrier the same count, their order cannot matter. Found from the PTX alone.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/program.hpp"

namespace tilescope::observe {

class StoreValues {
 public:
  explicit StoreValues(const emulator::Program& program);

  /// Whether the two stores (perhaps the same one) certainly write equal values to the same
  /// address. `same_block`: threads of one block run both.
  bool equal(emulator::InstructionId a, emulator::InstructionId b, bool same_block) const;

 private:
  /// The threads that share a value.
  enum class Extent : std::uint8_t { grid, block, thread };
  struct Value {
    Extent extent = Extent::thread;
    bool constant = false;
    std::uint64_t bits = 0;
    bool operator==(const Value&) const = default;
  };
  void analyse(const ptx::Function& function, std::uint32_t first_id);
  static Value value_of(const ptx::Operand& operand, const std::vector<Value>& registers);
  static Value result_of(const ptx::Instruction& instruction, const std::vector<Value>& registers,
                         bool in_kernel);
  static Value stored(const ptx::Instruction& instruction, const std::vector<Value>& registers);

  std::vector<Value> values_;  ///< by instruction: the value of a store
};

}  // namespace tilescope::observe
