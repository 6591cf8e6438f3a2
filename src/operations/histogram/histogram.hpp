// Counting elements in bins.
#pragma once

#include <cstdint>
#include <memory>
#include <tilescope/histogram.hpp>

#include "operations/rung/operation.hpp"
#include "operations/rung/problem_options.hpp"
#include "operations/rung/task.hpp"

namespace tilescope::operations {

/// `Bins` for one type of element, checked: the constants that the kernels and the CPU share.
struct Binning {
  DataType type = DataType::uint8;
  std::int64_t bins = 0;
  bool letters = false;
  double lower = 0.0, upper = 0.0;
  double scale = 0.0;  ///< for floating-point elements: bins (upper - lower) in their type
};

/// Throws Error(usage) for a violation of the rules of `Bins`.
Binning make_binning(DataType type, const Bins& bins);

/// The result has binning.bins counters: uint32, or uint64 for 2^32 elements and more.
Task histogram_task(const ConstArrayView& x, const Binning& binning);
std::unique_ptr<Operation> make_histogram(const ProblemOptions& options);

/// The type of the counters for this number of elements.
DataType counter_type(std::size_t elements);

/// Counts on all cores into counters of counter_type.
void histogram_on_cpu(const ConstArrayView& x, const Binning& binning, void* counts);

}  // namespace tilescope::operations
