#include "gpu/shared_banks.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace tilescope::gpu {
namespace {

/// The lanes of one pass: its wavefronts are the most words (atomics: lanes) that meet in one bank.
class Pass {
 public:
  Pass(const std::uint64_t* addresses, std::uint32_t mask, int bytes, const BankLayout& layout)
      : addresses_(addresses),
        mask_(mask),
        last_byte_(static_cast<unsigned>(bytes) - 1),
        word_shift_(std::countr_zero(static_cast<unsigned>(layout.word_bytes))),
        row_shift_(std::countr_zero(static_cast<unsigned>(layout.banks))),
        banks_(static_cast<unsigned>(layout.banks)) {}

  std::uint32_t wavefronts(bool atomic) {
    if (atomic) return count([](std::uint64_t, unsigned) { return 1u; });
    std::uint64_t lowest = ~std::uint64_t{0}, highest = 0;
    for (std::uint32_t m = mask_; m != 0; m &= m - 1) {
      const std::uint64_t address = addresses_[std::countr_zero(m)];
      lowest = std::min(lowest, address);
      highest = std::max(highest, address);
    }
    const std::uint64_t first = lowest >> word_shift_ >> row_shift_;
    const std::uint64_t last = (highest + last_byte_) >> word_shift_ >> row_shift_;
    return last - first < 64 ? near(first) : far();
  }

 private:
  /// `is_new`: 1 for a word of a bank that counts.
  template <class New>
  std::uint32_t count(New is_new) {
    std::array<std::uint32_t, 64> counts;
    std::fill_n(counts.begin(), banks_, 0u);
    std::uint32_t most = 0;
    for (std::uint32_t m = mask_; m != 0; m &= m - 1) {
      const std::uint64_t address = addresses_[std::countr_zero(m)];
      const std::uint64_t last = (address + last_byte_) >> word_shift_;
      for (std::uint64_t word = address >> word_shift_; word <= last; ++word) {
        const unsigned bank = static_cast<unsigned>(word) & (banks_ - 1);
        counts[bank] += is_new(word, bank);
        most = std::max(most, counts[bank]);
      }
    }
    return most;
  }

  /// All words lie in 64 rows of banks from `first` on: a bit for each.
  std::uint32_t near(std::uint64_t first) {
    std::array<std::uint64_t, 64> rows;
    std::fill_n(rows.begin(), banks_, std::uint64_t{0});
    return count([&](std::uint64_t word, unsigned bank) {
      const std::uint64_t row = (word >> row_shift_) - first, before = rows[bank];
      rows[bank] = before | std::uint64_t{1} << row;
      return static_cast<unsigned>(~before >> row & 1);
    });
  }

  /// Words of the same bank lie in a chain.
  std::uint32_t far() {
    std::array<std::int16_t, 64> heads{};
    // 32 lanes with 4 words, or 16 in a layout with words of a byte.
    std::array<std::int16_t, 32 * 16 + 1> next;
    std::array<std::uint64_t, 32 * 16 + 1> words;
    std::int16_t used = 0;
    return count([&](std::uint64_t word, unsigned bank) {
      for (std::int16_t i = heads[bank]; i != 0; i = next[static_cast<unsigned>(i)]) {
        if (words[static_cast<unsigned>(i)] == word) return 0u;
      }
      const auto slot = static_cast<unsigned>(++used);
      words[slot] = word;
      next[slot] = heads[bank];
      heads[bank] = used;
      return 1u;
    });
  }

  const std::uint64_t* addresses_;
  std::uint32_t mask_;
  unsigned last_byte_;
  int word_shift_, row_shift_;
  unsigned banks_;
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
  const std::uint32_t wavefronts =
      Pass(addresses, mask, bytes, layout).wavefronts(use == SharedUse::atomic);
  result.wavefronts += wavefronts;
  result.ideal += 1;
  result.ways = std::max(result.ways, wavefronts);
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
