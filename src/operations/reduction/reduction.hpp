// Reductions of a list to one value: sum, minimum, maximum, place of the maximum.
#pragma once

#include <memory>
#include <tilescope/reduction.hpp>

#include "operations/rung/operation.hpp"
#include "operations/rung/problem_options.hpp"
#include "operations/rung/task.hpp"

namespace tilescope::operations {

/// `x` has at least one element unless `reduction` is the sum. The result is one element: a sum in
/// float64 or int64, a minimum or maximum in the type of x, a place in int64.
Task reduction_task(const ConstArrayView& x, Reduction reduction);
std::unique_ptr<Operation> make_reduction(const ProblemOptions& options);

DataType result_type(DataType element, Reduction reduction);

/// The reduction on all cores: sums of floats in double, in pieces whose order does not depend on
/// the cores. `result` has room for one element of the result's type.
void reduce_on_cpu(const ConstArrayView& x, Reduction reduction, void* result);

}  // namespace tilescope::operations
