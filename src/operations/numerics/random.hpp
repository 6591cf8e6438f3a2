// Random inputs, the same for the same seed on any number of cores.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "base/parallel.hpp"
#include "operations/numerics/host_array.hpp"

namespace tilescope::operations {

/// Calls make(generator, i) for every i below `count`, on all cores; each chunk of indices has its
/// own generator.
template <typename Make>
void generate(std::size_t count, std::uint64_t seed, const Make& make) {
  constexpr std::size_t chunk = 1 << 16;
  parallel_for((count + chunk - 1) / chunk, [&](std::size_t c) {
    std::mt19937_64 generator(seed * 0x9E3779B97F4A7C15U + c);
    const std::size_t end = std::min(count, (c + 1) * chunk);
    for (std::size_t i = c * chunk; i < end; ++i) make(generator, i);
  });
}

/// Uniform in [-1, 1).
std::vector<float> random_values(std::int64_t count, std::uint64_t seed);

/// An operand of a product: uniform in [-1, 1), rounded to nearest, but for 8-bit floats in steps
/// of 1/16 (e4m3) or 1/8 (e5m2) up to 1. Groups of 128 such products are exact in 14 bits unless
/// their sum exceeds 64, some 17 times its standard deviation, so tensor cores make no error at
/// all. Integers: every value equally likely.
HostArray random_operand(DataType type, std::int64_t count, std::uint64_t seed);

/// Floating-point types: uniform in [-1, 1) with all the bits of a float32. Integers: every bit
/// pattern equally likely.
HostArray random_array(DataType type, std::size_t count, std::uint64_t seed);

}  // namespace tilescope::operations
