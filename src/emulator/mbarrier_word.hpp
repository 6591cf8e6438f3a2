// The 64-bit word of an mbarrier, and what operations make of it. Pure functions: the instructions
// (instructions/mbarrier.cpp), remote threads and the copy engine apply them to the same word.
//
// The word is opaque to programs. Here: bits 0 to 19 are the arrivals that the phase still waits
// for, 20 to 39 those that each phase waits for, 40 to 60 the bytes of transactions that it waits
// for (plus 2^20: they may be negative for a while), 63 the parity of the phase.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace tilescope::emulator {

class MbarrierWord {
 public:
  static constexpr std::uint64_t kMostArrivals = (1u << 20) - 1;
  static constexpr std::uint64_t kMostTransactions = (1u << 20) - 1;

  /// Memory that holds no barrier.
  MbarrierWord() = default;
  explicit MbarrierWord(std::uint64_t bits) : bits_(bits) {}
  /// A new barrier; each phase waits for `arrivals`.
  static MbarrierWord initial(std::uint64_t arrivals) {
    const std::uint64_t count = arrivals & kMostArrivals;
    return MbarrierWord(count | count << 20 | kNoTransactions << 40);
  }

  static MbarrierWord read(const std::uint8_t* at) {
    MbarrierWord word;
    std::memcpy(&word.bits_, at, sizeof word.bits_);
    return word;
  }
  void write(std::uint8_t* at) const { std::memcpy(at, &bits_, sizeof bits_); }

  std::uint64_t bits() const { return bits_; }
  /// Arrivals that the phase still waits for.
  std::uint64_t pending() const { return bits_ & kMostArrivals; }
  /// Arrivals that each phase waits for.
  std::uint64_t expected() const { return bits_ >> 20 & kMostArrivals; }
  /// Bytes that the phase still waits for; negative if some came before they were expected.
  std::int64_t transactions() const {
    return static_cast<std::int64_t>(bits_ >> 40 & kTransactionMask) -
           static_cast<std::int64_t>(kNoTransactions);
  }
  std::uint64_t parity() const { return bits_ >> 63; }

  /// Whether the phase of this parity (the bit of a token, or the operand of a wait) is over.
  bool is_over(std::uint64_t phase_parity) const { return parity() != (phase_parity & 1); }

  /// The phase waits for `bytes` more.
  void expect(std::uint64_t bytes) { add_transactions(bytes); }
  /// `bytes` have arrived; may end the phase.
  void complete(std::uint64_t bytes) {
    add_transactions(0 - bytes);
    settle();
  }
  /// `count` threads arrive; may end the phase.
  void arrive(std::uint64_t count) {
    bits_ -= std::min(count, pending());
    settle();
  }
  /// `count` threads arrive and drop out of all later phases.
  void arrive_and_drop(std::uint64_t count) {
    bits_ -= std::min(count, expected()) << 20;
    arrive(count);
  }

 private:
  static constexpr std::uint64_t kTransactionMask = (1u << 21) - 1;
  static constexpr std::uint64_t kNoTransactions = 1u << 20;

  void add_transactions(std::uint64_t bytes) {
    const std::uint64_t sum = ((bits_ >> 40 & kTransactionMask) + bytes) & kTransactionMask;
    bits_ = (bits_ & ~(kTransactionMask << 40)) | sum << 40;
  }
  /// The phase ends when all have arrived and all bytes have.
  void settle() {
    if (pending() != 0 || transactions() != 0) return;
    bits_ = (bits_ | expected()) ^ std::uint64_t{1} << 63;
  }

  std::uint64_t bits_ = 0;
};

}  // namespace tilescope::emulator
