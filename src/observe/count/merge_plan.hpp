// The loads and stores of the PTX that the chip executes as one wider access.
//
// The chip does not run PTX: ptxas joins neighbouring accesses to shared memory. Four
// `ld.shared.f32` of consecutive words become one LDS.128, with other wavefronts than four LDS.32.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/program.hpp"

namespace tilescope::observe {

enum class MergeRole : std::uint8_t {
  alone,   ///< executed as written
  leader,  ///< represents its whole group: the first of it in program order
  member,  ///< a member of a group with another leader
};

struct MergedAccess {
  MergeRole role = MergeRole::alone;
  std::uint16_t bytes = 0;   ///< of the whole group, per lane; for a leader
  std::int32_t shift = 0;    ///< from the leader's address to the group's lowest
  std::uint32_t leader = 0;  ///< InstructionId of the leader; for a member
};

/// By InstructionId; empty means that every access is executed as written.
using MergePlan = std::vector<MergedAccess>;

/// The known behaviour of ptxas, derived from the PTX alone. Scalar and vector loads (or stores) of
/// shared memory are joined when
///   - they stand in the same basic block, weak, with the same guard or none,
///   - their addresses are the same value plus constants (additions of constants are followed),
///   - together they fill an aligned window of 16 bytes, or else of 8,
///   - the value is known to be a multiple of the window (from the alignment of variables, shifts,
///     products and sums that form it), and
///   - no store, atomic, barrier, fence or call that may touch the same memory stands between
///     them; for stores, no load either.
MergePlan merge_by_rule(const emulator::Program& program);

}  // namespace tilescope::observe
