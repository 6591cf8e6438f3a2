// A set of registers of a function.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace tilescope::emulator::compiled {

class RegisterSet {
 public:
  explicit RegisterSet(std::uint32_t size) : words_((size + 63) / 64, 0) {}
  bool has(std::uint32_t reg) const { return (words_[reg / 64] >> (reg % 64) & 1) != 0; }
  void insert(std::uint32_t reg) { words_[reg / 64] |= std::uint64_t{1} << (reg % 64); }
  void erase(std::uint32_t reg) { words_[reg / 64] &= ~(std::uint64_t{1} << (reg % 64)); }
  /// True if this set grew.
  bool unite(const RegisterSet& other) {
    bool grew = false;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const std::uint64_t all = words_[i] | other.words_[i];
      grew = grew || all != words_[i];
      words_[i] = all;
    }
    return grew;
  }
  /// Calls `visit` with each register of both sets, in ascending order.
  template <class Visit>
  void for_each_in_both(const RegisterSet& other, Visit visit) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      for (std::uint64_t left = words_[i] & other.words_[i]; left != 0; left &= left - 1) {
        visit(static_cast<std::uint32_t>(i * 64) +
              static_cast<std::uint32_t>(std::countr_zero(left)));
      }
    }
  }

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace tilescope::emulator::compiled
