#include "ptx/moved_stores.hpp"

#include "ptx/operand_classes.hpp"

namespace tilescope::ptx {

void place_moved_stores(const std::vector<Location>& locations, Function& function) {
  const auto has_line = [&](std::uint32_t location) {
    return location != no_index && locations[location].line != 0;
  };
  const auto is_moved = [&](std::uint32_t location) {
    return location != no_index && locations[location].line == 0 &&
           locations[location].inlined_at == no_index;
  };
  // By register: the place of the last instruction above that writes it. In a loop a value may come
  // from below, but then it comes from above the first time.
  std::vector<std::uint32_t> written(function.registers.size(), no_index);
  for (Instruction& instruction : function.instructions) {
    const Effect effect = info(instruction.opcode).effect;
    if ((effect == Effect::store || effect == Effect::reduction) &&
        is_moved(instruction.location) && instruction.operands.size() > 1) {
      visit_registers(instruction.operands[1], [&](std::uint32_t reg) {
        if (is_moved(instruction.location) && has_line(written[reg])) {
          instruction.location = written[reg];
        }
      });
    }
    if (!has_destination(instruction) || !has_line(instruction.location)) continue;
    visit_registers(instruction.operands[0],
                    [&](std::uint32_t reg) { written[reg] = instruction.location; });
  }
}

}  // namespace tilescope::ptx
