#include "distribute/sharded_problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/errors.hpp"
#include "operations/gemm/problem/overlap.hpp"
#include "operations/gemm/product/memory_product.hpp"
#include "operations/gemm/product/quantised_problem.hpp"
#include "operations/matmul/matmul_choice.hpp"

namespace tilescope::distribute {
namespace {

using namespace operations;

GemmOperand operand_of(const ConstMatrixView& view) {
  return {.type = view.type, .order = view.order, .leading = view.leading};
}

DeviceAddress address_of(const void* data) {
  return reinterpret_cast<DeviceAddress>(data);
}

/// The first shard with elements, as an example of all; the first if none has any.
template <typename View>
const View& example(std::span<const View> shards) {
  const auto found =
      std::find_if(shards.begin(), shards.end(), [](const View& shard) { return !shard.empty(); });
  return found == shards.end() ? shards.front() : *found;
}

// Requires valid shards of one type, order and width; returns the sum of their rows.
template <typename View>
std::int64_t require_alike(std::span<const View> shards, const char* name) {
  const ConstMatrixView& first = example(shards);
  std::int64_t rows = 0;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const ConstMatrixView& shard = shards[i];
    require_valid(shard, fmt::format("shard {} of {}", i, name).c_str());
    rows += shard.rows;
    if (shard.type == first.type && shard.order == first.order && shard.columns == first.columns) {
      continue;
    }
    throw usage_error(
        "shard {} of {} is {} {} with another order, type or width than the others, as {} {}: all "
        "shards of a matrix need the same",
        i, name, shape_text(shard), name_of(shard.type), shape_text(first), name_of(first.type));
  }
  return rows;
}

/// The whole matrix that the shards are parts of, without memory.
template <typename View>
View whole_of(std::span<const View> shards, std::int64_t rows) {
  View whole = example(shards);
  whole.rows = rows;
  whole.leading = whole.vector_length();
  return whole;
}

void require_rows_of_c(std::span<const MatrixView> c) {
  for (const MatrixView& shard : c) {
    if (shard.order == Order::row_major) continue;
    throw usage_error(
        "C is column-major: a sharded product cuts a row-major C by rows; compute C^T = B^T A^T");
  }
}

}  // namespace

void require_gpus(Devices devices, std::string_view what) {
  if (devices.empty()) throw usage_error("a sharded {} needs at least one device", what);
  for (const auto& device : devices) {
    if (device->kind() != DeviceKind::cpu) continue;
    throw usage_error("the cpu device takes no part in a sharded {}: use GPUs, or emulated", what);
  }
}

void require_devices(Devices devices, const std::string& variant) {
  require_gpus(devices, "product");
  if (!operations::names_rung(variant)) return;
  throw usage_error("variant {} is for whole products; name a kernel such as general", variant);
}

ShardedProblem sharded_problem(Devices devices, std::span<const ConstMatrixView> a,
                               std::span<const ConstMatrixView> b, std::span<const MatrixView> c,
                               const MatmulOptions& options) {
  require_devices(devices, options.variant);
  if (a.size() != devices.size() || b.size() != devices.size() || c.size() != devices.size()) {
    throw usage_error("{} devices have {} shards of A, {} of B and {} of C: each needs one of each",
                      devices.size(), a.size(), b.size(), c.size());
  }
  require_rows_of_c(c);
  const std::int64_t m = require_alike(a, "A"), k = require_alike(b, "B");
  const std::int64_t rows_of_c = require_alike(c, "C");
  const HostProblem whole = checked_anywhere(*devices.front(), {whole_of(a, m)}, {whole_of(b, k)},
                                             {whole_of(c, rows_of_c)}, options);
  require_for_several(whole);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (a[i].rows != c[i].rows) {
      throw usage_error("device {} has {} rows of A and {} of C: it computes the rows it has", i,
                        a[i].rows, c[i].rows);
    }
    const std::array others{a[i], b[i]};
    if (any_overlaps({&c[i], 1}, others)) {
      throw usage_error("shard {} of C shares memory with A's or B's: give it memory of its own",
                        i);
    }
  }
  return assembled(devices, whole, a, b, c);
}

ShardedProblem assembled(Devices devices, const HostProblem& whole,
                         std::span<const ConstMatrixView> a, std::span<const ConstMatrixView> b,
                         std::span<const MatrixView> c) {
  ShardedProblem problem{.whole = problem_in_memory(whole), .bias = whole.bias};
  for (std::size_t i = 0; i < devices.size(); ++i) {
    problem.shards.push_back(
        {.device = devices[i],
         .rows = a[i].rows,
         .depth = b[i].rows,
         .a = operand_of(a[i]),
         .b = operand_of(b[i]),
         .c = operand_of(c[i]),
         .at = {
             .a = address_of(a[i].data), .b = address_of(b[i].data), .c = address_of(c[i].data)}});
  }
  return problem;
}

}  // namespace tilescope::distribute
