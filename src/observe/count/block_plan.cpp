#include "observe/count/block_plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <set>

namespace tilescope::observe {
namespace {

/// Coordinates of an axis fall into three classes: its first one, those inside, its last one.
constexpr std::size_t kClasses = 3;

std::uint64_t blocks_of_class(std::uint32_t extent, std::size_t position) {
  if (position == 0) return 1;
  if (position == 2) return extent > 1 ? 1 : 0;
  return extent > 2 ? extent - 2 : 0;
}

std::size_t class_of(std::uint32_t extent, std::uint64_t coordinate) {
  if (coordinate == 0) return 0;
  return coordinate + 1 == extent ? 2 : 1;
}

/// Different numbers below `bound`, by Floyd's algorithm. The remainder's bias is below 2^-32 for
/// any grid.
std::set<std::uint64_t> draw_numbers(std::uint64_t bound, std::uint64_t count,
                                     std::mt19937_64& generator) {
  std::set<std::uint64_t> numbers;
  for (std::uint64_t top = bound - count; top < bound; ++top) {
    const std::uint64_t number = generator() % (top + 1);
    if (!numbers.insert(number).second) numbers.insert(top);
  }
  return numbers;
}

}  // namespace

BlockPlan::BlockPlan(const std::optional<BlockSample>& sample, Dim3 grid) : grid_(grid) {
  const std::uint64_t all = grid.count();
  if (!sample) return;
  if (sample->is_random()) {
    const double share = sample->percent / 100.0 * static_cast<double>(all);
    const std::uint64_t wanted =
        sample->blocks != 0 ? sample->blocks : static_cast<std::uint64_t>(std::ceil(share));
    if (wanted < all) draw(wanted, sample->seed);
    return;
  }
  if (sample->first >= all || (sample->first == 0 && sample->last >= all - 1)) return;
  first_ = sample->first;
  last_ = std::min(sample->last, all - 1);
  strata_ = {{all, last_ - first_ + 1}};
}

/// Every stratum gets two blocks, so that it tells how much its blocks differ, or all of them; the
/// rest is shared in proportion.
void BlockPlan::draw(std::uint64_t wanted, std::uint64_t seed) {
  constexpr std::uint64_t least = 2;
  const std::array<std::uint32_t, 3> extents{grid_.x, grid_.y, grid_.z};
  strata_.assign(kClasses * kClasses * kClasses, {});
  std::uint64_t taken = 0;
  for (std::size_t i = 0; i < strata_.size(); ++i) {
    strata_[i].blocks = 1;
    for (std::size_t axis = 0, digits = i; axis < 3; ++axis, digits /= kClasses) {
      strata_[i].blocks *= blocks_of_class(extents[axis], digits % kClasses);
    }
    taken += strata_[i].counted = std::min(strata_[i].blocks, least);
  }
  const double left = static_cast<double>(wanted) - static_cast<double>(taken);
  const double open = static_cast<double>(grid_.count() - taken);
  std::mt19937_64 generator(seed);
  bool is_whole = true;
  for (std::size_t i = 0; i < strata_.size(); ++i) {
    Stratum& stratum = strata_[i];
    if (left > 0.0) {
      const double rest = static_cast<double>(stratum.blocks - stratum.counted);
      stratum.counted += static_cast<std::uint64_t>(std::floor(rest * left / open + 0.5));
      stratum.counted = std::min(stratum.counted, stratum.blocks);
    }
    is_whole = is_whole && stratum.counted == stratum.blocks;
    for (const std::uint64_t index : draw_numbers(stratum.blocks, stratum.counted, generator)) {
      drawn_.push_back(member(i, index));
    }
  }
  std::ranges::sort(drawn_);
  is_random_ = true;
  if (is_whole) strata_.clear();
}

std::uint64_t BlockPlan::member(std::size_t stratum, std::uint64_t index) const {
  const std::array<std::uint32_t, 3> extents{grid_.x, grid_.y, grid_.z};
  std::uint64_t linear = 0, step = 1;
  for (std::size_t axis = 0; axis < 3; ++axis, stratum /= kClasses) {
    const std::size_t position = stratum % kClasses;
    const std::uint64_t count = blocks_of_class(extents[axis], position);
    const std::uint64_t coordinate = position == 0   ? 0
                                     : position == 2 ? extents[axis] - 1
                                                     : 1 + index % count;
    index /= count;
    linear += coordinate * step;
    step *= extents[axis];
  }
  return linear;
}

bool BlockPlan::contains(std::uint64_t linear) const {
  if (counts_all()) return true;
  if (!is_random_) return linear >= first_ && linear <= last_;
  return std::ranges::binary_search(drawn_, linear);
}

std::size_t BlockPlan::stratum(std::uint64_t linear) const {
  if (!is_random_) return 0;
  std::size_t index = 0, weight = 1;
  for (const std::uint32_t extent : {grid_.x, grid_.y, grid_.z}) {
    index += weight * class_of(extent, linear % extent);
    weight *= kClasses;
    linear /= extent;
  }
  return index;
}

std::uint64_t BlockPlan::counted() const {
  if (counts_all()) return grid_.count();
  std::uint64_t sum = 0;
  for (const Stratum& stratum : strata_) sum += stratum.counted;
  return sum;
}

}  // namespace tilescope::observe
