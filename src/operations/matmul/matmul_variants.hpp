// The table of the matmul ladder: one row per rung, in the order in which the ladder climbs.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tilescope/device_properties.hpp>
#include <tilescope/matrix.hpp>
#include <vector>

#include "operations/matmul/matmul_plans.hpp"

namespace tilescope::operations {

/// The kind of code that computes a rung.
enum class MatmulForm { cpu_reference, cpu_blas, kernel, cublas };

struct MatmulRow {
  std::string_view name;
  std::string_view idea;
  std::string_view source;  ///< file below kernels/
  MatmulForm form = MatmulForm::kernel;
  /// The rung once per width, named NAME_WIDTH; empty: once, without a width.
  std::vector<int> widths;
  /// Extents of m, n, k must be multiples of these; operands are padded with zeros to them.
  MatmulShape (*granularity)(int width) = nullptr;
  /// Launch for a shape that is already a multiple of the granularity.
  MatmulPlan (*plan)(const MatmulShape& shape, int width, const DeviceProperties& device) = nullptr;
  Order b_order = Order::row_major;  ///< the storage order of B that the kernel needs
  bool double_accumulator = false;   ///< sums exactly, rounds once
  bool any_element = false;          ///< compiled for float32 or float64, by the constant ELEMENT
  bool can_accumulate = false;       ///< has the constant ACCUMULATE: C += A * B
  bool wide_offsets = false;         ///< takes matrices of 2^31 elements and more
  std::int64_t most_elements_of_c = 0;  ///< 0: no limit of its own
  int least_compute = 0;                ///< 10 * major + minor of the oldest GPU it runs on
};

/// A row at one of its widths.
struct MatmulVariant {
  const MatmulRow* row = nullptr;
  int width = 0;
  std::string name;

  /// `shape` rounded up to the kernel's granularity.
  MatmulShape padded(const MatmulShape& shape) const;
  /// Why this kernel cannot compute `shape` on `device`; nothing if it can.
  std::optional<std::string> refusal(const MatmulShape& shape,
                                     const DeviceProperties& device) const;
};

/// All rungs, in order.
const std::vector<MatmulVariant>& matmul_variants();

/// The rung called `name` ("tiled_16"), or a row by its plain name with `width` ("tiled", 16).
/// Throws Error(usage) that suggests the nearest name.
const MatmulVariant& matmul_variant(std::string_view name, int width = 0);

/// The rung that matmul() takes on a device by default, for float32 or float64 sums.
std::string_view best_matmul_variant(const DeviceProperties& device,
                                     DataType element = DataType::float32);

}  // namespace tilescope::operations
