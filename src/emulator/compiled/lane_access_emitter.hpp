// Accesses whose lanes have addresses of any shape: each lane's address is checked, eight or four
// at once, and then loaded from or stored to, lane by lane. One lane that does not fit hands the
// whole access to the interpreter's executor.
#pragma once

#include "emulator/compiled/assembler.hpp"
#include "emulator/compiled/compiled_state.hpp"
#include "emulator/compiled/function_plan.hpp"

namespace tilescope::emulator::compiled {

class LaneAccessEmitter {
 public:
  /// `bounds`: the number of its AccessBounds, of single lanes.
  LaneAccessEmitter(Assembler& assembler, const FunctionPlan& plan, const Operation& operation,
                    std::uint32_t bounds)
      : a_(assembler),
        plan_(plan),
        operation_(operation),
        bounds_(bounds),
        slow_(assembler.label()),
        behind_(assembler.label()) {}

  /// There is code for the operation: it is an access of shared memory, or of global memory through
  /// 64 bits.
  static bool takes(const FunctionPlan& plan, const Operation& operation);
  /// All that the operation mentions is in the frame.
  void emit();
  /// Behind the region's code: the executor's turn, where a lane's access is not aligned, or lies
  /// outside the allocation of the bounds. They become those of the first lane's.
  void emit_slow();

 private:
  bool is_shared() const { return operation_.space(0) == Space::shared; }
  void check_words();
  void check_longs();
  void load_extent();
  void move_lane(int lane);
  std::int64_t lane_of(std::uint32_t reg, int lane) const;

  Assembler& a_;
  const FunctionPlan& plan_;
  const Operation& operation_;
  std::uint32_t bounds_;
  Label slow_, behind_;
};

}  // namespace tilescope::emulator::compiled
