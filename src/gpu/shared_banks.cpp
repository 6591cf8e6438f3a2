#include "gpu/shared_banks.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace tilescope::gpu {
namespace {

/// The wavefronts of one pass: the most words (atomics: lanes) that meet in one bank.
class Pass {
 public:
  /// `first`, `last`: the lowest and the highest address of a lane.
  Pass(const BankLayout& layout, bool atomic, std::uint64_t first, std::uint64_t last, int bytes)
      : word_shift_(std::countr_zero(static_cast<unsigned>(layout.word_bytes))),
        row_shift_(std::countr_zero(static_cast<unsigned>(layout.banks))),
        bank_mask_(static_cast<unsigned>(layout.banks - 1)),
        first_row_(first >> word_shift_ >> row_shift_),
        way_(atomic ? Way::each
             : ((last + static_cast<unsigned>(bytes) - 1) >> word_shift_ >> row_shift_) -
                         first_row_ <
                     64
                 ? Way::near
                 : Way::far) {}

  void add(std::uint64_t address, int bytes) {
    const std::uint64_t last = (address + static_cast<unsigned>(bytes) - 1) >> word_shift_;
    for (std::uint64_t w = address >> word_shift_; w <= last; ++w) {
      const unsigned bank = static_cast<unsigned>(w) & bank_mask_;
      counts_[bank] = static_cast<std::uint16_t>(counts_[bank] + is_new(w, bank));
      most_ = std::max<std::uint32_t>(most_, counts_[bank]);
    }
  }
  std::uint32_t wavefronts() const { return most_; }

 private:
  enum class Way : std::uint8_t {
    each,  ///< atomics: a word counts for each lane
    near,  ///< all words lie in 64 rows of banks: a bit for each
    far,   ///< words of the same bank lie in a chain
  };

  /// 1 if the word has not been added before, or counts again.
  unsigned is_new(std::uint64_t word, unsigned bank) {
    if (way_ == Way::each) return 1;
    if (way_ == Way::near) {
      const std::uint64_t row = (word >> row_shift_) - first_row_;
      const auto fresh = static_cast<unsigned>(~rows_[bank] >> row & 1);
      rows_[bank] |= std::uint64_t{1} << row;
      return fresh;
    }
    for (int i = heads_[bank]; i != 0; i = next_[static_cast<unsigned>(i)]) {
      if (words_[static_cast<unsigned>(i)] == word) return 0;
    }
    const auto slot = static_cast<unsigned>(++used_);
    words_[slot] = word;
    next_[slot] = heads_[bank];
    heads_[bank] = static_cast<std::int16_t>(slot);
    return 1;
  }

  int word_shift_, row_shift_;
  unsigned bank_mask_;
  std::uint64_t first_row_;
  Way way_;
  int used_ = 0;
  std::uint32_t most_ = 0;
  std::array<std::uint16_t, 64> counts_{};
  std::array<std::uint64_t, 64> rows_{};
  std::array<std::int16_t, 64> heads_{};
  // A pass has at most 32 lanes * 4 words, or 16 in a layout with words of a byte.
  std::array<std::int16_t, 32 * 16 + 1> next_;
  std::array<std::uint64_t, 32 * 16 + 1> words_;
};

/// Does every participating lane of `mask` have the address of its partner `lane ^ distance`?
bool pairs_up(const std::uint64_t* addresses, std::uint32_t mask, int distance) {
  for (std::uint32_t m = mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const int partner = lane ^ distance;
    if ((mask >> partner & 1) != 0 && addresses[lane] != addresses[partner]) return false;
  }
  return true;
}

void add_pass(SharedWavefronts& result, const std::uint64_t* addresses, std::uint32_t mask,
              int bytes, SharedUse use, const BankLayout& layout) {
  if (mask == 0) return;
  std::uint64_t first = ~std::uint64_t{0}, last = 0;
  for (std::uint32_t m = mask; m != 0; m &= m - 1) {
    const std::uint64_t address = addresses[std::countr_zero(m)];
    first = std::min(first, address);
    last = std::max(last, address);
  }
  Pass pass(layout, use == SharedUse::atomic, first, last, bytes);
  for (std::uint32_t m = mask; m != 0; m &= m - 1) pass.add(addresses[std::countr_zero(m)], bytes);
  result.wavefronts += pass.wavefronts();
  result.ideal += 1;
  result.ways = std::max(result.ways, pass.wavefronts());
}

/// The lanes of `mask` in `low_lanes` and the others: one pass if they are loads that pair up.
void add_two(SharedWavefronts& result, const std::uint64_t* addresses, std::uint32_t mask,
             std::uint32_t low_lanes, int bytes, SharedUse use, const BankLayout& layout) {
  if (use == SharedUse::load && (pairs_up(addresses, mask, 1) || pairs_up(addresses, mask, 2))) {
    add_pass(result, addresses, mask, bytes, use, layout);
    return;
  }
  add_pass(result, addresses, mask & low_lanes, bytes, use, layout);
  add_pass(result, addresses, mask & ~low_lanes, bytes, use, layout);
}

}  // namespace

SharedWavefronts shared_wavefronts(const std::uint64_t* addresses, std::uint32_t mask, int bytes,
                                   SharedUse use, const BankLayout& layout) {
  SharedWavefronts result;
  const int words = bytes / layout.word_bytes;
  if (words <= 1) {
    add_pass(result, addresses, mask, bytes, use, layout);
  } else if (words == 2) {
    add_two(result, addresses, mask, 0x0000ffffu, bytes, use, layout);
  } else {
    add_two(result, addresses, mask & 0x0000ffffu, 0x000000ffu, bytes, use, layout);
    add_two(result, addresses, mask & 0xffff0000u, 0x00ff0000u, bytes, use, layout);
  }
  return result;
}

SharedWavefronts matrix_wavefronts(const std::uint64_t* addresses, std::uint32_t mask,
                                   const BankLayout& layout) {
  SharedWavefronts result;
  for (int row = 0; row < 32; row += 8) {
    add_pass(result, addresses, mask & (0xffu << row), 16, SharedUse::load, layout);
  }
  return result;
}

}  // namespace tilescope::gpu
