#include "emulator/launch_schedule.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace tilescope::emulator {
namespace {

/// A hash whose bits all depend on all bits of `x` (the finaliser of SplitMix64).
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;

constexpr std::uint64_t warp_hash(std::uint64_t seed, std::uint64_t block, std::uint32_t warp) {
  return mix(mix(seed * kStep + block) + (std::uint64_t{warp} + 1) * kStep);
}

// The habits of a seed. Their numbers have no common factor, so that every combination comes.
constexpr std::array<std::size_t, 5> kWindows{8, 1, 2, 4, 32};
constexpr std::uint32_t kAlways = ~0u;
enum class Tempo : std::uint8_t { each_its_own, none, half, always, rare };
constexpr std::array<Tempo, 7> kTempos{Tempo::half,        Tempo::each_its_own, Tempo::none,
                                       Tempo::always,      Tempo::each_its_own, Tempo::rare,
                                       Tempo::each_its_own};
constexpr std::array<std::uint32_t, 5> kPaces{kAlways, 1u << 31, 1u << 29, 1u << 27, 0};

/// Rounds after which warps wake that only run when others wait.
constexpr std::uint32_t kLongestSleep = 256;

Tempo tempo_of(std::uint64_t seed) {
  return kTempos[seed % kTempos.size()];
}

}  // namespace

Schedule::Schedule(std::uint64_t seed, std::uint64_t clusters)
    : seed_(seed),
      state_(mix(seed)),
      clusters_(clusters),
      engine_(static_cast<Engine>(seed % 3)),
      window_(kWindows[seed % kWindows.size()]) {
  constexpr std::array kBlocks{Blocks::shuffled, Blocks::backward, Blocks::shuffled,
                               Blocks::forward};
  blocks_ = kBlocks[seed % kBlocks.size()];
  constexpr std::uint64_t kMostShuffled = std::uint64_t{1} << 32;  // products must not overflow
  if (clusters_ < 2 || clusters_ > kMostShuffled) return;
  do {
    stride_ = next() % clusters_;
  } while (std::gcd(stride_, clusters_) != 1);
  shift_ = next() % clusters_;
}

std::uint64_t Schedule::next() {
  return mix(state_ += kStep);
}

std::uint64_t Schedule::cluster(std::uint64_t nth) const {
  switch (blocks_) {
    case Blocks::forward:
      return nth;
    case Blocks::backward:
      return clusters_ - 1 - nth;
    case Blocks::shuffled:
      return (nth * stride_ + shift_) % clusters_;
  }
  return nth;
}

void Schedule::shuffle(std::size_t from, std::size_t to) {
  for (std::size_t i = to; i > from + 1; --i) {
    std::swap(order_[i - 1], order_[from + below(i - from)]);
  }
}

std::span<const std::uint32_t> Schedule::turns(std::size_t count) {
  order_.resize(count);
  std::iota(order_.begin(), order_.end(), 0u);
  shuffle(0, count);
  return order_;
}

bool Schedule::sleeps(std::uint64_t block, std::uint32_t warp) const {
  return tempo_of(seed_) == Tempo::each_its_own && warp_hash(~seed_, block, warp) % 6 == 0;
}

Schedule::Round Schedule::round(std::uint64_t block, std::size_t warps) {
  turns(warps);
  rounds_ = (rounds_ + 1) % kLongestSleep;
  if (rounds_ == 0) return {order_, warps};
  const auto asleep = std::stable_partition(
      order_.begin(), order_.end(), [&](std::uint32_t warp) { return !sleeps(block, warp); });
  return {order_, static_cast<std::size_t>(asleep - order_.begin())};
}

std::uint32_t Schedule::pace(std::uint64_t block, std::uint32_t warp) const {
  switch (tempo_of(seed_)) {
    case Tempo::each_its_own:
      return kPaces[warp_hash(seed_, block, warp) % kPaces.size()];
    case Tempo::none:
      return 0;
    case Tempo::half:
      return kPaces[1];
    case Tempo::always:
      return kAlways;
    case Tempo::rare:
      return kPaces[3];
  }
  return 0;
}

}  // namespace tilescope::emulator
