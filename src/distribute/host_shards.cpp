// Products over several devices of matrices in host memory.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
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
  HostShard(Device& device, const View& whole, const Range& rows)
      : device_(device),
        host_(part(whole, rows.first, rows.count, 0, whole.columns)),
        on_device_(host_) {
    on_device_.data = nullptr;
    on_device_.leading = layout().leading;
  }

  void allocate(const char* name, Reach reach) {
    memory_ = device_.allocate(bytes(layout().batch_stride), name, reach);
    on_device_.data = reinterpret_cast<const void*>(memory_.address());
  }
  void free() { memory_ = {}; }

  /// As it lies on the device; without an address before it is allocated.
  const View& view() const { return on_device_; }
  DeviceAddress address() const { return memory_.address(); }

  void upload_rows(const Range& rows, const Stream& stream) {
    upload(rows, {0, host_.columns}, stream);
  }
  void upload_columns(const Range& columns, const Stream& stream) {
    upload({0, host_.rows}, columns, stream);
  }
  void download_columns(const Range& columns, const Stream& stream) {
    const View to = part(host_, 0, host_.rows, columns.first, columns.count);
    if (to.empty()) return;
    device_.copy_rows_to_host(to.mutable_data(), bytes(to.leading),
                              address_of({0, host_.rows}, columns), bytes(on_device_.leading),
                              bytes(to.vector_length()), static_cast<std::size_t>(to.vectors()),
                              stream);
  }

 private:
  GemmOperand layout() const {
    return padded_operand(host_.order, host_.rows, host_.columns, host_.type);
  }
  void upload(const Range& rows, const Range& columns, const Stream& stream) {
    const View from = part(host_, rows.first, rows.count, columns.first, columns.count);
    if (from.empty()) return;
    device_.copy_rows_to_device(address_of(rows, columns), bytes(on_device_.leading), from.data,
                                bytes(from.leading), bytes(from.vector_length()),
                                static_cast<std::size_t>(from.vectors()), stream);
  }
  DeviceAddress address_of(const Range& rows, const Range& columns) const {
    return reinterpret_cast<DeviceAddress>(
        part(on_device_, rows.first, rows.count, columns.first, columns.count).data);
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

using Clock = std::chrono::steady_clock;

/// The devices' speeds, in one unit.
std::vector<double> speeds(Devices devices) {
  std::vector<double> all;
  for (const auto& device : devices) {
    all.push_back(std::max(1.0, device->properties().peak_fp32()));
  }
  return all;
}

/// A product whose operands come to the devices, and whose C goes back, while they multiply. Each
/// device has a thread: to allocate and to load kernels takes milliseconds, and copies from and to
/// pageable memory keep one busy.
class HostProduct {
 public:
  HostProduct(Devices devices, std::vector<HostShards>& shards, bool reads_c,
              distribute::ShardedProduct& product, Clock::time_point start)
      : devices_(devices),
        shards_(shards),
        reads_c_(reads_c),
        product_(product),
        start_(start),
        sent_(product.pieces().size()),
        queued_(static_cast<std::ptrdiff_t>(devices.size())) {
    for (std::vector<Event>& events : sent_) {
      for (const auto& device : devices) events.push_back(device->create_event());
    }
  }

  /// When each device got how far.
  std::vector<HostTimes> run() {
    std::vector<HostTimes> times(devices_.size());
    try {
      distribute::on_each(devices_.size(), [&](std::size_t i) {
        try {
          times[i] = run_on(i);
        } catch (...) {
          has_failed_ = true;
          queued_.arrive_and_drop();
          throw;
        }
      });
    } catch (...) {
      wait_for_all();  // what is freed now may be read by another device
      throw;
    }
    return times;
  }

 private:
  void wait_for_all() const noexcept {
    for (const auto& device : devices_) {
      try {
        device->synchronize();
      } catch (const std::exception&) {
        // An error was thrown before.
      }
    }
  }
  // Waits for the other devices; false: one has failed, and this one takes no part any more.
  bool all_are_here() {
    queued_.arrive_and_wait();
    const bool are_here = !has_failed_;
    if (!are_here) queued_.arrive_and_drop();
    return are_here;
  }
  double since_start() const {
    return std::chrono::duration<double, std::milli>(Clock::now() - start_).count();
  }

  // Queues the copies of what a piece is the first to need.
  void bring(std::size_t i, std::size_t index, const Stream& up) {
    const distribute::Piece& piece = product_.pieces()[index];
    const Range& columns = product_.panels()[piece.panel];
    HostShards& shard = shards_[i];
    if (piece.parts.first == 0) {
      if (reads_c_) shard.c.upload_columns(columns, up);
      shard.b.upload_columns(columns, up);
    }
    if (piece.panel == 0 && piece.parts.first > 0) {
      shard.a.upload_rows(product_.rows_of(i, piece), up);
    }
    devices_[i]->record(sent_[index][i], up);
  }

  HostTimes run_on(std::size_t i) {
    Device& device = *devices_[i];
    HostShards& shard = shards_[i];
    const std::span<const distribute::Piece> pieces = product_.pieces();
    const Stream up = device.create_stream(), down = device.create_stream();
    const Event begin = device.create_event(), end = device.create_event(),
                uploaded = device.create_event();
    HostTimes times;
    times.planned = since_start();
    shard.a.allocate("A", Reach::own);
    shard.b.allocate("B", Reach::linked);
    shard.c.allocate("C", Reach::own);
    product_.connect(i);
    times.allocated = since_start();
    product_.prepare(i, {.a = shard.a.address(), .b = shard.b.address(), .c = shard.c.address()});
    times.prepared = since_start();
    // To allocate and to load takes much longer beside copies, those of another device too.
    if (!all_are_here()) return times;
    times.copying = since_start();
    device.record(begin, up);
    shard.a.upload_rows(product_.rows_of(i, pieces.front()), up);
    const bool multiplies = shard.a.view().rows > 0;
    for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
      bring(i, piece, up);
      if (!all_are_here()) return times;  // a device waits for events of others that are recorded
      if (multiplies) product_.multiply(i, piece, sent_[piece]);
    }
    device.record(uploaded, up);
    for (std::size_t panel = 0; multiplies && panel < product_.panels().size(); ++panel) {
      product_.wait_for_panel(i, panel, down);
      shard.c.download_columns(product_.panels()[panel], down);
    }
    device.record(end, down);
    device.synchronize(down);
    times.uploaded = times.copying + device.elapsed_ms(begin, uploaded);
    times.downloaded = times.copying + device.elapsed_ms(begin, end);
    const auto [first, last] = product_.computed_ms(i, begin);
    times.multiplying = times.copying + first;
    times.multiplied = times.copying + last;
    if (!all_are_here()) return times;  // all have read B
    product_.release(i);
    shard.a.free();
    shard.b.free();
    shard.c.free();
    times.freed = since_start();
    return times;
  }

  Devices devices_;
  std::vector<HostShards>& shards_;
  bool reads_c_;
  distribute::ShardedProduct& product_;
  Clock::time_point start_;
  std::vector<std::vector<Event>> sent_;  ///< of each piece, by each device
  std::barrier<> queued_;
  std::atomic<bool> has_failed_ = false;
};

}  // namespace

