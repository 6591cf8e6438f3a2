// The third step of a segment: its stores, in order. Lanes store in ascending order: if they
// collide, the highest wins.
#pragma once

#include "emulator/compiled/announce_emitter.hpp"
#include "emulator/compiled/assembler.hpp"
#include "emulator/compiled/segment.hpp"

namespace tilescope::emulator::compiled {

class StoreEmitter {
 public:
  /// `announcer`: announces each store before it happens; null: nobody wants to know. `masked`:
  /// only some lanes run.
  StoreEmitter(Assembler& assembler, const FunctionPlan& plan, const ShapeTable& shapes,
               const Segment& segment, AnnounceEmitter* announcer, bool masked)
      : a_(assembler),
        plan_(plan),
        shapes_(shapes),
        segment_(segment),
        announcer_(announcer),
        masked_(masked) {}

  void emit();

 private:
  void store(const Item& item);
  void store_vectors(const Item& item);
  void store_lane(const Item& item, int lane);
  void store_highest(const Item& item);
  void copy(const Item& item);
  /// The bytes from the pointer of the group of address `i` to a lane's element.
  std::int64_t displacement(const Item& item, std::size_t i, int lane) const;
  bool is_consecutive(const Item& item, int bytes) const;

  Assembler& a_;
  const FunctionPlan& plan_;
  const ShapeTable& shapes_;
  const Segment& segment_;
  AnnounceEmitter* announcer_;
  bool masked_;
};

}  // namespace tilescope::emulator::compiled
