#include "gpu/shared_banks.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace tilescope::gpu {
namespace {

/// The wavefronts of one pass: the most words (atomics: lanes) that meet in one bank.
class Pass {
 public:
  Pass(const BankLayout& layout, bool atomic) : layout_(layout), atomic_(atomic) {}

  void add(std::uint64_t address, int bytes) {
    const auto word = static_cast<unsigned>(layout_.word_bytes);
    const std::uint64_t last = (address + static_cast<unsigned>(bytes) - 1) / word;
    for (std::uint64_t w = address / word; w <= last; ++w) add_word(w);
  }
  std::uint32_t wavefronts() const { return most_; }

 private:
  void add_word(std::uint64_t word) {
    // Words of the same bank lie in a chain; a pass has at most 32 lanes * 4 words.
    const auto bank = static_cast<unsigned>(word) & static_cast<unsigned>(layout_.banks - 1);
    if (!atomic_) {
      for (int i = heads_[bank]; i != 0; i = next_[static_cast<unsigned>(i)]) {
        if (words_[static_cast<unsigned>(i)] == word) return;
      }
    }
    const auto slot = static_cast<unsigned>(++used_);
    words_[slot] = word;
    next_[slot] = heads_[bank];
    heads_[bank] = static_cast<std::int16_t>(slot);
    most_ = std::max<std::uint32_t>(most_, ++counts_[bank]);
  }

  const BankLayout& layout_;
  bool atomic_;
  int used_ = 0;
  std::uint32_t most_ = 0;
  std::array<std::int16_t, 64> heads_{};
  std::array<std::uint16_t, 64> counts_{};
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
  Pass pass(layout, use == SharedUse::atomic);
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
