#include "operations/gemm/operands/column_sorting.hpp"

#include <algorithm>
#include <utility>

#include "operations/rung/kernel_plan.hpp"
#include "operations/rung/kernel_source.hpp"

namespace tilescope::operations {
namespace {

constexpr std::int64_t tile = 64;  // columns that are sorted together

// These match the kernels.
Launch launch_for(const RowsInMemory& to, bool transposed) {
  std::int64_t across = to.rows, down = 0;
  Launch launch;
  if (transposed) {
    constexpr std::int64_t rows_of_block = 32, most_blocks_down = 65535;
    launch.block = {256};
    across = to.columns / tile;
    down = std::min(groups_of(to.rows, rows_of_block), most_blocks_down);
  } else {
    constexpr std::int64_t columns_of_block = 1024;
    launch.block = {128};
    down = groups_of(to.columns, columns_of_block);
  }
  launch.grid = {static_cast<std::uint32_t>(across), static_cast<std::uint32_t>(down),
                 static_cast<std::uint32_t>(to.batch)};
  return launch;
}

}  // namespace

ColumnSorting::ColumnSorting(Device& device, const RowsInMemory& from, bool transposed)
    : device_(device), from_(from), to_(from) {
  if (transposed) std::swap(to_.rows, to_.columns);
  columns_ = static_cast<std::int32_t>(to_.columns);
  to_.columns = to_.pitch = groups_of(to_.columns, tile) * tile;
  to_.batch_stride = to_.rows * to_.pitch;
  const auto bytes = static_cast<std::size_t>(to_.batch * to_.batch_stride) * size_of(to_.type);
  buffer_ = device.allocate(bytes, "an operand with sorted columns");
  launch_ = launch_for(to_, transposed);
  KernelRequest request = embedded_request("gemm/sort_columns.cu");
  request.kernel = transposed ? "sort_transposed" : "sort_columns";
  kernel_ = device.load(request);
}

void ColumnSorting::run(DeviceAddress from, const Stream& stream) const {
  device_.launch(
      kernel_, launch_,
      KernelArguments::of(from, buffer_.address(), static_cast<std::int32_t>(to_.rows), columns_,
                          static_cast<std::int32_t>(to_.pitch), from_.pitch, from_.batch_stride),
      stream);
}

}  // namespace tilescope::operations
