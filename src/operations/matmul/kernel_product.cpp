#include "operations/matmul/kernel_product.hpp"

#include <algorithm>

#include "operations/kernel_source.hpp"

namespace tilescope::operations {
namespace {

constexpr std::size_t element = sizeof(float);

std::size_t bytes_of(std::int64_t rows, std::int64_t columns) {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns) * element;
}

// The rows of storage of a matrix, whichever order it has.
void upload_vectors(Device& device, DeviceAddress to, std::int64_t to_leading,
                    const ConstMatrixView& from) {
  device.copy_rows_to_device(to, bytes_of(1, to_leading), from.data, bytes_of(1, from.leading),
                             bytes_of(1, from.vector_length()),
                             static_cast<std::size_t>(from.vectors()));
}

}  // namespace

KernelRequest matmul_request(const MatmulVariant& variant, const MatmulPlan& plan) {
  KernelRequest request = embedded_request(variant.row->source);
  request.kernel = "matmul";
  request.defines = plan.defines;
  return request;
}

DeviceOperands::DeviceOperands(Device& device, const MatmulShape& shape, const MatmulShape& padded,
                               Order b_order)
    : device_(device),
      shape_(shape),
      padded_(padded),
      b_order_(b_order),
      a_(device.allocate(bytes_of(padded.m, padded.k), "A")),
      b_(device.allocate(bytes_of(padded.k, padded.n), "B")),
      c_(device.allocate(bytes_of(padded.m, padded.n), "C")) {}

void DeviceOperands::upload(const ConstMatrixView& a, const ConstMatrixView& b) {
  if (padded_ != shape_) {
    device_.fill(a_.address(), 0, a_.bytes());
    device_.fill(b_.address(), 0, b_.bytes());
  }
  upload_vectors(device_, a_.address(), padded_.k, a);
  upload_vectors(device_, b_.address(), b_order_ == Order::row_major ? padded_.n : padded_.k, b);
}

void DeviceOperands::fill_c(std::uint8_t byte) {
  device_.fill(c_.address(), byte, c_.bytes());
}

void DeviceOperands::download(const MatrixView& c) {
  device_.copy_rows_to_host(c.mutable_data(), bytes_of(1, c.leading), c_.address(),
                            bytes_of(1, padded_.n), bytes_of(1, c.columns),
                            static_cast<std::size_t>(c.rows));
}

KernelProduct::KernelProduct(Device& device, const MatmulVariant& variant, const MatmulShape& shape)
    : device_(device),
      variant_(variant),
      shape_(shape),
      padded_(variant.padded(shape)),
      plan_(variant.row->plan(padded_, variant.width, device.properties())),
      kernel_(device.load(matmul_request(variant, plan_))) {}

DeviceOperands KernelProduct::operands() const {
  return DeviceOperands(device_, shape_, padded_, variant_.row->b_order);
}

void KernelProduct::run(const DeviceOperands& operands) const {
  const auto extent = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  device_.launch(kernel_, plan_.launch,
                 KernelArguments::of(operands.a(), operands.b(), operands.c(), extent(padded_.m),
                                     extent(padded_.n), extent(padded_.k)));
}

}  // namespace tilescope::operations
