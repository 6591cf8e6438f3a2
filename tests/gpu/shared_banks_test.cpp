#include "gpu/shared_banks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <random>
#include <set>

namespace tilescope::gpu {
namespace {

constexpr std::uint32_t kWholeWarp = 0xffffffffu;

std::array<std::uint64_t, 32> lane_addresses(const std::function<std::uint64_t(int)>& address) {
  std::array<std::uint64_t, 32> result{};
  for (int l = 0; l < 32; ++l) result[static_cast<std::size_t>(l)] = address(l);
  return result;
}
std::uint64_t u(int value) {
  return static_cast<std::uint64_t>(value);
}

SharedWavefronts access(int bytes, const std::function<std::uint64_t(int)>& address,
                        std::uint32_t mask = kWholeWarp, SharedUse use = SharedUse::load) {
  return shared_wavefronts(lane_addresses(address).data(), mask, bytes, use);
}
SharedWavefronts expect(std::uint32_t wavefronts, std::uint32_t ideal, std::uint32_t ways) {
  return {wavefronts, ideal, ways};
}

TEST(SharedBanks, ConsecutiveWordsTakeOneWavefront) {
  EXPECT_EQ(access(4, [](int l) { return u(l) * 4; }), expect(1, 1, 1));
  EXPECT_EQ(access(4, [](int l) { return 4000 + u(31 - l) * 4; }), expect(1, 1, 1));
}
TEST(SharedBanks, OneWordForAllIsABroadcast) {
  EXPECT_EQ(access(4, [](int) { return 64; }), expect(1, 1, 1));
}
TEST(SharedBanks, StridesOfWordsConflictByTheirPowerOfTwo) {
  for (int stride = 1; stride <= 64; ++stride) {
    const auto ways = static_cast<std::uint32_t>(std::min(32, stride & -stride));
    EXPECT_EQ(access(4, [&](int l) { return u(l * stride) * 4; }), expect(ways, 1, ways)) << stride;
  }
}
TEST(SharedBanks, BytesOfOneWordAreOneWord) {
  EXPECT_EQ(access(1, [](int l) { return u(l); }), expect(1, 1, 1));
  EXPECT_EQ(access(2, [](int l) { return u(l) * 2; }), expect(1, 1, 1));
  EXPECT_EQ(access(1, [](int l) { return u(l) * 128; }), expect(32, 1, 32));
}
TEST(SharedBanks, TwoRowsOfATileReadTheSameWords) {
  EXPECT_EQ(access(4, [](int l) { return u(l % 16) * 4; }), expect(1, 1, 1));
}
TEST(SharedBanks, EightBytesTakeTwoPassesUnlessLanesPairUp) {
  EXPECT_EQ(access(8, [](int l) { return u(l) * 8; }), expect(2, 2, 1));
  EXPECT_EQ(access(8, [](int l) { return u(l / 2) * 8; }), expect(1, 1, 1));
  EXPECT_EQ(access(8, [](int l) { return u((l & 1) | (l >> 2 << 1)) * 8; }), expect(1, 1, 1));
  EXPECT_EQ(access(8, [](int l) { return u(l % 16) * 8; }), expect(2, 2, 1));
  EXPECT_EQ(access(8, [](int) { return 0; }), expect(1, 1, 1));
  EXPECT_EQ(access(8, [](int l) { return u(l) * 16; }), expect(4, 2, 2));
}
TEST(SharedBanks, SixteenBytesAsMeasured) {
  EXPECT_EQ(access(16, [](int l) { return u(l) * 16; }), expect(4, 4, 1));
  EXPECT_EQ(access(16, [](int l) { return u(l / 16) * 64; }), expect(2, 2, 1));  // 16-wide tile
  EXPECT_EQ(access(16, [](int) { return 256; }), expect(2, 2, 1));               // 32-wide tile
  EXPECT_EQ(access(16, [](int l) { return u(l) * 128; }), expect(32, 4, 8));     // conflicts
  EXPECT_EQ(access(16, [](int l) { return u(l / 8) * 32; }), expect(2, 2, 1));   // 8-wide tile
  EXPECT_EQ(access(
                16, [](int l) { return u(l / 4) * 16; }, 0xffffu),
            expect(1, 1, 1));
}
TEST(SharedBanks, PassesWithoutLanesDoNotHappen) {
  EXPECT_EQ(access(
                16, [](int l) { return u(l) * 16; }, 0x000000ffu),
            expect(1, 1, 1));
  EXPECT_EQ(access(
                8, [](int l) { return u(l) * 8; }, 0xffff0000u),
            expect(1, 1, 1));
  EXPECT_EQ(access(
                4, [](int l) { return u(l) * 128; }, 0x80000001u),
            expect(2, 1, 2));
}
TEST(SharedBanks, AtomicsOnOneWordTakeTurns) {
  EXPECT_EQ(access(
                4, [](int) { return 8; }, kWholeWarp, SharedUse::atomic),
            expect(32, 1, 32));
  EXPECT_EQ(access(
                4, [](int l) { return u(l) * 4; }, kWholeWarp, SharedUse::atomic),
            expect(1, 1, 1));
  EXPECT_EQ(access(
                4, [](int l) { return u(l / 2) * 4; }, kWholeWarp, SharedUse::atomic),
            expect(2, 1, 2));
}
TEST(SharedBanks, AddingOneToOneWordIsShared) {
  EXPECT_EQ(access(
                4, [](int) { return 8; }, kWholeWarp, SharedUse::increment),
            expect(1, 1, 1));
  EXPECT_EQ(access(
                4, [](int l) { return u(l % 4) * 128; }, kWholeWarp, SharedUse::increment),
            expect(4, 1, 4));
}
TEST(SharedBanks, PassesOfStoresStayApart) {
  // Every fourth lane: each quarter-warp has two, whose partners do not participate.
  const auto every_fourth = [](SharedUse use) {
    return access(
        16, [](int l) { return u(l) * 16; }, 0x11111111u, use);
  };
  EXPECT_EQ(every_fourth(SharedUse::load), expect(4, 2, 2));
  EXPECT_EQ(every_fourth(SharedUse::store), expect(4, 4, 1));
}
TEST(SharedBanks, EightBanksOfTheTeachingPicture) {
  const BankLayout eight{.banks = 8, .word_bytes = 4};
  const auto row = lane_addresses([](int l) { return u(l) * 4; });
  const auto column = lane_addresses([](int l) { return u(l) * 8 * 4; });
  const auto padded = lane_addresses([](int l) { return u(l) * 9 * 4; });
  EXPECT_EQ(shared_wavefronts(row.data(), 0xff, 4, SharedUse::load, eight), expect(1, 1, 1));
  EXPECT_EQ(shared_wavefronts(column.data(), 0xff, 4, SharedUse::load, eight), expect(8, 1, 8));
  EXPECT_EQ(shared_wavefronts(padded.data(), 0xff, 4, SharedUse::load, eight), expect(1, 1, 1));
}
/// Words near each other and far apart, some of them shared by lanes, against sets of words.
TEST(SharedBanks, WordsAtRandom) {
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    const std::uint32_t words = 1u << (i % 15), from = static_cast<std::uint32_t>(random() % 5000);
    const std::uint32_t mask = i % 4 == 0 ? static_cast<std::uint32_t>(random()) | 1 : kWholeWarp;
    const bool atomic = i % 3 == 0;
    const std::uint64_t apart = std::array{1, 32, 2048, 63}[random() % 4];
    std::array<std::uint64_t, 32> addresses{};
    std::map<std::uint64_t, std::multiset<std::uint64_t>> banks;
    for (std::size_t l = 0; l < addresses.size(); ++l) {
      const std::uint64_t word = from + random() % words * apart;
      addresses[l] = word * 4;
      std::multiset<std::uint64_t>& bank = banks[word % 32];
      const bool counts = atomic || bank.count(word) == 0;
      if ((mask >> l & 1) != 0 && counts) bank.insert(word);
    }
    std::size_t most = 0;
    for (const auto& [number, bank] : banks) most = std::max(most, bank.size());
    const auto ways = static_cast<std::uint32_t>(most);
    EXPECT_EQ(shared_wavefronts(addresses.data(), mask, 4,
                                atomic ? SharedUse::atomic : SharedUse::increment),
              expect(ways, 1, ways))
        << i;
  }
}
TEST(SharedBanks, MatrixRows) {
  const auto dense = lane_addresses([](int l) { return u(l) * 16; });
  const auto strided = lane_addresses([](int l) { return u(l) * 128; });
  EXPECT_EQ(matrix_wavefronts(dense.data(), kWholeWarp), expect(4, 4, 1));
  EXPECT_EQ(matrix_wavefronts(strided.data(), 0xff), expect(8, 1, 8));
}

}  // namespace
}  // namespace tilescope::gpu
