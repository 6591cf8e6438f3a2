#include "operations/gemm/column_gathering.hpp"

#include "operations/kernel_plan.hpp"
#include "operations/kernel_source.hpp"

namespace tilescope::operations {

ColumnGathering::ColumnGathering(Device& device, const RowsInMemory& from, int classes,
                                 std::int64_t class_columns)
    : device_(device), from_(from), to_(from), class_columns_(class_columns) {
  to_.columns = to_.pitch = classes * class_columns;
  to_.batch_stride = to_.rows * to_.pitch;
  const auto bytes = static_cast<std::size_t>(to_.batch * to_.batch_stride) * size_of(to_.type);
  buffer_ = device.allocate(bytes, "an operand sorted by classes of k");
  KernelRequest request = embedded_request("gemm/gather_columns.cu");
  request.kernel = "gather_columns";
  request.defines.push_back(define("CLASSES", classes));
  kernel_ = device.load(request);
}

void ColumnGathering::run(DeviceAddress from, const Stream& stream) const {
  constexpr int threads = 256;
  constexpr std::int64_t columns_of_thread = 16;
  Launch launch =
      flat_launch(groups_of(to_.rows * to_.columns, columns_of_thread * threads), threads);
  launch.grid.z = static_cast<std::uint32_t>(from_.batch);
  device_.launch(kernel_, launch,
                 KernelArguments::of(from, buffer_.address(), static_cast<std::int32_t>(from_.rows),
                                     static_cast<std::int32_t>(from_.columns),
                                     static_cast<std::int32_t>(class_columns_), from_.pitch,
                                     from_.batch_stride),
                 stream);
}

}  // namespace tilescope::operations
