#include "operations/matmul/matmul_variants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tilescope/error.hpp>

#include "base/errors.hpp"
#include "base/text.hpp"
#include "operations/gemm/dispatch/gemm_variants.hpp"

namespace tilescope::operations {
namespace {

// To add a rung: write kernels/matmul/NN_name.cu, and one row here.
const std::vector<MatmulRow> rows{
    {.name = "cpu_reference",
     .idea = "three loops on the CPU, double sums",
     .form = MatmulForm::cpu_reference,
     .double_accumulator = true},
    {.name = "cpu_blas", .idea = "OpenBLAS on all cores", .form = MatmulForm::cpu_blas},
    {.name = "one_block",
     .idea = "one block, a thread per element",
     .source = "matmul/01_one_block.cu",
     .granularity = any_shape,
     .plan = one_block,
     .most_elements_of_c = 1024},
    {.name = "global_accumulator",
     .idea = "grid of blocks, the sum kept in C",
     .source = "matmul/02_global_accumulator.cu",
     .granularity = any_shape,
     .plan = square_blocks<16>},
    {.name = "exchanged",
     .idea = "x along the rows: uncoalesced",
     .source = "matmul/05_exchanged.cu",
     .widths = {16, 32},
     .granularity = any_shape,
     .plan = exchanged_blocks},
    {.name = "register_accumulator",
     .idea = "x along the columns, sum in a register",
     .source = "matmul/03_register_accumulator.cu",
     .widths = {16, 32},
     .granularity = any_shape,
     .plan = wide_blocks},
    {.name = "double_accumulator",
     .idea = "the sum in a double register",
     .source = "matmul/04_double_accumulator.cu",
     .granularity = any_shape,
     .plan = square_blocks<16>,
     .double_accumulator = true},
    {.name = "tiled_conflicts",
     .idea = "tiles read down a column: bank conflicts",
     .source = "matmul/07_tiled_conflicts.cu",
     .widths = {32},
     .granularity = square_tiles,
     .plan = exchanged_tiles},
    {.name = "tiled_transposed",
     .idea = "conflicts cured by transposing",
     .source = "matmul/08_tiled_transposed.cu",
     .widths = {32},
     .granularity = square_tiles,
     .plan = exchanged_tiles},
    {.name = "tiled_padded",
     .idea = "conflicts cured by padding",
     .source = "matmul/09_tiled_padded.cu",
     .widths = {32},
     .granularity = square_tiles,
     .plan = exchanged_tiles},
    {.name = "tiled",
     .idea = "tiles in shared memory",
     .source = "matmul/06_tiled.cu",
     .widths = {2, 4, 8, 16, 32},
     .granularity = square_tiles,
     .plan = tiles},
    {.name = "tiled_checked",
     .idea = "tiles for any shape, zeros outside",
     .source = "matmul/10_tiled_checked.cu",
     .widths = {32},
     .granularity = any_shape,
     .plan = tiles,
     .any_element = true,
     .can_accumulate = true},
    {.name = "tiled_dynamic",
     .idea = "tile width from the device at run time",
     .source = "matmul/11_tiled_dynamic.cu",
     .granularity = any_shape,
     .plan = dynamic_tiles},
    {.name = "corner_turning",
     .idea = "column-major B transposed in shared memory",
     .source = "matmul/12_corner_turning.cu",
     .widths = {32},
     .granularity = any_shape,
     .plan = tiles,
     .b_order = Order::column_major},
    {.name = "register_tile_1d",
     .idea = "8 elements of a column per thread",
     .source = "matmul/13_register_tile_1d.cu",
     .granularity = register_1d_granularity,
     .plan = register_1d},
    {.name = "register_tile_2d",
     .idea = "8 x 8 elements per thread",
     .source = "matmul/14_register_tile_2d.cu",
     .granularity = register_2d_granularity,
     .plan = register_2d},
    {.name = "vector_loads",
     .idea = "128-bit loads and stores",
     .source = "matmul/15_vector_loads.cu",
     .granularity = register_2d_granularity,
     .plan = register_2d},
    {.name = "double_buffered",
     .idea = "next tiles copied meanwhile (cp.async)",
     .source = "matmul/16_double_buffered.cu",
     .granularity = register_2d_granularity,
     .plan = register_2d,
     .least_compute = 80},
    {.name = "warp_tiles",
     .idea = "warp tiles, 4 phases in flight",
     .source = "matmul/17_warp_tiles.cu",
     .granularity = warp_tiles_granularity,
     .plan = warp_tiles,
     .can_accumulate = true,
     .wide_offsets = true,
     .least_compute = 80},
    {.name = "cublas", .idea = "the vendor's library, FP32", .form = MatmulForm::cublas},
};

std::vector<MatmulVariant> expand() {
  std::vector<MatmulVariant> variants;
  for (const MatmulRow& row : rows) {
    if (row.widths.empty()) variants.push_back({&row, 0, std::string(row.name)});
    for (const int width : row.widths) {
      variants.push_back({&row, width, fmt::format("{}_{}", row.name, width)});
    }
  }
  return variants;
}

std::int64_t round_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

}  // namespace

MatmulShape MatmulVariant::padded(const MatmulShape& shape) const {
  if (row->form != MatmulForm::kernel) return shape;
  const MatmulShape step = row->granularity(width);
  return {round_up(shape.m, step.m), round_up(shape.n, step.n), round_up(shape.k, step.k)};
}

std::optional<std::string> MatmulVariant::refusal(const MatmulShape& shape,
                                                  const DeviceProperties& device) const {
  if (10 * device.compute_major + device.compute_minor < row->least_compute) {
    return fmt::format("needs compute capability {}.{}; {} has {}.{}", row->least_compute / 10,
                       row->least_compute % 10, device.name, device.compute_major,
                       device.compute_minor);
  }
  if (row->most_elements_of_c && shape.m * shape.n > row->most_elements_of_c) {
    return fmt::format("at most {} elements of C fit in one block; {} x {} has {}",
                       row->most_elements_of_c, shape.m, shape.n, shape.m * shape.n);
  }
  const MatmulShape p = padded(shape);
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (p.m > most || p.n > most || p.k > most) {
    return fmt::format("extents beyond {}", most);
  }
  if (row->form == MatmulForm::kernel && !row->wide_offsets &&
      std::max({p.m * p.k, p.k * p.n, p.m * p.n}) > most) {
    return "its 32-bit offsets reach 2^31 elements; a matrix has more";
  }
  return std::nullopt;
}

const std::vector<MatmulVariant>& matmul_variants() {
  static const std::vector<MatmulVariant> variants = expand();
  return variants;
}

const MatmulVariant& matmul_variant(std::string_view name, int width) {
  std::vector<std::string_view> names;
  const MatmulVariant* only = nullptr;
  int of_row = 0;
  for (const MatmulVariant& variant : matmul_variants()) {
    if (width == 0 && variant.name == name) return variant;
    if (variant.row->name == name) {
      if (width != 0 && variant.width == width) return variant;
      only = &variant;
      ++of_row;
    }
    names.push_back(variant.name);
  }
  if (only && width == 0 && of_row == 1) return *only;
  if (only) {
    std::string widths;
    for (const int known : only->row->widths) widths += fmt::format(" {}", known);
    throw Error(ErrorKind::usage,
                width ? fmt::format("variant {} has no width {}; it has{}", name, width,
                                    widths.empty() ? " none to choose" : widths)
                      : fmt::format("variant {} comes in widths{}; name one, such as {}_{}", name,
                                    widths, name, only->row->widths.front()));
  }
  if (find_gemm_variant(name) != nullptr) {
    throw usage_error(
        "variant {} is a kernel for all kinds of products, not a rung of the fp32 ladder; name its "
        "precision, such as --precision bf16",
        name);
  }
  for (const GemmVariant& variant : gemm_variants()) names.push_back(variant.name);
  const std::string_view near = nearest(name, names);
  throw usage_error("matmul has no variant \"{}\"{}; see tilescope ladder matmul --list",
                    printable(name, 60),
                    near.empty() ? "" : fmt::format(", did you mean {}?", near));
}

std::string_view best_matmul_variant(const DeviceProperties& device, DataType element) {
  if (element == DataType::float64) return "tiled_checked_32";
  // cp.async came with 8.0.
  return device.compute_major >= 8 ? "warp_tiles" : "vector_loads";
}

}  // namespace tilescope::operations
