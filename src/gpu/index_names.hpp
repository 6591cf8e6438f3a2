// The names that index expressions and conditions may use without a definition.
#pragma once

#include <map>
#include <string>
#include <tilescope/launch.hpp>
#include <vector>

#include "expression/expression.hpp"

namespace tilescope::gpu {

/// The built-in variables of a kernel, in the order of their slots: threadIdx.x, .y, .z, blockIdx,
/// blockDim, gridDim likewise, warpSize.
const std::vector<std::string>& builtin_names();
/// Their values for one thread.
std::vector<std::int64_t> builtin_values(const Dim3& thread, const Dim3& block_index,
                                         const Launch& launch, int warp_size = 32);

/// The short names common in lectures: tx, ty, tz, bx, by, bz for the indices, row and col (also
/// Row, Col, gy, gx, j, i) for the element of a two-dimensional grid with x along the columns.
const expression::Definitions& standard_definitions();

/// `given` (name -> expression in text), and the standard definitions that `given` does not
/// replace. Throws Error(usage) for a text that does not parse or the name of a built-in.
expression::Definitions definitions_with(const std::map<std::string, std::string>& given);

/// `expression` with definitions in place, its variables bound to slots of (built-ins, then
/// `extra`). Throws Error(usage) for a variable that is neither.
class BoundExpression {
 public:
  BoundExpression(const expression::Expression& expression,
                  const std::vector<std::string>& extra = {});

  bool uses(const std::string& name) const { return expression_.slot(name) >= 0; }
  /// `values`: as many as builtin_names() and extra together.
  std::int64_t evaluate(const std::vector<std::int64_t>& values) const;
  const expression::Expression& expression() const { return expression_; }

 private:
  expression::Expression expression_;
  std::vector<std::size_t> sources_;  // of each variable of the expression, an index into `values`
};

}  // namespace tilescope::gpu
