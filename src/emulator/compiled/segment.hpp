// A run of operations that is compiled as a whole, in four steps: the numbers of registers of known
// shape, with the checks of all accesses; then the vectors, eight lanes at a time through all
// operations; then the stores; last the numbers become those of the registers.
//
// Nothing that the rest of the program can see changes before the last check, so a check that fails
// hands the whole segment to the interpreter. All loads happen before the first store.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "emulator/compiled/facts.hpp"
#include "emulator/compiled/resettable_numbers.hpp"

namespace tilescope::emulator::compiled {

inline constexpr std::size_t kMostItems = 1000;  ///< of a segment
inline constexpr int kNoSlot = -1;
inline constexpr int kNever = 1 << 30;     ///< no further use
inline constexpr int kAtEnd = kNever - 1;  ///< used behind the segment
inline constexpr int kNotLooked = -1;      ///< the next use has not been looked for

/// Accesses through the same address register, and so with one check.
struct AccessGroup {
  bool shared = false;
  bool constant = false;       ///< constant space
  bool stored = false;         ///< some of them are stores
  int address_slot = kNoSlot;  ///< kNoSlot: the address is a constant
  std::uint64_t address = 0;   ///< that constant
  unsigned address_bytes = 8;
  ShapeNumber shape = kUniform;
  unsigned bytes = 4;                    ///< per lane
  std::int64_t lowest = 0, highest = 0;  ///< offsets of the instructions
  int pointer_slot = kNoSlot;  ///< receives the host's address of lane 0 at offset `lowest`
  std::uint32_t bounds = 0;    ///< index of its AccessBounds
  LaneMask lanes = kAllLanes;  ///< as Segment::lanes
};

struct Item {
  const Operation* operation = nullptr;
  Way way = Way::call;
  /// By operand: the slot of its number, or kNoSlot: constants and vectors.
  std::vector<int> in_slots;
  std::vector<ShapeNumber> in_shapes;
  std::vector<std::optional<std::uint64_t>> in_values;   ///< of all lanes, if they are known now
  std::vector<std::optional<std::uint64_t>> in_numbers;  ///< numbers that are known now
  std::vector<int> in_next;    ///< the next use behind this one: an item, kAtEnd or kNever
  std::vector<int> out_slots;  ///< kNoSlot for vectors
  std::vector<int> out_next;
  std::optional<std::uint64_t> known;  ///< the result's number
  int group = -1;                      ///< of an access
  int source = -1;                     ///< of a copy: the group it reads through
  bool spreads_sign = false;           ///< as in FactRules
  bool one_for_all = false;            ///< as in FactRules
  bool dead = false;                   ///< nobody reads the vectors that it computes
  bool neighbours = false;             ///< as FactRules::stores_neighbours
  /// A store of a vector that is done as soon as it is computed, strip by strip.
  bool early = false;
};

/// Moves products behind other items, so that sums stay in the CPU's registers: item_order.cpp.
class ItemOrder {
 public:
  void apply(std::vector<Item>& items);

 private:
  bool add(const std::vector<Item>& items, std::size_t i);
  bool add_product(const Item& product, std::size_t i);
  void close(std::vector<Item>& items, std::size_t begin, std::size_t end);

  std::vector<std::vector<std::size_t>> sums_;  ///< the products of each, in their order
  ResettableNumbers read_{0};                   ///< by register: a product reads it
  ResettableNumbers sum_of_{-1};                ///< by register: the sum whose product wrote it
};

struct Segment {
  std::uint32_t begin = 0, end = 0;  ///< in CodeFunction::code
  LaneMask lanes = kAllLanes;        ///< no others run it
  std::vector<Item> items;
  std::vector<AccessGroup> groups;
  /// Registers whose numbers changed, and the slots of the new ones.
  struct Change {
    std::uint32_t reg;
    int slot;
  };
  std::vector<Change> changes;
  bool is_call() const { return items.size() == 1 && items[0].way == Way::call; }
};

/// Slots and bounds are numbered through the region.
struct SegmentNumbers {
  int first_temporary = 0;  ///< slots below are the registers'
  int temporaries = 0;      ///< most that a segment uses
  std::uint32_t bounds = 0;
};

/// Cuts the blocks of a region into segments.
class SegmentBuilder {
 public:
  SegmentBuilder(const FunctionPlan& plan, const FactRules& rules, SegmentNumbers& numbers);

  /// The segment that begins at `begin` and ends before `limit`. `facts` become those behind it.
  /// `live` are those of FunctionPlan::live_in_block from `begin` on. `may_store_early`: all lanes
  /// run, and nobody wants to know of each store. `lanes`: no others run.
  Segment next(Facts& facts, std::uint32_t begin, std::uint32_t limit, const RegisterSet* live,
               bool may_store_early, LaneMask lanes);

 private:
  void cut(Segment& segment, Facts& facts, std::uint32_t limit);
  bool ends_before(const Operation& operation, Way way, const Facts& facts) const;
  void add(Segment& segment, const Operation& operation, Way way, Facts& facts);
  int group_of(Segment& segment, const Item& item, std::size_t i);
  static void find_early_store(Segment& segment);
  void find_uses(Segment& segment, const Facts& facts, const RegisterSet& live);
  void find_changes(Segment& segment, const Facts& facts, const RegisterSet& live);
  void place_results(Segment& segment, const RegisterSet& live_before);
  int temporary() { return numbers_.first_temporary + temporaries_++; }

  const FunctionPlan& plan_;
  const FactRules& rules_;
  SegmentNumbers& numbers_;
  ResettableNumbers slots_{kNoSlot};  ///< by register; kNoSlot: its own
  ResettableNumbers stored_at_{
      kNever};  ///< by register: the first store of it; kNever: there is none
  ResettableNumbers next_{kNotLooked};  ///< by register, behind them by slot: the next use
  ResettableNumbers changed_{0};        ///< by register: Segment::changes has it
  ResettableNumbers places_{kNoSlot};   ///< by slot: another one in its place
  ItemOrder order_;
  bool stores_ = false;
  bool works_ = false;  ///< there is more than numbers
  int temporaries_ = 0;
};

}  // namespace tilescope::emulator::compiled
