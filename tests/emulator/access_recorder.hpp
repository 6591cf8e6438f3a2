// An observer that takes known accesses and keeps a digest of all accesses, in their order, whether
// they come one by one or in groups.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>

#include "emulator/events.hpp"
#include "emulator/known_access.hpp"

namespace tilescope::emulator::test {

class AccessRecorder final : public Observer {
 public:
  std::uint32_t events() const override { return kGlobalAccess | kSharedAccess | kLocalAccess; }
  bool takes_known_accesses() const override { return true; }
  std::unique_ptr<BlockObserver> make_block_observer() override {
    return std::make_unique<OfBlock>(*this);
  }

  // With one host thread.
  std::uint64_t digest = 0, number = 0;
  std::uint64_t known = 0;  ///< accesses that came in groups

 private:
  struct OfBlock final : BlockObserver {
    explicit OfBlock(AccessRecorder& recorder) : owner(recorder) {}
    void add(std::uint64_t value) {
      owner.digest = (std::rotl(owner.digest, 7) ^ value) * 0x9e3779b97f4a7c15u;
    }
    void access(const Access& a) override {
      ++owner.number;
      for (const std::uint64_t value :
           {std::uint64_t{a.instruction}, std::uint64_t{a.warp}, std::uint64_t{a.mask},
            std::uint64_t{a.bytes}, static_cast<std::uint64_t>(a.space),
            static_cast<std::uint64_t>(a.kind), static_cast<std::uint64_t>(a.shape),
            static_cast<std::uint64_t>(a.order), static_cast<std::uint64_t>(a.scope)}) {
        add(value);
      }
      for (LaneMask m = a.mask; m != 0; m &= m - 1) {
        const int lane = std::countr_zero(m);
        add(a.address(lane));
        if (a.kind != AccessKind::store) continue;
        for (std::uint32_t done = 0; done < a.bytes; done += 8) {
          const std::uint64_t address = a.address(lane) + done;
          const std::uint32_t bytes = std::min<std::uint32_t>(8, a.bytes - done);
          add(stored_bits(a, lane, address, bytes));
          add(present_bits(a, address, bytes));
        }
      }
    }
    void known_accesses(const KnownAccesses& group) override {
      std::array<std::uint64_t, kWarpSize> addresses;
      for (std::size_t i = 0; i < group.group.accesses.size(); ++i) {
        access(group.single(i, addresses.data()));
      }
      owner.known += group.group.accesses.size();
    }
    AccessRecorder& owner;
  };
};

}  // namespace tilescope::emulator::test
