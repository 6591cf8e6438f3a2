// Products over several devices of matrices in host memory.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>
#include <tilescope/sharded.hpp>

#include "base/errors.hpp"
#include "distribute/sharded_product.hpp"
#include "operations/gemm/operands/operand_conversion.hpp"
#include "operations/matmul/matmul_choice.hpp"

namespace tilescope {
namespace {

using namespace operations;
using distribute::Devices;
using distribute::Range;

/// Rows of a matrix in host memory.
template <typename View>
View rows_of(View view, const Range& rows) {
  const std::int64_t first =
      view.order == Order::row_major ? rows.first * view.leading : rows.first;
  view.data = static_cast<const std::byte*>(view.data) +
              static_cast<std::size_t>(first) * size_of(view.type);
  view.rows = rows.count;
  return view;
}

/// Rows of a matrix in a device's memory and in the host's.
template <typename View>
class HostShard {
 public:
  HostShard(Device& device, const View& whole, const Range& rows, const char* name)
      : device_(device), host_(rows_of(whole, rows)), on_device_(host_) {
    const GemmOperand padded = padded_operand(
        {.operand = {.order = host_.order}, .rows = host_.rows, .columns = host_.columns},
        host_.type, false);
    memory_ =
        device.allocate(static_cast<std::size_t>(padded.batch_stride) * size_of(host_.type), name);
    on_device_.leading = padded.leading;
    on_device_.data = reinterpret_cast<const void*>(memory_.address());
  }

  const View& view() const { return on_device_; }
  void upload() {
    if (host_.empty()) return;
    device_.copy_rows_to_device(memory_.address(), bytes(on_device_.leading), host_.data,
                                bytes(host_.leading), bytes(host_.vector_length()),
                                static_cast<std::size_t>(host_.vectors()));
  }
  void download() {
    if (host_.empty()) return;
    device_.copy_rows_to_host(host_.mutable_data(), bytes(host_.leading), memory_.address(),
                              bytes(on_device_.leading), bytes(host_.vector_length()),
                              static_cast<std::size_t>(host_.vectors()));
  }

 private:
  std::size_t bytes(std::int64_t elements) const {
    return static_cast<std::size_t>(elements) * size_of(host_.type);
  }

  Device& device_;
  View host_, on_device_;
  Buffer memory_;
};

/// What a device holds of a product of matrices in host memory.
struct HostShards {
  HostShard<ConstMatrixView> a, b;
  HostShard<MatrixView> c;
};

/// Runs `work` for every device at once, and throws the first failure when all have ended.
template <typename Work>
void on_each(std::size_t count, const Work& work) {
  std::vector<std::exception_ptr> failures(count);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        try {
          work(i);
        } catch (...) {
          failures[i] = std::current_exception();
        }
      });
    }
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

/// The devices' speeds, in one unit.
std::vector<double> speeds(Devices devices) {
  std::vector<double> all;
  for (const auto& device : devices) {
    all.push_back(std::max(1.0, device->properties().peak_fp32()));
  }
  return all;
}

}  // namespace

ShardedReport matmul_sharded(Devices devices, const ConstMatrixView& a, const ConstMatrixView& b,
                             const MatrixView& c, const MatmulOptions& options) {
  distribute::require_devices(devices, options.variant);
  const HostProblem whole =
      with_rows_of_c(checked_problem(*devices.front(), {a}, {b}, {c}, options));
  const MatmulShape shape = whole.shape();
  const std::vector<double> weights = speeds(devices);
  constexpr std::int64_t tile_rows = 256, line = 64;
  const auto rows = distribute::shares(shape.m, weights, tile_rows);
  const auto depths = distribute::shares(shape.k, weights, line);
  std::vector<HostShards> shards;
  std::vector<ConstMatrixView> a_views, b_views;
  std::vector<MatrixView> c_views;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    Device& device = *devices[i];
    shards.push_back({{device, whole.a.first, rows[i], "A"},
                      {device, whole.b.first, depths[i], "B"},
                      {device, whole.c.first, rows[i], "C"}});
    a_views.push_back(shards[i].a.view());
    b_views.push_back(shards[i].b.view());
    c_views.push_back(shards[i].c.view());
  }
  distribute::ShardedProduct product(
      distribute::assembled(devices, whole, a_views, b_views, c_views), options.variant);
  on_each(devices.size(), [&](std::size_t i) {
    shards[i].a.upload();
    shards[i].b.upload();
    if (whole.beta != 0.0) shards[i].c.upload();
  });
  const auto start = std::chrono::steady_clock::now();
  product.launch({});
  for (const auto& device : devices) device->synchronize();
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start;
  on_each(devices.size(), [&](std::size_t i) { shards[i].c.download(); });
  ShardedReport report = product.report();
  report.product.compute_ms = elapsed.count();
  return report;
}

}  // namespace tilescope
