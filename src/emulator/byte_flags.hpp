// A bit for each byte of a stretch of memory, such as: does it hold a defined value?
#pragma once

#include <cstdint>
#include <vector>

namespace tilescope::emulator {

class ByteFlags {
 public:
  /// Room for `bytes` flags, all of them off.
  void reset(std::uint64_t bytes) { words_.assign(bytes / 64 + 1, 0); }
  /// No flags and no memory.
  void release() { words_ = {}; }
  std::uint64_t size() const { return words_.size() * 64; }
  void grow(std::uint64_t bytes) {
    if (bytes > size()) words_.resize(bytes / 64 + 1, 0);
  }

  // The range must lie within size().
  void set(std::uint64_t offset, std::uint64_t bytes) { change(offset, bytes, true); }
  void clear(std::uint64_t offset, std::uint64_t bytes) { change(offset, bytes, false); }
  /// Takes the flags of [from_offset, from_offset + bytes). `from` is another object.
  void copy(std::uint64_t offset, const ByteFlags& from, std::uint64_t from_offset,
            std::uint64_t bytes);
  bool all(std::uint64_t offset, std::uint64_t bytes) const {
    const std::uint64_t first = offset % 64;
    if (bytes == 0 || first + bytes > 64) return all_words(offset, bytes);
    const std::uint64_t mask = ~std::uint64_t{0} >> (64 - bytes) << first;
    return (words_[offset / 64] & mask) == mask;
  }
  bool any(std::uint64_t offset, std::uint64_t bytes) const;
  std::uint64_t count(std::uint64_t offset, std::uint64_t bytes) const;

 private:
  bool all_words(std::uint64_t offset, std::uint64_t bytes) const;
  void change(std::uint64_t offset, std::uint64_t bytes, bool value);
  /// 64 flags from `offset` on; those past the end are off.
  std::uint64_t word_at(std::uint64_t offset) const;

  std::vector<std::uint64_t> words_;
};

}  // namespace tilescope::emulator
