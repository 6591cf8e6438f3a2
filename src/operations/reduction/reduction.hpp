// Reductions of a list to one value: sum, minimum, maximum, place of the maximum.
#pragma once

#include <cstddef>
#include <memory>
#include <tilescope/reduction.hpp>
#include <vector>

#include "operations/rung/operation.hpp"
#include "operations/rung/problem_options.hpp"
#include "operations/rung/task.hpp"

namespace tilescope::operations {

/// Throws Error(usage) for elements that have no reduction, and for an empty list that has not.
void require_reducible(const ConstArrayView& x, Reduction reduction);

/// `x` has at least one element unless `reduction` is the sum. The result is one element: a sum in
/// float64 or int64, a minimum or maximum in the type of x, a place in int64.
Task reduction_task(const ConstArrayView& x, Reduction reduction);
std::unique_ptr<Operation> make_reduction(const ProblemOptions& options);

DataType result_type(DataType element, Reduction reduction);

/// The reduction on all cores: sums of floats in double, in the order of the rung fixed_order.
/// `result` has room for one element of the result's type.
void reduce_on_cpu(const ConstArrayView& x, Reduction reduction, void* result);

/// A sum of floats in a fixed order. A list is cut into sections; a section's sum depends on its
/// elements alone, and the sum of all on the sections' sums alone. Whoever computes the sections,
/// on whatever device, the bits are the same.
constexpr std::size_t sum_section = std::size_t{1} << 16U;  ///< elements; the last may be shorter
constexpr std::size_t sum_threads = 512;                    ///< that add up a section

/// The sums of the sections of a float32 or float64 list, in float64.
Task section_sums_task(const ConstArrayView& x);
/// The same on all cores, to sections_of(x.count) numbers.
void section_sums_on_cpu(const ConstArrayView& x, double* sums);
constexpr std::size_t sections_of(std::size_t count) {
  return (count + sum_section - 1) / sum_section;
}
/// The sum of a whole list from its sections' sums, in their order.
double sum_of_sections(std::vector<double> sums);

/// Whether parts of a list give their sections' sums.
inline bool sums_sections(DataType type, Reduction reduction) {
  return reduction == Reduction::sum && is_floating(type);
}

/// A list's least or greatest element so far, and its place. NaN is beyond all others.
class Extreme {
 public:
  explicit Extreme(Reduction reduction) : is_least_(reduction == Reduction::min) {}

  /// In the order of places: of equal elements the first stays.
  void take(double value, std::int64_t place);
  double value() const { return value_; }
  std::int64_t place() const { return place_; }

 private:
  bool is_least_, is_empty_ = true;
  double value_ = 0.0;
  std::int64_t place_ = 0;
};

/// The reduction of a part of a list, such that the parts determine that of the whole.
struct ReducedPart {
  std::size_t count = 0;     ///< elements; without any the rest means nothing
  double value = 0.0;        ///< min, max; argmax: the element
  std::int64_t integer = 0;  ///< a sum of integers; argmax: the place in the whole list
  std::vector<double> sums;  ///< of sections, where sums_sections()
};
/// The reduction of the whole from its parts, in their order. All but the last with elements are
/// whole sections where sums_sections(). Without a report. Throws as require_reducible().
Reduced combined(DataType type, Reduction reduction, const std::vector<ReducedPart>& parts);

}  // namespace tilescope::operations
