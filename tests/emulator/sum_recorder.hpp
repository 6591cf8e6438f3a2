// An observer that takes accesses added up and keeps all that its events tell, whether they come
// one by one or as sums.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "emulator/access_sum.hpp"
#include "emulator/events.hpp"
#include "emulator/touched_bytes.hpp"

namespace tilescope::emulator::test {

/// All marks, to be compared.
class AllTouchedBytes : public TouchedBytes {
 public:
  using TouchedBytes::TouchedBytes;
  std::vector<std::uint64_t> bits() const {
    std::vector<std::uint64_t> result;
    for (const Region& region : regions()) {
      for (std::uint64_t i = 0; i < region.words(); ++i) {
        result.push_back(region.read[i].load());
        result.push_back(region.written[i].load());
      }
    }
    return result;
  }
};

class SumRecorder final : public Observer {
 public:
  /// Accesses alike, as access_sum.hpp says; in one block if the sums come by block.
  struct Kind {
    std::uint64_t block = 0;
    InstructionId instruction = 0;
    Space space = Space::global;
    AccessKind access = AccessKind::load;
    unsigned bytes = 0;
    LaneMask mask = 0;
    std::uint64_t residue = 0;
    std::array<std::uint64_t, kWarpSize> differences{};
    auto operator<=>(const Kind&) const = default;
  };
  struct Tally {
    std::uint64_t times = 0;
    std::pair<std::uint64_t, std::uint32_t> place{~std::uint64_t{0}, 0};  ///< block, warp
    std::uint64_t address = 0;  ///< of the first access there
    bool operator==(const Tally&) const = default;
  };
  using Tallies = std::map<Kind, Tally>;
  using Branches = std::vector<std::tuple<std::uint64_t, InstructionId, std::uint32_t, LaneMask>>;

  explicit SumRecorder(bool by_block) : by_block_(by_block) {}

  std::uint32_t events() const override {
    return kGlobalAccess | kSharedAccess | kLocalAccess | kDivergence;
  }
  std::uint32_t sums() const override { return kGlobalAccess | kSharedAccess; }
  bool sums_by_block() const override { return by_block_; }
  TouchedBytes* touched_bytes() override { return touched_.get(); }
  void begin_launch(const LaunchInfo& launch) override {
    touched_ = std::make_unique<AllTouchedBytes>(launch.memory);
  }
  std::unique_ptr<BlockObserver> make_block_observer() override {
    return std::make_unique<OfBlock>(*this);
  }
  void merge(BlockObserver& block) override {
    auto& other = static_cast<OfBlock&>(block);
    for (const auto& [kind, tally] : other.tallies) {
      Tally& sum = tallies[kind];
      sum.times += tally.times;
      if (tally.place < sum.place) sum.place = tally.place, sum.address = tally.address;
    }
    branches.insert(branches.end(), other.branches.begin(), other.branches.end());
    added_up += other.added_up;
  }
  void end_launch(const LaunchTotals&) override { touched = touched_->bits(); }

  Tallies tallies;
  Branches branches;
  std::vector<std::uint64_t> touched;
  std::uint64_t added_up = 0;  ///< accesses that came in sums

 private:
  struct OfBlock final : BlockObserver {
    explicit OfBlock(SumRecorder& recorder) : owner(recorder) {}
    Kind kind(InstructionId instruction, Space space, AccessKind access, unsigned bytes,
              LaneMask mask, const std::uint64_t* addresses) const {
      Kind kind{owner.by_block_ ? block : 0, instruction, space, access, bytes, mask, 0, {}};
      const std::uint64_t first = addresses[std::countr_zero(mask)];
      bool uniform = true;
      for (LaneMask m = mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<std::size_t>(std::countr_zero(m));
        kind.differences[lane] = addresses[lane] - first;
        uniform = uniform && addresses[lane] == first;
      }
      if (!uniform) kind.residue = first % (space == Space::global ? kSumModulus : 4);
      return kind;
    }
    Tally& tally_of(const Access& a) {
      return tallies[kind(a.instruction, a.space, a.kind, a.bytes, a.mask, a.addresses)];
    }
    static void keep_first(Tally& tally, std::uint64_t block, const Access& a) {
      const std::pair place{block, a.warp};
      if (place >= tally.place) return;
      tally.place = place;
      tally.address = a.address(std::countr_zero(a.mask));
    }
    void begin_block(const BlockInfo& info, const BlockView&) override { block = info.linear; }
    void access(const Access& a) override {
      Tally& tally = tally_of(a);
      ++tally.times;
      keep_first(tally, block, a);
      if (a.space != Space::global) return;
      for (LaneMask m = a.mask; m != 0; m &= m - 1) {
        const std::uint64_t address = a.address(std::countr_zero(m));
        const std::uint32_t region = owner.touched_->find(address, TouchedBytes::kNowhere);
        const bool copies = a.kind == AccessKind::async_load;
        if (a.kind != AccessKind::store) owner.touched_->mark(region, address, a.bytes, false);
        if (a.kind != AccessKind::load && !copies) {
          owner.touched_->mark(region, address, a.bytes, true);
        }
      }
    }
    void first_access(const Access& a) override { keep_first(tally_of(a), block, a); }
    void access_sum(const AccessSum& s) override {
      if (s.kind == AccessKind::async_store) {
        const Kind source = kind(s.instruction, Space::global, AccessKind::async_load, s.bytes,
                                 ~LaneMask{0}, s.sources.data());
        tallies[source].times += s.times;
      }
      const Kind alike =
          kind(s.instruction, s.space, s.kind, s.bytes, ~LaneMask{0}, s.addresses.data());
      tallies[alike].times += s.times;
      added_up += s.times;
    }
    void branch(const Branch& b) override {
      branches.emplace_back(block, b.instruction, b.warp, b.taken);
    }

    SumRecorder& owner;
    std::uint64_t block = 0;
    Tallies tallies;
    Branches branches;
    std::uint64_t added_up = 0;
  };

  bool by_block_;
  std::unique_ptr<AllTouchedBytes> touched_;
};

}  // namespace tilescope::emulator::test
