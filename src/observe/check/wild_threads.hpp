// Threads that have read through a faulty address. The emulator gave them 0, and what they do with
// it is no defect of its own: races that they take part in are left out.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>

#include "emulator/events.hpp"

namespace tilescope::observe {

class WildThreads {
 public:
  using Lanes = std::array<emulator::LaneMask, 32>;  ///< by warp

  void add(std::uint64_t block, const emulator::Fault& fault) {
    using Kind = emulator::AccessKind;
    // A faulty store is dropped, which leaves no trace in its thread.
    const bool reads = fault.access == Kind::load || fault.access == Kind::atomic ||
                       fault.access == Kind::async_load || fault.access == Kind::matrix_load;
    if (!reads || !is_access(fault.kind) || by_block_.size() == kMostBlocks) return;
    by_block_[block][fault.warp] |= fault.lanes;
  }
  void merge(const WildThreads& other) {
    for (const auto& [block, lanes] : other.by_block_) {
      Lanes& into = by_block_[block];
      for (std::size_t w = 0; w < lanes.size(); ++w) into[w] |= lanes[w];
    }
  }
  /// `thread` is AccessTag::thread().
  bool contains(std::uint64_t block, std::uint32_t thread) const {
    if (by_block_.empty()) return false;
    const auto found = by_block_.find(block);
    return found != by_block_.end() && (found->second[thread / 32] >> thread % 32 & 1) != 0;
  }

 private:
  static constexpr std::size_t kMostBlocks = 1u << 18;
  static bool is_access(emulator::FaultKind kind) {
    using enum emulator::FaultKind;
    return kind == out_of_bounds || kind == misaligned || kind == null_pointer || kind == freed ||
           kind == host_memory || kind == wrong_space || kind == no_such_block ||
           kind == exited_block || kind == other_block;
  }

  std::unordered_map<std::uint64_t, Lanes> by_block_;
};

}  // namespace tilescope::observe
