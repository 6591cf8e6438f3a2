// Groups of accesses that compiled code announces (emulator/known_access.hpp), as the checker knows
// them: the cells of each, and which of them the log of reads may take at once.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "emulator/known_access.hpp"
#include "observe/check/access_roles.hpp"
#include "observe/check/lane_cells.hpp"

namespace tilescope::observe {

/// Plain loads of words of shared memory by a warp, in their order.
struct KnownLoads {
  struct Load {
    emulator::InstructionId instruction;
    const LaneCells* cells;
    std::uint32_t stretch;  ///< which of `stretches` its bytes belong to
    std::int64_t offset;    ///< of the first lane, from the begin of the stretch
  };
  /// The bytes that loads through one register read.
  struct Stretch {
    std::uint64_t number;  ///< in the numbering of LaneCells::number
    std::uint32_t access;  ///< one of these loads, and the offset of its first lane
    std::int64_t offset;
    std::uint32_t extent;   ///< bytes from the begin to the end
    std::vector<Run> runs;  ///< from the begin on
    std::vector<Run> near;  ///< the same, with gaps in which no page of records lies
  };
  std::vector<Load> loads;
  std::vector<Stretch> stretches;
};

class KnownPlan {
 public:
  /// `cells`: those of each access. `number`: as in KnownLoads::Stretch; becomes the last one used.
  KnownPlan(const emulator::KnownGroup& group, std::vector<const LaneCells*> cells,
            const std::vector<AccessRole>& roles, std::uint64_t& number);

  const LaneCells& cells(std::size_t access) const { return *cells_[access]; }
  /// Those that the log may take if the order is simple.
  const KnownLoads& loads() const { return loads_; }
  bool is_load(std::size_t access) const { return is_load_[access] != 0; }
  /// A load of global memory of which nothing special can be said.
  bool is_plain_load(std::size_t access) const { return is_plain_load_[access] != 0; }
  /// Not all of them are among loads().
  bool has_others() const { return loads_.loads.size() < cells_.size(); }

 private:
  void find_stretches(const emulator::KnownGroup& group, std::uint64_t& number);

  std::vector<const LaneCells*> cells_;  ///< by access
  // By access; bytes, which are quicker to read than bits.
  std::vector<std::uint8_t> is_load_, is_plain_load_;
  KnownLoads loads_;
};

}  // namespace tilescope::observe
