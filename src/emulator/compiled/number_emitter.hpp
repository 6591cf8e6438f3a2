// The first step of a segment: registers of known shape, as one number each, and the checks of its
// accesses.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "emulator/compiled/assembler.hpp"
#include "emulator/compiled/compiled_state.hpp"
#include "emulator/compiled/segment.hpp"

namespace tilescope::emulator::compiled {

class NumberEmitter {
 public:
  /// Where a check fails the code jumps to `give_up`, where lanes give different results of
  /// Item::one_for_all to `parted`. `fetches_ahead`: the warp will come back, and access what lies
  /// as far away as this time. `watched`: code for observers reads the slots of addresses.
  NumberEmitter(Assembler& assembler, const FunctionPlan& plan, const ShapeTable& shapes,
                bool fetches_ahead, bool watched, const Segment& segment, Label give_up,
                Label parted)
      : a_(assembler),
        plan_(plan),
        shapes_(shapes),
        fetches_ahead_(fetches_ahead),
        watched_(watched),
        segment_(segment),
        give_up_(give_up),
        parted_(parted) {}

  void emit();
  /// Behind the region's code: what happens when an access leaves the allocation of the last one.
  void emit_misses();

 private:
  void number(const Item& item);
  void arithmetic(const Item& item);
  void wide_product(const Item& item);
  void shift(const Item& item);
  void no_sign(const Item& item);
  void extreme(const Item& item);
  void divide(const Item& item);
  void compare(const Item& item);
  void compare_extremes(const Item& item);
  void check_signs(const Item& item);
  void select(const Item& item);
  void check_no_wrap(ShapeNumber shape, bool is_signed);
  void load(Gpr to, const Item& item, std::size_t i);
  void load_extended(Gpr to, const Item& item, std::size_t i);
  void load_slot(Gpr to, int slot, unsigned bytes);
  Gpr load_parameters();
  void count_reads();
  void keep(Gpr from, int slot, unsigned bytes);
  void leave_out_stores();
  void store_result(int slot, unsigned bytes);
  void load_two(const Item& item);
  Source source(const Item& item, std::size_t i);
  Source load_operands(const Item& item, bool any_order);
  std::optional<Gpr> kept_number(int slot, unsigned bytes);
  bool holds(int slot, unsigned bytes) const { return slot == held_ && bytes == held_bytes_; }
  bool check_known_shared(const AccessGroup& group);
  bool with_constant(const Item& item);
  void multiply(std::uint64_t value, unsigned width);
  void shift_by_constant(const Item& item, std::uint32_t by);
  void load_address(const AccessGroup& group);
  void check_group(const AccessGroup& group);
  void fetch(const AccessGroup& group);
  void fetch_ahead(const AccessGroup& group);
  Place bound(const AccessGroup& group, std::size_t offset) const;
  void load_memory(const Item& item);
  unsigned bytes(const Item& item, std::size_t i) const;
  ShapeExtent lane_extent(ShapeNumber shape, unsigned bytes) const {
    return shapes_.extent(shape, bytes, segment_.lanes);
  }

  struct Miss {
    const AccessGroup* group;
    Label enter, retry;
  };
  Assembler& a_;
  const FunctionPlan& plan_;
  const ShapeTable& shapes_;
  const bool fetches_ahead_, watched_;
  const Segment& segment_;
  Label give_up_, parted_;
  std::vector<Miss> misses_;
  int held_ = kNoSlot;       ///< the slot whose number rax has
  unsigned held_bytes_ = 0;  ///< of that number; the rest of rax is zero
  /// Numbers that stay in registers between items, besides their slots.
  struct Kept {
    Gpr reg;
    int slot = kNoSlot;
    unsigned bytes = 0;
    bool is_read = true;
    std::size_t begin = 0, end = 0;  ///< of the instruction that has put it there
  };
  void drop(Kept& kept);
  std::array<Kept, 4> kept_{{{r8}, {r9}, {r10}, {r11}}};
  std::size_t next_kept_ = 0;
  std::map<int, int> reads_;   ///< by slot: how often items will read its number
  std::set<int> read_memory_;  ///< slots that some code reads
  struct SlotStore {
    int slot;
    std::size_t begin, end;  ///< in the code
  };
  std::vector<SlotStore> stores_;
};

/// The extent of a group's addresses around its pointer: the lowest and one past the highest byte.
struct GroupExtent {
  std::int64_t low, end;
};
GroupExtent extent_of(const AccessGroup& group, const ShapeTable& shapes);

}  // namespace tilescope::emulator::compiled
