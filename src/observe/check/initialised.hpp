// Which bytes hold defined values: shared and local memory of one block.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/events.hpp"
#include "ptx/instruction.hpp"

namespace tilescope::observe {

/// A bit for each byte.
class ByteFlags {
 public:
  void reset(std::uint64_t bytes) { words_.assign(bytes / 64 + 1, 0); }
  std::uint64_t size() const { return words_.size() * 64; }
  void grow(std::uint64_t bytes) {
    if (bytes > size()) words_.resize(bytes / 64 + 1, 0);
  }
  void set(std::uint64_t offset, std::uint64_t bytes) { change(offset, bytes, true); }
  void clear(std::uint64_t offset, std::uint64_t bytes) { change(offset, bytes, false); }
  bool all(std::uint64_t offset, std::uint64_t bytes) const;
  bool any(std::uint64_t offset, std::uint64_t bytes) const;

 private:
  void change(std::uint64_t offset, std::uint64_t bytes, bool value);
  std::vector<std::uint64_t> words_;
};

/// Does a read of `bytes` bytes, of which `is_set(offset, bytes)` tells how many are defined, count
/// as a read of undefined values? Copies of structures move their padding along: so a read of
/// integers or plain bits only does when none of its bytes is defined, one of floating point
/// elements of `element` bytes when any element is not.
struct ReadRule {
  std::uint32_t element = 0;  ///< bytes; 0: judge the access as a whole
};
ReadRule read_rule(const ptx::Instruction& instruction);

template <class Flags>
bool reads_undefined(const Flags& flags, std::uint64_t offset, std::uint32_t bytes,
                     const ReadRule& rule) {
  if (flags.all(offset, bytes)) return false;
  if (rule.element == 0) return !flags.any(offset, bytes);
  return true;
}

}  // namespace tilescope::observe
