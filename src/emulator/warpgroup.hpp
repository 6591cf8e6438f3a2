// The agreement of a warpgroup: its four warps run the same wgmma instructions with the same
// descriptors, each at its own time. They meet where one waits for a group of products: these are
// over when all four have issued their parts.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

namespace tilescope::emulator {

inline constexpr std::uint32_t kWarpsPerGroup = 4;

struct WarpgroupIssue {
  std::uint32_t instruction;  ///< InstructionId
  std::uint64_t a, b;         ///< descriptors; 0 where there is none
  friend bool operator==(const WarpgroupIssue&, const WarpgroupIssue&) = default;
};

class Warpgroups {
 public:
  /// A new block of so many warps.
  void start(std::uint32_t warps);
  /// A warp issues its next product. False if it is not the one that another warp of its group
  /// issued in its place.
  bool issue(std::uint32_t warp, const WarpgroupIssue& issue);

  /// Some warp of the block has issued a product.
  bool in_use() const { return !groups_.empty(); }
  void commit(std::uint32_t warp);
  /// The products that the warpgroup has to issue until the warp's wait for all but the `pending`
  /// youngest of its groups is over.
  std::uint64_t awaited(std::uint32_t warp, std::uint32_t pending) const;
  /// Products that the warp has issued.
  std::uint64_t issued(std::uint32_t warp) const;
  /// The next product of a warp that is behind another one. Its group is not `missing` any more.
  std::uint32_t behind(std::uint32_t warp);

  /// A warp that ended without a product that another warp of its group issued.
  struct Missing {
    std::uint32_t warp;
    std::uint32_t instruction;
  };
  std::vector<Missing> missing() const;

 private:
  struct Group {
    std::deque<WarpgroupIssue> open;  ///< those that not all warps have issued
    std::uint64_t first = 0;          ///< number of the first of them
    std::array<std::uint64_t, kWarpsPerGroup> issued{};
    /// By warp: the products issued at its youngest commits.
    std::array<std::deque<std::uint64_t>, kWarpsPerGroup> commits;
    bool told = false;
  };
  std::uint32_t warps_ = 0;
  std::vector<Group> groups_;  ///< empty until the first product
};

}  // namespace tilescope::emulator
