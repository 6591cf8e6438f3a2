// Code that announces the accesses of a segment to observers that take known accesses
// (emulator/known_access.hpp): the loads behind the segment's checks, each store before it happens.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "emulator/compiled/assembler.hpp"
#include "emulator/compiled/segment.hpp"
#include "emulator/known_access.hpp"

namespace tilescope::emulator::compiled {

/// The patterns of a program's accesses.
class LanePatterns {
 public:
  const LanePattern& number(std::uint16_t bytes,
                            const std::array<std::uint64_t, kWarpSize>& differences);

 private:
  std::map<std::pair<std::uint16_t, std::array<std::uint64_t, kWarpSize>>,
           std::unique_ptr<const LanePattern>>
      patterns_;
};

/// Those of a program.
struct AnnounceNumbers {
  LanePatterns patterns;
  std::uint32_t groups = 0;
};

/// The groups of a region: its code refers to them by their addresses.
using RegionAnnounced = std::vector<std::unique_ptr<const KnownGroup>>;

class AnnounceEmitter {
 public:
  AnnounceEmitter(Assembler& assembler, const FunctionPlan& plan, const ShapeTable& shapes,
                  const Segment& segment, AnnounceNumbers& numbers, RegionAnnounced& announced)
      : a_(assembler),
        plan_(plan),
        shapes_(shapes),
        segment_(segment),
        numbers_(numbers),
        announced_(announced) {}

  void emit_loads();
  /// The data of the store are in the frame afterwards, whatever form they had.
  void emit_store(const Item& store);

 private:
  bool is_watched(const Item& item) const;
  void add(const Item& item, KnownGroup& group) const;
  void announce(KnownGroup&& group);

  Assembler& a_;
  const FunctionPlan& plan_;
  const ShapeTable& shapes_;
  const Segment& segment_;
  AnnounceNumbers& numbers_;
  RegionAnnounced& announced_;
};

}  // namespace tilescope::emulator::compiled
