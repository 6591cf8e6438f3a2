// The instructions of a function that use the value of a register, and the registers that a value
// reaches through them.
#pragma once

#include <cstdint>
#include <vector>

#include "observe/address_values.hpp"
#include "ptx/module.hpp"
#include "ptx/operand_classes.hpp"

namespace tilescope::observe {

class ValueUses {
 public:
  explicit ValueUses(const ptx::Function& function)
      : function_(function), uses_(function.registers.size()) {
    const auto& text = function.instructions;
    for (std::uint32_t i = 0; i < text.size(); ++i) {
      const auto use = [&](std::uint32_t reg) { uses_[reg].push_back(i); };
      if (text[i].guarded()) use(text[i].guard);
      for (std::size_t o = ptx::has_destination(text[i]) ? 1 : 0; o < text[i].operands.size(); ++o)
        ptx::visit_registers(text[i].operands[o], use);
    }
  }

  /// Follows the result of an instruction from register to register: through those users for which
  /// use(user, register) is true.
  template <class Use>
  void flow(std::uint32_t from, Use use) const {
    std::vector<bool> reached(uses_.size());
    std::vector<std::uint32_t> next;
    const auto reach = [&](std::uint32_t reg) {
      if (!reached[reg]) next.push_back(reg);
      reached[reg] = true;
    };
    for_each_written(function_.instructions[from], function_, reach);
    while (!next.empty()) {
      const std::uint32_t reg = next.back();
      next.pop_back();
      for (const std::uint32_t user : uses_[reg]) {
        if (use(user, reg)) for_each_written(function_.instructions[user], function_, reach);
      }
    }
  }

 private:
  const ptx::Function& function_;
  std::vector<std::vector<std::uint32_t>> uses_;  ///< by register: instructions
};

}  // namespace tilescope::observe
