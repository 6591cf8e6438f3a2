#include "emulator/byte_flags.hpp"

#include <algorithm>
#include <bit>

namespace tilescope::emulator {
namespace {

/// Calls visit(word index, mask) for the words of [offset, offset + bytes).
template <class Visit>
void for_words(std::uint64_t offset, std::uint64_t bytes, Visit visit) {
  while (bytes != 0) {
    const std::uint64_t first = offset % 64;
    const std::uint64_t count = std::min<std::uint64_t>(bytes, 64 - first);
    const std::uint64_t mask = (count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1)
                               << first;
    visit(offset / 64, mask);
    offset += count;
    bytes -= count;
  }
}

}  // namespace

bool ByteFlags::all_words(std::uint64_t offset, std::uint64_t bytes) const {
  bool all = true;
  for_words(offset, bytes, [&](std::uint64_t word, std::uint64_t mask) {
    all = all && (words_[word] & mask) == mask;
  });
  return all;
}

bool ByteFlags::any(std::uint64_t offset, std::uint64_t bytes) const {
  bool any = false;
  for_words(offset, bytes, [&](std::uint64_t word, std::uint64_t mask) {
    any = any || (words_[word] & mask) != 0;
  });
  return any;
}

std::uint64_t ByteFlags::count(std::uint64_t offset, std::uint64_t bytes) const {
  std::uint64_t count = 0;
  for_words(offset, bytes, [&](std::uint64_t word, std::uint64_t mask) {
    count += static_cast<std::uint64_t>(std::popcount(words_[word] & mask));
  });
  return count;
}

void ByteFlags::change(std::uint64_t offset, std::uint64_t bytes, bool value) {
  for_words(offset, bytes, [&](std::uint64_t word, std::uint64_t mask) {
    words_[word] = value ? words_[word] | mask : words_[word] & ~mask;
  });
}

std::uint64_t ByteFlags::word_at(std::uint64_t offset) const {
  const std::uint64_t index = offset / 64, shift = offset % 64;
  const std::uint64_t low = words_[index] >> shift;
  return shift == 0 || index + 1 == words_.size() ? low : low | words_[index + 1] << (64 - shift);
}

void ByteFlags::copy(std::uint64_t offset, const ByteFlags& from, std::uint64_t from_offset,
                     std::uint64_t bytes) {
  for_words(offset, bytes, [&](std::uint64_t word, std::uint64_t mask) {
    const auto first = static_cast<std::uint64_t>(std::countr_zero(mask));
    const std::uint64_t bits = from.word_at(from_offset + (word * 64 + first - offset)) << first;
    words_[word] = (words_[word] & ~mask) | (bits & mask);
  });
}

}  // namespace tilescope::emulator
