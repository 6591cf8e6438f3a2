// Numbers by register or slot that all have one value between uses: only those that have been set
// are reset.
#pragma once

#include <cstddef>
#include <vector>

namespace tilescope::emulator::compiled {

class ResettableNumbers {
 public:
  explicit ResettableNumbers(int first) : first_(first) {}
  int operator[](std::size_t i) const { return i < numbers_.size() ? numbers_[i] : first_; }
  void set(std::size_t i, int value) {
    if (i >= numbers_.size()) numbers_.resize(i + 1, first_);
    if (numbers_[i] == first_) changed_.push_back(i);
    numbers_[i] = value;
  }
  void reset() {
    for (const std::size_t i : changed_) numbers_[i] = first_;
    changed_.clear();
  }

 private:
  int first_;
  std::vector<int> numbers_;
  std::vector<std::size_t> changed_;
};

}  // namespace tilescope::emulator::compiled
