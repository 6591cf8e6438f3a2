#include "operations/matmul/kernel_product.hpp"

#include "operations/rung/kernel_source.hpp"

namespace tilescope::operations {
KernelRequest matmul_request(const MatmulVariant& variant, const MatmulPlan& plan, DataType element,
                             bool accumulate) {
  KernelRequest request = embedded_request(variant.row->source);
  request.kernel = "matmul";
  request.defines = plan.defines;
  if (variant.row->any_element) {
    request.defines.emplace_back("ELEMENT", element == DataType::float64 ? "double" : "float");
  }
  if (variant.row->can_accumulate) {
    request.defines.emplace_back("ACCUMULATE", accumulate ? "1" : "0");
  }
  return request;
}

DeviceOperands::DeviceOperands(Device& device, const MatmulShape& shape, const MatmulShape& padded,
                               Order b_order, DataType element)
    : device_(device),
      shape_(shape),
      padded_(padded),
      b_order_(b_order),
      element_bytes_(size_of(element)),
      a_(device.allocate(bytes_of(padded.m, padded.k), "A", Reach::own)),
      b_(device.allocate(bytes_of(padded.k, padded.n), "B", Reach::own)),
      c_(device.allocate(bytes_of(padded.m, padded.n), "C", Reach::own)) {}

std::size_t DeviceOperands::bytes_of(std::int64_t rows, std::int64_t columns) const {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns) * element_bytes_;
}

// Copies the vectors of storage of a matrix of either order.
void DeviceOperands::upload_vectors(DeviceAddress to, std::int64_t to_leading,
                                    const ConstMatrixView& from) {
  device_.copy_rows_to_device(to, bytes_of(1, to_leading), from.data, bytes_of(1, from.leading),
                              bytes_of(1, from.vector_length()),
                              static_cast<std::size_t>(from.vectors()));
}

void DeviceOperands::upload(const ConstMatrixView& a, const ConstMatrixView& b) {
  if (padded_ != shape_) {
    device_.fill(a_.address(), 0, a_.bytes());
    device_.fill(b_.address(), 0, b_.bytes());
  }
  upload_vectors(a_.address(), padded_.k, a);
  upload_vectors(b_.address(), b_order_ == Order::row_major ? padded_.n : padded_.k, b);
}

void DeviceOperands::fill_c(std::uint8_t byte) {
  device_.fill(c_.address(), byte, c_.bytes());
}

void DeviceOperands::download(const MatrixView& c) {
  device_.copy_rows_to_host(c.mutable_data(), bytes_of(1, c.leading), c_.address(),
                            bytes_of(1, padded_.n), bytes_of(1, c.columns),
                            static_cast<std::size_t>(c.rows));
}

KernelProduct::KernelProduct(Device& device, const MatmulVariant& variant, const MatmulShape& shape,
                             DataType element, bool accumulate)
    : device_(device),
      variant_(variant),
      shape_(shape),
      padded_(variant.padded(shape)),
      element_(element),
      plan_(variant.row->plan(padded_, variant.width, device.properties())),
      kernel_(device.load(matmul_request(variant, plan_, element, accumulate))) {}

DeviceOperands KernelProduct::operands() const {
  return DeviceOperands(device_, shape_, padded_, variant_.row->b_order, element_);
}

void KernelProduct::run(const DeviceOperands& operands) const {
  run(operands.a(), operands.b(), operands.c());
}

void KernelProduct::run(DeviceAddress a, DeviceAddress b, DeviceAddress c,
                        const Stream& stream) const {
  const auto extent = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  device_.launch(
      kernel_, plan_.launch,
      KernelArguments::of(a, b, c, extent(padded_.m), extent(padded_.n), extent(padded_.k)),
      stream);
}

}  // namespace tilescope::operations
