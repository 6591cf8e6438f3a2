#include "emulator/instructions/matrix_descriptor.hpp"

#include "emulator/swizzle.hpp"

namespace tilescope::emulator {

MatrixDescriptor::MatrixDescriptor(std::uint64_t bits) {
  constexpr std::uint32_t spans[] = {16, 128, 64, 32};
  const auto field = [&](unsigned at) { return static_cast<std::uint32_t>(bits >> at & 0x3fff); };
  start = field(0) << 4;
  leading = field(16) << 4;
  stride = field(32) << 4;
  base_offset = static_cast<std::uint32_t>(bits >> 49 & 7);
  span = spans[bits >> 62];
}

std::uint32_t MatrixDescriptor::place(std::uint32_t offset) const {
  constexpr std::uint32_t reachable = (1u << 18) - 1;
  const std::uint32_t shift = base_offset << 7;
  return static_cast<std::uint32_t>(swizzled(start + offset - shift, span / 16) + shift) &
         reachable;
}

std::uint32_t MatrixDescriptor::k_major(std::uint32_t mn, std::uint32_t k) const {
  const std::uint32_t pieces = span / 16;  // in a row of the core matrix
  return place(mn / 8 * stride + mn % 8 * span + k / pieces * leading + k % pieces * 16);
}

std::uint32_t MatrixDescriptor::mn_major(std::uint32_t group, std::uint32_t k) const {
  if (span == 16) return place(group * stride + k / 8 * leading + k % 8 * 16);
  const std::uint32_t pieces = span / 16;
  return place(group / pieces * leading + group % pieces * 16 + k / 8 * stride + k % 8 * span);
}

}  // namespace tilescope::emulator
