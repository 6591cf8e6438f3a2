#include <tilescope/gemm.hpp>
#include <vector>

#include "operations/matmul/matrix_lists.hpp"

namespace tilescope {
namespace {

/// The matrices of a list in one piece of device memory, each row (or column) at a multiple of 16
/// bytes, which the kernels' wide loads need.
template <typename View>
class UploadedList {
 public:
  UploadedList(Device& device, std::span<const View> host, const char* name)
      : device_(device), host_(host) {
    std::size_t bytes = 0;
    for (const View& one : host) {
      bytes = (bytes + 255) / 256 * 256;
      View there = one;
      const auto whole = static_cast<std::int64_t>(16 / size_of(one.type));
      there.leading = (one.vector_length() + whole - 1) / whole * whole;
      places_.push_back(bytes);
      views_.push_back(there);
      bytes += static_cast<std::size_t>(there.vectors() * there.leading) * size_of(one.type);
    }
    memory_ = device.allocate(bytes, name, Reach::own);
    for (std::size_t i = 0; i < views_.size(); ++i) {
      views_[i].data = reinterpret_cast<const void*>(memory_.address() + places_[i]);
    }
  }

  const std::vector<View>& views() const { return views_; }

  void upload() {
    each([&](const View& there, const View& here, DeviceAddress at) {
      device_.copy_rows_to_device(at, bytes(there, there.leading), here.data,
                                  bytes(here, here.leading), bytes(here, here.vector_length()),
                                  static_cast<std::size_t>(here.vectors()));
    });
  }
  void download() {
    each([&](const View& there, const View& here, DeviceAddress at) {
      device_.copy_rows_to_host(here.mutable_data(), bytes(here, here.leading), at,
                                bytes(there, there.leading), bytes(here, here.vector_length()),
                                static_cast<std::size_t>(here.vectors()));
    });
  }

 private:
  static std::size_t bytes(const View& view, std::int64_t elements) {
    return static_cast<std::size_t>(elements) * size_of(view.type);
  }
  template <typename Visit>
  void each(const Visit& visit) {
    for (std::size_t i = 0; i < views_.size(); ++i) {
      if (!host_[i].empty()) visit(views_[i], host_[i], memory_.address() + places_[i]);
    }
  }

  Device& device_;
  std::span<const View> host_;
  std::vector<View> views_;
  std::vector<std::size_t> places_;
  Buffer memory_;
};

}  // namespace

MatmulReport matmul_grouped(Device& device, std::span<const ConstMatrixView> a,
                            std::span<const ConstMatrixView> b, std::span<const MatrixView> c,
                            const MatmulOptions& options) {
  if (device.kind() == DeviceKind::cpu) {
    const PreparedGemm product(device, a, b, c, options);
    product.launch();
    return product.report();
  }
  MatmulOptions checked = options;
  checked.variant.clear();  // that is the device's to judge
  operations::MatrixLists{a, b, c}.problems(device, checked);
  UploadedList<ConstMatrixView> there_a(device, a, "A"), there_b(device, b, "B");
  UploadedList<MatrixView> there_c(device, c, "C");
  const Buffer bias = device.allocate(options.bias.size_bytes(), "bias", Reach::own);
  there_a.upload();
  there_b.upload();
  if (options.beta != 0.0) there_c.upload();
  device.copy_to_device(bias.address(), options.bias.data(), options.bias.size_bytes());
  MatmulOptions on_device = options;
  on_device.bias = {reinterpret_cast<const float*>(bias.address()), options.bias.size()};
  const PreparedGemm product(device, there_a.views(), there_b.views(), there_c.views(), on_device);
  const Event before = device.create_event(), after = device.create_event();
  device.record(before);
  product.launch();
  device.record(after);
  MatmulReport report = product.report();
  report.compute_ms = device.elapsed_ms(before, after);
  there_c.download();
  return report;
}

}  // namespace tilescope
