#include "emulator/compiled/lane_shape.hpp"

#include <algorithm>
#include <cstring>

namespace tilescope::emulator::compiled {
namespace {

constexpr std::size_t kMostShapes = 500;

std::uint64_t truncated(std::uint64_t value, unsigned bytes) {
  return bytes == 8 ? value : value & 0xffffffffu;
}

}  // namespace

ShapeNumber ShapeTable::number(const LaneShape& shape) {
  if (const auto found = numbers_.find(shape); found != numbers_.end()) return found->second;
  if (shapes_.size() >= kMostShapes) return kNoShape;
  shapes_.push_back(shape);
  const auto fresh = static_cast<ShapeNumber>(shapes_.size() - 1);
  numbers_.emplace(shape, fresh);
  return fresh;
}

ShapeNumber ShapeTable::observe(const std::uint8_t* lanes, unsigned bytes) {
  LaneShape values{};
  for (std::size_t l = 0; l < values.size(); ++l) std::memcpy(&values[l], lanes + l * bytes, bytes);
  const std::uint64_t first = values[0];
  for (std::uint64_t& value : values) value = truncated(value - first, bytes);
  return number(values);
}

ShapeNumber ShapeTable::add(ShapeNumber a, ShapeNumber b, unsigned bytes) {
  if (a == kNoShape || b == kNoShape) return kNoShape;
  if (a == kUniform || b == kUniform) return std::max(a, b);
  LaneShape sum;
  for (std::size_t l = 0; l < sum.size(); ++l) {
    sum[l] = truncated((*this)[a][l] + (*this)[b][l], bytes);
  }
  return number(sum);
}

ShapeNumber ShapeTable::subtract(ShapeNumber a, ShapeNumber b, unsigned bytes) {
  return add(a, multiply(b, ~std::uint64_t{0}, bytes), bytes);
}

ShapeNumber ShapeTable::multiply(ShapeNumber a, std::uint64_t factor, unsigned bytes) {
  if (a == kNoShape || a == kUniform || factor == 1) return a;
  LaneShape product = (*this)[a];
  for (std::uint64_t& value : product) value = truncated(value * factor, bytes);
  return number(product);
}

ShapeNumber ShapeTable::widen(ShapeNumber a) {
  if (a == kNoShape || a == kUniform) return a;
  LaneShape wide = (*this)[a];
  for (std::uint64_t& value : wide) {
    value = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(value)});
  }
  return number(wide);
}

ShapeNumber ShapeTable::narrow(ShapeNumber a) {
  if (a == kNoShape || a == kUniform) return a;
  LaneShape low = (*this)[a];
  for (std::uint64_t& value : low) value = truncated(value, 4);
  return number(low);
}

std::int64_t ShapeTable::difference(ShapeNumber a, int lane, unsigned bytes) const {
  const std::uint64_t value = (*this)[a][static_cast<std::size_t>(lane)];
  return bytes == 8 ? static_cast<std::int64_t>(value)
                    : std::int64_t{static_cast<std::int32_t>(value)};
}

ShapeExtent ShapeTable::extent(ShapeNumber a, unsigned bytes, std::uint32_t lanes) const {
  ShapeExtent result;
  for (int lane = 0; lane < 32; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    const std::int64_t d = difference(a, lane, bytes);
    result.low = std::min(result.low, d);
    result.high = std::max(result.high, d);
    result.bits |= static_cast<std::uint64_t>(d);
  }
  return result;
}

}  // namespace tilescope::emulator::compiled
