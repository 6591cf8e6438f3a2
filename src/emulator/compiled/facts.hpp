// Facts about the registers at a place in a region, where all 32 lanes of a warp are: which of them
// are kept as one number and a shape (lane_shape.hpp), and what each operation makes of that.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/compiled/function_plan.hpp"
#include "emulator/compiled/lane_shape.hpp"

namespace tilescope::emulator::compiled {

struct RegisterFact {
  ShapeNumber shape = kNoShape;
  bool stale = false;  ///< the frame has an older value: the number is the truth
  /// Low bits of the number that are zero. Where the shape's differences fit in them, the bits of
  /// number and differences are apart, so that `and`, `or` and `shr` keep a shape.
  std::uint8_t zeros = 0;
};
using Facts = std::vector<RegisterFact>;  ///< by register

/// The way in which an operation is compiled.
enum class Way : std::uint8_t {
  scalar,  ///< results of known shape: one number each
  vector,  ///< lane by lane, eight at a time
  access,  ///< memory through an address of known shape
  call,    ///< by the interpreter's executor
};

class FactRules {
 public:
  /// `wanted`: registers whose shape is worth knowing.
  FactRules(const FunctionPlan& plan, ShapeTable& shapes, const std::vector<bool>& wanted)
      : plan_(plan), shapes_(shapes), wanted_(wanted) {}

  ShapeNumber shape(const Facts& facts, std::uint32_t reg) const;
  unsigned zeros(const Facts& facts, std::uint32_t reg) const;
  Way way(const Operation& operation, const Facts& facts) const;
  /// `facts` become those behind the operation.
  void apply(const Operation& operation, Facts& facts) const;

 private:
  ShapeNumber result_shape(const Operation& operation, const Facts& facts) const;
  ShapeNumber product_shape(const Operation& operation, const Facts& facts, bool wide) const;
  unsigned result_zeros(const Operation& operation, const Facts& facts) const;
  ShapeNumber bitwise_shape(const Operation& operation, const Facts& facts) const;
  ShapeNumber shifted_shape(const Operation& operation, const Facts& facts) const;
  bool has_bits_apart(const Facts& facts, std::uint32_t reg, unsigned bits) const;
  bool is_regular_access(const Operation& operation, std::size_t i, const Facts& facts) const;

  const FunctionPlan& plan_;
  ShapeTable& shapes_;
  const std::vector<bool>& wanted_;
};

}  // namespace tilescope::emulator::compiled
