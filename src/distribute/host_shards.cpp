// Products over several devices of matrices in host memory.
#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <memory>
#include <tilescope/sharded.hpp>
#include <utility>
#include <vector>

#include "distribute/on_each.hpp"
#include "distribute/sharded_product.hpp"
#include "operations/gemm/operands/operand_conversion.hpp"
#include "operations/gemm/product/quantised_problem.hpp"
#include "operations/matmul/matmul_choice.hpp"
#include "operations/numerics/conversion.hpp"

namespace tilescope {
namespace {

using namespace operations;
using distribute::Devices;
using distribute::Range;

/// Rows of a matrix in a device's memory and in the host's.
template <typename View>
class HostShard {
 public:
  HostShard(Device& device, const View& whole, const Range& rows, const char* name)
      : device_(device),
        host_(part(whole, rows.first, rows.count, 0, whole.columns)),
        on_device_(host_) {
    const GemmOperand padded = padded_operand(
        {.operand = {.order = host_.order}, .rows = host_.rows, .columns = host_.columns},
        host_.type, false);
    memory_ =
        device.allocate(static_cast<std::size_t>(padded.batch_stride) * size_of(host_.type), name);
    on_device_.leading = padded.leading;
    on_device_.data = reinterpret_cast<const void*>(memory_.address());
  }

  const View& view() const { return on_device_; }

  void upload(const Stream& stream) { upload({0, host_.columns}, stream); }
  void upload(const Range& columns, const Stream& stream) {
    const View from = columns_of(host_, columns);
    if (from.empty()) return;
    device_.copy_rows_to_device(address(columns), bytes(on_device_.leading), from.data,
                                bytes(from.leading), bytes(from.vector_length()),
                                static_cast<std::size_t>(from.vectors()), stream);
  }
  void download(const Range& columns, const Stream& stream) {
    const View to = columns_of(host_, columns);
    if (to.empty()) return;
    device_.copy_rows_to_host(to.mutable_data(), bytes(to.leading), address(columns),
                              bytes(on_device_.leading), bytes(to.vector_length()),
                              static_cast<std::size_t>(to.vectors()), stream);
  }

 private:
  static View columns_of(const View& view, const Range& columns) {
    return part(view, 0, view.rows, columns.first, columns.count);
  }
  DeviceAddress address(const Range& columns) const {
    return reinterpret_cast<DeviceAddress>(columns_of(on_device_, columns).data);
  }
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

/// The devices' speeds, in one unit.
std::vector<double> speeds(Devices devices) {
  std::vector<double> all;
  for (const auto& device : devices) {
    all.push_back(std::max(1.0, device->properties().peak_fp32()));
  }
  return all;
}

/// A product whose operands come to the devices, and whose C goes back, while they multiply. Each
/// device has a thread: copies from and to pageable memory keep one busy.
class HostProduct {
 public:
  HostProduct(Devices devices, std::vector<std::unique_ptr<HostShards>> shards, bool reads_c,
              distribute::ShardedProduct& product)
      : devices_(devices),
        shards_(std::move(shards)),
        reads_c_(reads_c),
        product_(product),
        sent_(product.panels().size()),
        queued_(static_cast<std::ptrdiff_t>(devices.size())) {
    for (std::vector<Event>& events : sent_) {
      for (const auto& device : devices) events.push_back(device->create_event());
    }
  }

  /// Milliseconds between the arrival of A and the end of the last product, on the device that
  /// takes longest.
  double run() {
    std::vector<double> elapsed(devices_.size());
    distribute::on_each(devices_.size(), [&](std::size_t i) {
      try {
        elapsed[i] = run_on(i);
      } catch (...) {
        queued_.arrive_and_drop();
        throw;
      }
    });
    return *std::max_element(elapsed.begin(), elapsed.end());
  }

 private:
  double run_on(std::size_t i) {
    Device& device = *devices_[i];
    HostShards& shard = *shards_[i];
    const std::span<const Range> panels = product_.panels();
    const Stream up = device.create_stream(), down = device.create_stream();
    const Event ready = device.create_event();
    shard.a.upload(up);
    if (reads_c_) shard.c.upload(up);
    device.record(ready, up);
    product_.begin(i, ready);
    const bool multiplies = shard.a.view().rows > 0;
    std::vector<Event> done;
    for (std::size_t panel = 0; panel < panels.size(); ++panel) {
      shard.b.upload(panels[panel], up);
      device.record(sent_[panel][i], up);
      queued_.arrive_and_wait();  // a device waits for events of others that are recorded
      done.push_back(device.create_event());
      if (multiplies) product_.multiply(i, panel, sent_[panel], done.back());
    }
    if (!multiplies) return 0.0;
    for (std::size_t panel = 0; panel < panels.size(); ++panel) {
      device.wait(down, done[panel]);
      shard.c.download(panels[panel], down);
    }
    device.synchronize(down);
    double elapsed = 0.0;  // the last product need not be the last to end
    for (const Event& event : done) elapsed = std::max(elapsed, device.elapsed_ms(ready, event));
    return elapsed;
  }

  Devices devices_;
  std::vector<std::unique_ptr<HostShards>> shards_;
  bool reads_c_;
  distribute::ShardedProduct& product_;
  std::vector<std::vector<Event>> sent_;  ///< of each panel, by each device
  std::barrier<> queued_;
};

}  // namespace

ShardedReport matmul_sharded(Devices devices, const ConstMatrixView& a, const ConstMatrixView& b,
                             const MatrixView& c, const MatmulOptions& options) {
  distribute::require_devices(devices, options.variant);
  const HostProblem whole =
      with_rows_of_c(checked_problem(*devices.front(), {a}, {b}, {c}, options));
  require_for_several(whole);
  const MatmulShape shape = whole.shape();
  const std::vector<double> weights = speeds(devices);
  constexpr std::int64_t tile_rows = 256, line = 64;
  const auto rows = distribute::shares(shape.m, weights, tile_rows);
  const auto depths = distribute::shares(shape.k, weights, line);
  // To allocate takes milliseconds.
  std::vector<std::unique_ptr<HostShards>> shards(devices.size());
  distribute::on_each(devices.size(), [&](std::size_t i) {
    Device& device = *devices[i];
    shards[i] = std::make_unique<HostShards>(HostShards{{device, whole.a.first, rows[i], "A"},
                                                        {device, whole.b.first, depths[i], "B"},
                                                        {device, whole.c.first, rows[i], "C"}});
  });
  std::vector<ConstMatrixView> a_views, b_views;
  std::vector<MatrixView> c_views;
  for (const auto& shard : shards) {
    a_views.push_back(shard->a.view());
    b_views.push_back(shard->b.view());
    c_views.push_back(shard->c.view());
  }
  distribute::ShardedProduct product(
      distribute::assembled(devices, whole, a_views, b_views, c_views), options.variant);
  const double elapsed = HostProduct(devices, std::move(shards), whole.beta != 0.0, product).run();
  ShardedReport report = product.report();
  report.product.compute_ms = elapsed;
  return report;
}

}  // namespace tilescope