ShardedReport matmul_sharded(Devices devices, const ConstMatrixView& a, const ConstMatrixView& b,
                             const MatrixView& c, const MatmulOptions& options) {
  const Clock::time_point start = Clock::now();
  distribute::require_devices(devices, options.variant);
  const HostProblem whole =
      with_rows_of_c(checked_problem(*devices.front(), {a}, {b}, {c}, options));
  require_for_several(whole);
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
    shards.push_back({{device, whole.a.first, rows[i]},
                      {device, whole.b.first, depths[i]},
                      {device, whole.c.first, rows[i]}});
    a_views.push_back(shards.back().a.view());
    b_views.push_back(shards.back().b.view());
    c_views.push_back(shards.back().c.view());
  }
  distribute::ShardedProblem problem =
      distribute::assembled(devices, whole, a_views, b_views, c_views);
  // Its kernel and plan are those of one device, in whose memory rows have other gaps.
  GemmOperand &of_a = problem.whole.a, &of_c = problem.whole.c;
  of_a = padded_operand(of_a.order, shape.m, shape.k, of_a.type);
  of_c = padded_operand(of_c.order, shape.m, shape.n, of_c.type);
  distribute::ShardedProduct product(problem, options.variant, distribute::Rows::arriving,
                                     Reach::linked);
  const std::vector<HostTimes> times =
      HostProduct(devices, shards, whole.beta != 0.0, product, start).run();
  ShardedReport report = product.report();
  for (const HostTimes& one : times) {
    report.product.compute_ms =
        std::max(report.product.compute_ms, one.multiplied - one.multiplying);
    for (const auto part : {&HostTimes::planned, &HostTimes::allocated, &HostTimes::prepared,
                            &HostTimes::copying, &HostTimes::multiplying, &HostTimes::uploaded,
                            &HostTimes::multiplied, &HostTimes::downloaded, &HostTimes::freed}) {
      report.times.*part = std::max(report.times.*part, one.*part);
    }
  }
  return report;
}

}  // namespace tilescope
