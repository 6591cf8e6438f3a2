#include "operations/gemm/operands/column_sorting.hpp"

#include "operations/rung/kernel_plan.hpp"
#include "operations/rung/kernel_source.hpp"

namespace tilescope::operations {

ColumnSorting::ColumnSorting(Device& device, const RowsInMemory& from)
    : device_(device), from_(from), to_(from) {
  constexpr std::int64_t tile = 64;
  to_.columns = to_.pitch = groups_of(from.columns, tile) * tile;
  to_.batch_stride = to_.rows * to_.pitch;
  const auto bytes = static_cast<std::size_t>(to_.batch * to_.batch_stride) * size_of(to_.type);
  buffer_ = device.allocate(bytes, "an operand with sorted columns");
  KernelRequest request = embedded_request("gemm/sort_columns.cu");
  request.kernel = "sort_columns";
  kernel_ = device.load(request);
}

void ColumnSorting::run(DeviceAddress from, const Stream& stream) const {
  constexpr std::uint32_t threads = 128;
  constexpr std::int64_t columns_of_thread = 8;
  Launch launch;
  launch.grid = {static_cast<std::uint32_t>(to_.rows),
                 static_cast<std::uint32_t>(groups_of(to_.columns, columns_of_thread * threads)),
                 static_cast<std::uint32_t>(to_.batch)};
  launch.block = {threads};
  device_.launch(
      kernel_, launch,
      KernelArguments::of(from, buffer_.address(), static_cast<std::int32_t>(from_.columns),
                          static_cast<std::int32_t>(to_.pitch), from_.pitch, from_.batch_stride),
      stream);
}

}  // namespace tilescope::operations
