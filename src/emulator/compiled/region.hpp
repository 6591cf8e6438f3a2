// A part of a function that is compiled as one piece: the blocks that a warp of 32 lanes can reach
// from a head by falling through, by branches that all lanes take together, and behind barriers;
// and parts that only some of its lanes run, where they meet again inside or leave the kernel.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "emulator/compiled/facts.hpp"
#include "emulator/compiled/masked_part.hpp"
#include "emulator/launch_state.hpp"

namespace tilescope::emulator::compiled {

/// Assumptions about the registers at the head: what they were when the region was compiled.
struct Assumption {
  std::uint32_t reg;
  ShapeNumber shape;
  std::uint8_t zeros;  ///< low bits of lane 0 that are zero
  bool known;          ///< its number is the value
  std::uint64_t value;
};

struct Region {
  std::uint32_t head = 0;
  std::vector<std::uint32_t> blocks;  ///< in ascending order
  ShapeTable shapes;
  std::vector<bool> wanted;  ///< registers that addresses and branches depend on
  /// For each block that can be reached: about the registers that are live there.
  std::map<std::uint32_t, KnownFacts> at_begin;
  bool of_warp = false;                 ///< one warp of each block runs it
  std::vector<Assumption> assumptions;  ///< which the code tests when it is entered
  KnownParameters parameters;           ///< likewise

  /// By the block that ends with their branch.
  std::map<std::uint32_t, MaskedPart> masked_parts;

  bool contains(std::uint32_t block) const;
};

/// Whether all lanes stay in a region behind the end of the block, if they do so together.
bool continues_inside(const FunctionPlan& plan, std::uint32_t block);

/// The lanes that take the branch that ends the block, where they are known.
std::optional<std::uint32_t> known_takers(const FunctionPlan& plan, const FactRules& rules,
                                          const Facts& facts, std::uint32_t block);

/// The state that a region is compiled for.
struct PresentState {
  const std::uint8_t* frame = nullptr;
  const std::uint8_t* parameters = nullptr;  ///< of the kernel
  const BlockCounter* counters = nullptr;    ///< how often blocks have run, by CodeBlock::counter
  bool lane_accesses = false;                ///< as LaneAccessEmitter makes them
  bool masks = false;                        ///< the CPU has mask registers
  std::vector<bool> unstable;                ///< registers that are not assumed to have a shape
  bool values = true;                        ///< numbers may be assumed to stay what they are
  bool at_begin = false;                     ///< of the kernel
  bool lanes = false;     ///< the region is for one warp of each block: it knows its lanes' indices
  std::size_t warps = 1;  ///< of a block
  bool sparing = true;    ///< compiling must pay
};

/// Chooses the blocks behind `head` and finds the facts.
Region find_region(const FunctionPlan& plan, std::uint32_t head, const PresentState& present);
/// Its steps: the region does not enter the blocks `avoided`.
Region region_without(const FunctionPlan& plan, std::uint32_t head, const PresentState& present,
                      const std::vector<bool>& avoided);
void keep_assumptions(Region& region);

}  // namespace tilescope::emulator::compiled
