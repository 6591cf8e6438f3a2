#include "observe/check/initialised.hpp"

#include <algorithm>

namespace tilescope::observe {
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

bool ByteFlags::all(std::uint64_t offset, std::uint64_t bytes) const {
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

void ByteFlags::change(std::uint64_t offset, std::uint64_t bytes, bool value) {
  for_words(offset, bytes, [&](std::uint64_t word, std::uint64_t mask) {
    words_[word] = value ? words_[word] | mask : words_[word] & ~mask;
  });
}

ReadRule read_rule(const ptx::Instruction& instruction) {
  const ptx::Type type = instruction.modifiers.type();
  if (instruction.opcode != ptx::Opcode::ld || !ptx::is_float(type)) return {0};
  return {ptx::byte_size(type)};
}

}  // namespace tilescope::observe
