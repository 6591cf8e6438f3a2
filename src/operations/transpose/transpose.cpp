#include "operations/transpose/transpose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tilescope/transpose.hpp>

#include "base/errors.hpp"
#include "operations/numerics/random.hpp"
#include "operations/rung/moves.hpp"
#include "operations/rung/prepared_task.hpp"
#include "operations/rung/problem_options.hpp"
#include "operations/rung/task_operation.hpp"

namespace tilescope {
namespace operations {
namespace {

// Tiles of side x side elements, numbered in one dimension.
Plan tiles(Step step, std::int64_t rows, std::int64_t columns, std::int64_t side, Dim3 block) {
  step.launch = flat_launch(groups_of(rows, side) * groups_of(columns, side), 1);
  step.launch.block = block;
  Plan plan;
  plan.steps.push_back(std::move(step));
  return plan;
}

Rung tiled_rung(std::string_view name, std::string_view idea, std::string_view source,
                const Step& step, std::int64_t rows, std::int64_t columns) {
  return {.name = name, .idea = idea, .source = source, .plan = [=](const DeviceProperties&) {
            return tiles(step, rows, columns, 32, {32, 8});
          }};
}

// On the CPU: transposes one block at a time, small enough for the first-level cache, in a buffer
// of its own. The rows of a matrix whose extents are powers of two would all fall into the same few
// lines of the cache.
template <typename T>
void transpose_on_cpu(const T* in, T* out, std::size_t rows, std::size_t columns) {
  constexpr std::size_t side = sizeof(T) <= 2 ? 64 : 32;
  parallel_for((rows + side - 1) / side, [=](std::size_t band) {
    T block[side][side];
    const std::size_t first = band * side, height = std::min(side, rows - first);
    for (std::size_t start = 0; start < columns; start += side) {
      const std::size_t width = std::min(side, columns - start);
      for (std::size_t r = 0; r < height; ++r) {
        const T* const from = in + (first + r) * columns + start;
        for (std::size_t c = 0; c < width; ++c) block[c][r] = from[c];
      }
      for (std::size_t c = 0; c < width; ++c) {
        std::copy_n(block[c], height, out + (start + c) * rows + first);
      }
    }
  });
}

}  // namespace

Task transpose_task(const ConstArrayView& in, std::int64_t rows, std::int64_t columns) {
  const std::size_t element_bytes = size_of(in.type);
  const Step step{.kernel = "transpose",
                  .arguments = {Memory::input(), Memory::output(), rows, columns},
                  .defines = {{"ELEMENT", std::string(element_of_size(element_bytes))}}};
  Task task{.operation = "transpose",
            .inputs = {in},
            .output_type = in.type,
            .output_count = in.count,
            .best = "vector"};
  task.compute = [=](void* output) {
    with_bits(element_bytes, [&](auto zero) {
      using T = decltype(zero);
      transpose_on_cpu(static_cast<const T*>(in.data), static_cast<T*>(output),
                       static_cast<std::size_t>(rows), static_cast<std::size_t>(columns));
    });
  };
  task.rungs = {cpu_rung(),
                tiled_rung("naive", "rows read, columns written", "transpose/01_naive.cu", step,
                           rows, columns),
                tiled_rung("tiled", "through a tile: bank conflicts", "transpose/02_tiled.cu", step,
                           rows, columns),
                tiled_rung("padded", "the tile's rows one longer", "transpose/03_padded.cu", step,
                           rows, columns),
                tiled_rung("swizzled", "the tile's columns XOR its rows",
                           "transpose/04_swizzled.cu", step, rows, columns),
                {.name = "vector",
                 .idea = "packs, small blocks transposed in registers",
                 .source = "transpose/05_vector.cu",
                 .plan = [=](const DeviceProperties&) {
                   const std::int64_t pack = element_bytes == 8 ? 2 : 4;  // N of the kernel
                   Plan plan = tiles(step, rows, columns, 16 * pack, {256});
                   plan.defines = {define("ALIGNED_IN", columns % pack == 0),
                                   define("ALIGNED_OUT", rows % pack == 0)};
                   return plan;
                 }}};
  return task;
}

std::unique_ptr<Operation> make_transpose(const ProblemOptions& options) {
  const Extents e = extents(options, 1024);
  const DataType type = type_among(
      "transpose", options.type,
      {DataType::float32, DataType::float64, DataType::uint8, DataType::int16, DataType::int32});
  std::vector<HostArray> inputs;
  inputs.push_back(random_array(type, static_cast<std::size_t>(e.rows * e.columns), options.seed));
  const ConstArrayView in = inputs[0].view();
  return std::make_unique<TaskOperation>(TaskOperation::Parts{
      .inputs = std::move(inputs),
      .task = transpose_task(in, e.rows, e.columns),
      .size_text = fmt::format("of {} x {} {}", e.rows, e.columns, name_of(type)),
      .work = moving(in),
      .make_expected = [=] {
        const auto rows = static_cast<std::size_t>(e.rows);
        const auto columns = static_cast<std::size_t>(e.columns);
        return expect_moved(in, [=](std::size_t i) { return i % rows * columns + i / rows; });
      }});
}

}  // namespace operations

namespace {

/// The task of a call, checked.
operations::Task checked_transpose(const ConstMatrixView& in, const MatrixView& out) {
  const ConstArrayView from = operations::dense_elements(in, "the matrix");
  operations::dense_elements(out, "the result");
  if (in.type != out.type || in.rows != out.columns || in.columns != out.rows ||
      in.order != out.order) {
    throw usage_error("transpose: {} of {} does not become {} of {}", shape_text(in),
                      name_of(in.type), shape_text(out), name_of(out.type));
  }
  // In column-major order the vectors are the columns: the same work with the extents exchanged.
  return operations::with_own_result(
      operations::transpose_task(from, in.vectors(), in.vector_length()), out.data);
}

}  // namespace

RunReport transpose(Device& device, const ConstMatrixView& in, const MatrixView& out,
                    const RunOptions& options) {
  return operations::run_task(device, checked_transpose(in, out), options.variant,
                              out.mutable_data());
}

PreparedOperation prepare_transpose(Device& device, const ConstMatrixView& in,
                                    const MatrixView& out, const RunOptions& options) {
  return operations::prepare_task(device, checked_transpose(in, out), options.variant,
                                  out.mutable_data());
}

}  // namespace tilescope
