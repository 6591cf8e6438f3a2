#include "operations/gemm/operands/operand_conversion.hpp"

#include <algorithm>

#include "operations/rung/kernel_plan.hpp"
#include "operations/rung/kernel_source.hpp"

namespace tilescope::operations {

OperandConversion::OperandConversion(Device& device, const OperandLayout& from,
                                     const OperandLayout& to, std::int64_t batch)
    : device_(device), from_(from), to_(to) {
  constexpr std::int64_t most_down = 65535;
  constexpr int threads = 256;
  launch_ = flat_launch(groups_of(to.vector_length(), threads), threads);
  launch_.grid.y = static_cast<std::uint32_t>(std::min(to.vectors(), most_down));
  // One matrix that stands for all is copied once.
  launch_.grid.z = static_cast<std::uint32_t>(to.operand.batch_stride == 0 ? 1 : batch);
  KernelRequest request = embedded_request("gemm/convert.cu");
  request.kernel = "convert";
  request.defines = {{"FROM", std::string(name_of(from.operand.type))},
                     {"TO", std::string(name_of(to.operand.type))}};
  kernel_ = device.load(request);
}

void OperandConversion::run(DeviceAddress from, DeviceAddress to, const Stream& stream) const {
  if (launch_.grid.count() == 0) return;  // nothing to copy
  const bool same_order = from_.operand.order == to_.operand.order;
  const std::int64_t leading = from_.operand.leading, one = 1;
  device_.launch(kernel_, launch_,
                 KernelArguments::of(from, to, same_order ? from_.vectors() : from_.vector_length(),
                                     same_order ? from_.vector_length() : from_.vectors(),
                                     same_order ? leading : one, same_order ? one : leading,
                                     from_.operand.batch_stride, to_.vectors(), to_.vector_length(),
                                     to_.operand.leading, to_.operand.batch_stride),
                 stream);
}

namespace {

bool lies_like(const OperandLayout& one, const OperandLayout& other, std::int64_t batch) {
  return one.operand.type == other.operand.type && one.operand.order == other.operand.order &&
         one.operand.leading == other.operand.leading && one.rows == other.rows &&
         one.columns == other.columns &&
         (batch <= 1 || one.operand.batch_stride == other.operand.batch_stride);
}

}  // namespace

StagedOperand::StagedOperand(Device& device, const OperandLayout& given, const OperandLayout& taken,
                             std::int64_t batch, std::string_view name) {
  if (lies_like(given, taken, batch)) return;
  const std::int64_t matrices = taken.operand.batch_stride == 0 ? 1 : batch;
  const std::int64_t elements = matrices * taken.vectors() * taken.operand.leading;
  copy_ = device.allocate(static_cast<std::size_t>(elements) * size_of(taken.operand.type), name);
  in_.emplace(device, given, taken, batch);
  out_.emplace(device, taken, given, batch);
}

DeviceAddress StagedOperand::address(DeviceAddress given) const {
  return in_ ? copy_.address() : given;
}

void StagedOperand::copy_in(DeviceAddress given, const Stream& stream) const {
  if (in_) in_->run(given, copy_.address(), stream);
}

void StagedOperand::copy_out(DeviceAddress given, const Stream& stream) const {
  if (out_) out_->run(copy_.address(), given, stream);
}

GemmOperand padded_operand(const OperandLayout& shape, DataType type, bool repeated) {
  constexpr std::int64_t chunk = 16, line = 128, long_bytes = 1024;
  const auto element = static_cast<std::int64_t>(size_of(type));
  const std::int64_t length = shape.vector_length();
  const std::int64_t step = (length * element >= long_bytes ? line : chunk) / element;
  const std::int64_t leading = groups_of(length, step) * step;
  return {.type = type,
          .order = shape.operand.order,
          .leading = leading,
          .batch_stride = repeated ? 0 : shape.vectors() * leading};
}

GemmOperand padded_operand(Order order, std::int64_t rows, std::int64_t columns, DataType type) {
  return padded_operand({.operand = {.order = order}, .rows = rows, .columns = columns}, type,
                        false);
}

}  // namespace tilescope::operations
