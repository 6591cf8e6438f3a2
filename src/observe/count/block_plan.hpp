// The blocks of a grid that are counted (tilescope/block_sample.hpp), in strata of blocks that are
// likely alike: those inside the grid, on each of its faces and edges, and in its corners. A kernel
// treats borders in a way of their own, and a plain sample would miss them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <tilescope/block_sample.hpp>
#include <tilescope/launch.hpp>
#include <vector>

namespace tilescope::observe {

class BlockPlan {
 public:
  struct Stratum {
    std::uint64_t blocks = 0;
    std::uint64_t counted = 0;
  };

  /// All blocks: those of a grid without a sample, with one that is as large, or with a range
  /// beyond it.
  BlockPlan() = default;
  BlockPlan(const std::optional<BlockSample>& sample, Dim3 grid);

  bool counts_all() const { return strata_.empty(); }
  bool contains(std::uint64_t linear) const;
  /// The stratum of a block; every block of a range is in one.
  std::size_t stratum(std::uint64_t linear) const;
  const std::vector<Stratum>& strata() const { return strata_; }
  /// Whether the counted blocks were drawn at random, so that they tell how far others may differ.
  bool is_random() const { return is_random_; }
  std::uint64_t counted() const;

 private:
  void draw(std::uint64_t wanted, std::uint64_t seed);
  std::uint64_t member(std::size_t stratum, std::uint64_t index) const;

  Dim3 grid_;
  bool is_random_ = false;
  std::uint64_t first_ = 0, last_ = 0;  ///< of a range
  std::vector<Stratum> strata_;         ///< empty: all blocks are counted
  std::vector<std::uint64_t> drawn_;    ///< ascending
};

}  // namespace tilescope::observe
