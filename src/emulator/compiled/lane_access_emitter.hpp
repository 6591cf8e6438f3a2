// Accesses whose lanes have addresses of any shape: each lane's address is checked, eight or four
// at once, and then loaded from, stored to or added to, lane by lane. One lane that does not fit
// hands the whole access to the interpreter's executor.
#pragma once

#include <optional>

#include "emulator/compiled/assembler.hpp"
#include "emulator/compiled/compiled_state.hpp"
#include "emulator/compiled/function_plan.hpp"

namespace tilescope::emulator::compiled {

class LaneAccessEmitter {
 public:
  /// `bounds`: the number of its AccessBounds, of single lanes. `masked`: only the lanes of
  /// CompiledState::mask run; with AVX-512. `neighbours`: the lanes' words follow each other.
  LaneAccessEmitter(Assembler& assembler, const FunctionPlan& plan, const Operation& operation,
                    std::uint32_t bounds, bool masked, bool neighbours)
      : a_(assembler),
        plan_(plan),
        operation_(operation),
        bounds_(bounds),
        masked_(masked),
        neighbours_(neighbours),
        slow_(assembler.label()),
        shared_by_threads_(assembler.label()),
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
  void load_extent(std::uint64_t beyond);
  void check_512();
  Place bound(std::size_t offset) const;
  template <class Visit>
  void each_lane(bool loop, Visit visit);
  Place in_frame(std::uint32_t reg) const;
  void load_address(Gpr to);
  template <class Read, class Write>
  void in_groups(bool values, Read read, Write write);
  void move_lane();
  std::optional<std::int32_t> known_addend() const;
  void count_changes();
  void store_lanes();
  void add_lanes();
  void load_sum(Gpr address, Gpr addend);
  void add_lane(Gpr address, Gpr addend, bool locks);
  void add_in_loop(bool locks);
  void load_first_address();
  void add_neighbours();
  std::int64_t lane_of(std::uint32_t reg, int lane) const;

  Assembler& a_;
  const FunctionPlan& plan_;
  const Operation& operation_;
  std::uint32_t bounds_;
  bool masked_, neighbours_;
  Label slow_, shared_by_threads_, behind_;
  std::optional<int> lane_;  ///< the present one; nothing: it is in a register
};

}  // namespace tilescope::emulator::compiled
