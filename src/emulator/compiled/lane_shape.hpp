// The shape of a register's lanes: the differences of each lane's value to that of lane 0. Compiled
// code keeps a register of known shape as one number, the value of lane 0: adding to it costs one
// instruction instead of one for each eight lanes, and an access through it needs one check.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace tilescope::emulator::compiled {

/// Modulo 2^64, or modulo 2^32 (zero-extended) for registers of 4 bytes a lane.
using LaneShape = std::array<std::uint64_t, 32>;

/// A number of a shape in a ShapeTable. All lanes of the first are equal.
using ShapeNumber = std::int32_t;
inline constexpr ShapeNumber kUniform = 0;
inline constexpr ShapeNumber kNoShape = -1;  ///< the lanes have nothing in common

/// The extent of a shape as signed differences.
struct ShapeExtent {
  std::int64_t low = 0, high = 0;
  std::uint64_t bits = 0;  ///< OR of all differences
};

class ShapeTable {
 public:
  ShapeTable() { number({}); }

  const LaneShape& operator[](ShapeNumber number) const {
    return shapes_[static_cast<std::size_t>(number)];
  }
  /// kNoShape when there are too many.
  ShapeNumber number(const LaneShape& shape);
  /// The shape of a register of `bytes` a lane with these contents.
  ShapeNumber observe(const std::uint8_t* lanes, unsigned bytes);

  // Arithmetic on registers of `bytes` a lane; kNoShape stays kNoShape.
  ShapeNumber add(ShapeNumber a, ShapeNumber b, unsigned bytes);
  ShapeNumber subtract(ShapeNumber a, ShapeNumber b, unsigned bytes);
  ShapeNumber multiply(ShapeNumber a, std::uint64_t factor, unsigned bytes);
  /// From 4 bytes a lane to 8, where no lane wraps, or back.
  ShapeNumber widen(ShapeNumber a);
  ShapeNumber narrow(ShapeNumber a);

  /// The lowest and highest difference over these lanes and lane 0.
  ShapeExtent extent(ShapeNumber a, unsigned bytes, std::uint32_t lanes = 0xffffffffu) const;
  /// As a signed difference.
  std::int64_t difference(ShapeNumber a, int lane, unsigned bytes) const;

 private:
  std::vector<LaneShape> shapes_;
  std::map<LaneShape, ShapeNumber> numbers_;
};

}  // namespace tilescope::emulator::compiled
