// Products over several GPUs beside one GPU: shards in device memory, and matrices in pinned host
// memory. Prints a Markdown table and, for each row, whether the bits are those of one GPU.
// Usage: sharded_products [OPTION] DEVICES [SIZE...], such as sharded_products all 8192 16384
// --host: only matrices in host memory, with the times at which each call got how far.
// --panels PLAN[,PLAN...] [--precision P]: only shards in device memory in P, bf16 by default, with
// panels of B as each plan says, in turns. A plan is
// FIRST:GROWTH:WIDEST:ENGINES:AWAITS: the first panel is one of FIRST parts of the columns, each
// next is GROWTH times as wide, at most one of WIDEST parts, rows come from another GPU in ENGINES
// copies at once, and with 1 one launch waits for panels where its kernel can (today: 8:1:8:1:1).
// The whole product is timed on each GPU and counts on average. Rows without any exchange, where
// each GPU has all of B: each GPU's part while the others rest, and all parts at once.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <tilescope/gemm.hpp>
#include <tilescope/pinned.hpp>
#include <tilescope/sharded.hpp>
#include <vector>

#include "base/text.hpp"
#include "distribute/sharded_product.hpp"
#include "distribute/shares.hpp"
#include "operations/numerics/conversion.hpp"
#include "operations/numerics/host_array.hpp"
#include "operations/numerics/random.hpp"

namespace tilescope {
namespace {

using Clock = std::chrono::steady_clock;
using Devices = std::vector<std::shared_ptr<Device>>;
using distribute::Range;

DataType type_of(Precision precision) {
  return precision == Precision::bf16   ? DataType::bfloat16
         : precision == Precision::fp16 ? DataType::float16
                                        : DataType::float32;
}

/// Random values in [-1, 1], the same for the same seed, repeated to fill any memory.
class RandomBytes {
 public:
  RandomBytes(DataType type, std::uint64_t seed) : values_(type, count) {
    const auto columns = static_cast<std::int64_t>(count);
    const operations::HostArray wide = operations::random_array(DataType::float32, count, seed);
    operations::convert_matrix(dense_view(wide.data(), DataType::float32, 1, columns),
                               dense_view(values_.data(), type, 1, columns));
    bytes_ = count * size_of(type);
  }
  /// Calls `write(at, data, size)` for pieces of [begin, end) of an endless repetition.
  template <typename Write>
  void each(std::size_t begin, std::size_t end, const Write& write) const {
    for (std::size_t at = begin; at < end;) {
      const std::size_t offset = at % bytes_, size = std::min(bytes_ - offset, end - at);
      write(at - begin, static_cast<const std::byte*>(values_.data()) + offset, size);
      at += size;
    }
  }

 private:
  static constexpr std::size_t count = (std::size_t{4} << 20U) - 3;  // rows differ
  operations::HostArray values_;
  std::size_t bytes_ = 0;
};

/// Rows of one matrix on one device.
struct Rows {
  Buffer memory;
  MatrixView view;

  Rows(Device& device, DataType type, std::int64_t columns, const Range& rows,
       const RandomBytes* values) {
    const std::size_t row = static_cast<std::size_t>(columns) * size_of(type);
    memory = device.allocate(static_cast<std::size_t>(rows.count) * row, "a shard");
    view = dense_view(reinterpret_cast<void*>(memory.address()), type, rows.count, columns);
    if (values == nullptr) return;
    values->each(static_cast<std::size_t>(rows.first) * row,
                 static_cast<std::size_t>(rows.end()) * row,
                 [&](std::size_t at, const std::byte* data, std::size_t size) {
                   device.copy_to_device(memory.address() + at, data, size);
                 });
  }
};

/// The operands of a square product in shards over devices.
struct Operands {
  std::vector<Rows> memory;
  std::vector<ConstMatrixView> a, b;
  std::vector<MatrixView> c;

  Operands(const Devices& devices, DataType type, std::int64_t size) {
    const RandomBytes values_a(type, 1), values_b(type, 2);
    const std::vector<double> equal(devices.size(), 1.0);
    const auto rows = distribute::shares(size, equal, 256);
    for (std::size_t i = 0; i < devices.size(); ++i) {
      a.push_back(memory.emplace_back(*devices[i], type, size, rows[i], &values_a).view);
      b.push_back(memory.emplace_back(*devices[i], type, size, rows[i], &values_b).view);
      c.push_back(memory.emplace_back(*devices[i], type, size, rows[i], nullptr).view);
    }
  }
  const Buffer& c_of(std::size_t device) const { return memory[3 * device + 2].memory; }
  /// C's bytes, in the order of its rows.
  std::vector<std::byte> result(const Devices& devices) const {
    std::vector<std::byte> all;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const Buffer& shard = c_of(i);
      const std::size_t before = all.size();
      all.resize(before + shard.bytes());
      devices[i]->synchronize();
      devices[i]->copy_to_host(all.data() + before, shard.address(), shard.bytes());
    }
    return all;
  }
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

/// Milliseconds of one of several launches in a row, on the device that takes longest.
double milliseconds(std::span<const std::shared_ptr<Device>> devices,
                    std::span<const Stream> streams, double expected_ms,
                    const std::function<void()>& launch) {
  const int launches = std::clamp(static_cast<int>(60.0 / expected_ms), 2, 20);
  std::vector<Event> before, after;
  for (const auto& device : devices) {
    before.push_back(device->create_event());
    after.push_back(device->create_event());
    device->synchronize();
  }
  for (std::size_t i = 0; i < devices.size(); ++i) devices[i]->record(before[i], streams[i]);
  for (int i = 0; i < launches; ++i) launch();
  for (std::size_t i = 0; i < devices.size(); ++i) devices[i]->record(after[i], streams[i]);
  double longest = 0.0;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    longest = std::max(longest, devices[i]->elapsed_ms(before[i], after[i]));
  }
  return longest / launches;
}

/// Plans of panels, as they were named.
using Plans = std::vector<std::pair<std::string, distribute::PanelPlan>>;

/// "8:1:8:1:1,16:3:1:2:0". Throws std::invalid_argument for other text.
Plans plans_of(std::string_view list) {
  Plans plans;
  for (const std::string_view one : split(list, ',')) {
    std::vector<std::int64_t> numbers;
    for (const std::string_view number : split(one, ':')) {
      numbers.push_back(std::stoll(std::string(number)));
    }
    if (numbers.size() != 5 || *std::min_element(numbers.begin(), numbers.end() - 1) < 1) {
      throw std::invalid_argument(
          "a plan is FIRST:GROWTH:WIDEST:ENGINES:AWAITS, all but AWAITS at least 1");
    }
    plans.emplace_back(one, distribute::PanelPlan{numbers[0], numbers[1], numbers[2], numbers[3],
                                                  numbers[4] != 0});
  }
  return plans;
}

/// The whole product on one device.
class WholeProduct {
 public:
  WholeProduct(const std::shared_ptr<Device>& device, DataType type, std::int64_t size,
               const MatmulOptions& options)
      : device_{device},
        operands_(device_, type, size),
        product_(*device, operands_.a[0], operands_.b[0], operands_.c[0], options) {
    stream_.push_back(device->create_stream());
  }
  std::vector<std::byte> result() const {
    product_.launch(stream_[0]);
    return operands_.result(device_);
  }
  void time(double expected_ms) {
    times_.push_back(
        milliseconds(device_, stream_, expected_ms, [&] { product_.launch(stream_[0]); }));
  }
  double median_ms() const { return median(times_); }

 private:
  Devices device_;
  std::vector<Stream> stream_;
  Operands operands_;
  PreparedGemm product_;
  std::vector<double> times_;
};

/// A product of shards that is timed.
struct Contender {
  std::string plan;
  ShardedReport report;
  std::function<void()> launch;
  std::vector<double> times;
  bool has_the_bits = true;
};

/// Each device's rows of C by a product of its own, with all of B on each.
class PartsAlone {
 public:
  PartsAlone(const Devices& devices, const Operands& shards, DataType type, std::int64_t size,
             const MatmulOptions& options)
      : devices_(devices), alone_(devices.size()) {
    const RandomBytes values(type, 2);
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const Rows& b = b_.emplace_back(*devices[i], type, size, Range{0, size}, &values);
      parts_.push_back(
          std::make_unique<PreparedGemm>(*devices[i], shards.a[i], b.view, shards.c[i], options));
    }
  }
  void launch(const std::vector<Stream>& streams) const {
    for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i]->launch(streams[i]);
  }
  void time(const std::vector<Stream>& streams, double expected_ms) {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      alone_[i].push_back(milliseconds({&devices_[i], 1}, {&streams[i], 1}, expected_ms,
                                       [&] { parts_[i]->launch(streams[i]); }));
    }
    at_once_.push_back(milliseconds(devices_, streams, expected_ms, [&] { launch(streams); }));
  }
  /// Prints a row for each device, and one for all at once, beside one GPU's time for the whole.
  void print(Precision precision, std::int64_t size, double one_ms, bool has_the_bits) const {
    const auto row = [&](const std::string& name, const std::vector<double>& times,
                         std::string_view bits) {
      const double ms = median(times);
      fmt::print("| {} | {} | {} | {:.3f} | {:.3f} ({:.3f} to {:.3f}) | | {:.3f} | | | | {} |\n",
                 name_of(precision), size, name, one_ms, ms,
                 *std::min_element(times.begin(), times.end()),
                 *std::max_element(times.begin(), times.end()), one_ms / ms, bits);
    };
    for (std::size_t i = 0; i < alone_.size(); ++i) {
      row(fmt::format("part {} alone", i), alone_[i], "");
    }
    row("all parts, B there", at_once_, has_the_bits ? "same" : "OTHER");
    std::fflush(stdout);
  }

 private:
  const Devices& devices_;
  std::vector<Rows> b_;
  std::vector<std::unique_ptr<PreparedGemm>> parts_;
  std::vector<std::vector<double>> alone_;
  std::vector<double> at_once_;
};

/// Prints a row for a square product of this size, or one for each plan; returns whether the bits
/// are those of one GPU.
bool hold(const Devices& devices, Precision precision, std::int64_t size, const Plans& plans = {}) {
  const DataType type = type_of(precision);
  const MatmulOptions options{.precision = precision};
  const MatmulShape shape{size, size, size};
  const double expected = shape.flops() / 4e11;  // 400 TFLOP/s, in ms
  std::vector<Stream> streams;
  for (const auto& device : devices) streams.push_back(device->create_stream());
  const Operands shards(devices, type, size);
  std::deque<WholeProduct> wholes;
  for (const auto& device : devices) wholes.emplace_back(device, type, size, options);
  const std::vector<std::byte> expected_bits = wholes.front().result();

  std::vector<std::unique_ptr<ShardedGemm>> usual;
  std::vector<std::unique_ptr<distribute::ShardedProduct>> planned;
  std::vector<Contender> contenders;
  if (plans.empty()) {
    ShardedGemm& product = *usual.emplace_back(
        std::make_unique<ShardedGemm>(devices, shards.a, shards.b, shards.c, options));
    contenders.push_back({"", product.report(), [&] { product.launch(streams); }});
  }
  for (const auto& [text, plan] : plans) {
    auto& product = *planned.emplace_back(std::make_unique<distribute::ShardedProduct>(
        distribute::sharded_problem(devices, shards.a, shards.b, shards.c, options), "",
        distribute::Rows::there, Reach::any, plan));
    product.prepare();
    contenders.push_back({" " + text + (product.awaits_columns() ? ", one launch" : ""),
                          product.report(), [&] { product.launch(streams); }});
  }
  const auto gives_the_bits = [&](const std::function<void()>& launch) {
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const Buffer& c = shards.c_of(i);
      devices[i]->fill(c.address(), 0xff, c.bytes());
    }
    launch();
    return shards.result(devices) == expected_bits;
  };
  for (Contender& contender : contenders) {
    contender.has_the_bits = gives_the_bits(contender.launch);
  }
  std::optional<PartsAlone> parts;
  if (!plans.empty()) parts.emplace(devices, shards, type, size, options);
  const bool parts_have_the_bits = !parts || gives_the_bits([&] { parts->launch(streams); });
  // In turns: GPUs that have worked for longer run at lower clocks, and all at once are as slow as
  // the slowest. Whoever was first in a turn is last in the next.
  std::vector<std::function<void()>> timings;
  for (WholeProduct& whole : wholes) timings.emplace_back([&] { whole.time(expected); });
  for (Contender& contender : contenders) {
    timings.emplace_back([&] {
      contender.times.push_back(milliseconds(devices, streams, expected, contender.launch));
    });
  }
  if (parts) timings.emplace_back([&] { parts->time(streams, expected); });
  constexpr int turns = 8;
  for (int turn = 0; turn < turns; ++turn) {
    for (const auto& timing : timings) timing();
    std::reverse(timings.begin(), timings.end());
  }
  double one_ms = 0.0;  // of the GPUs, on average
  for (const WholeProduct& whole : wholes) {
    one_ms += whole.median_ms() / static_cast<double>(wholes.size());
  }
  if (parts) parts->print(precision, size, one_ms, parts_have_the_bits);
  bool is_same = parts_have_the_bits;
  for (const auto& [plan, report, launch, times, has_the_bits] : contenders) {
    const double many_ms = median(times);
    fmt::print(
        "| {} | {} | {}{} | {:.3f} | {:.3f} ({:.3f} to {:.3f}) | {:.1f} | {:.3f} | {} | {:.0f} | "
        "{} | {} |\n",
        name_of(precision), size, report.product.variant, plan, one_ms, many_ms,
        *std::min_element(times.begin(), times.end()),
        *std::max_element(times.begin(), times.end()), shape.flops() / many_ms * 1e-9,
        one_ms / many_ms, report.panels, static_cast<double>(report.received_bytes) * 1e-6,
        report.is_direct ? "direct" : "by the host", has_the_bits ? "same" : "OTHER");
    std::fflush(stdout);
    is_same = is_same && has_the_bits;
  }
  return is_same;
}

void print_times(std::size_t devices, const HostTimes& t) {
  fmt::print(
      stderr,
      "{} of them, ms from the call: planned {:.1f}, allocated {:.1f}, kernels loaded {:.1f}, "
      "copying {:.1f}, multiplying {:.1f}, uploaded {:.1f}, multiplied {:.1f}, downloaded "
      "{:.1f}, freed {:.1f}\n",
      devices, t.planned, t.allocated, t.prepared, t.copying, t.multiplying, t.uploaded,
      t.multiplied, t.downloaded, t.freed);
}

/// The same for matrices in pinned host memory, copies included. One GPU computes in the two ways
/// that there are, at once by matmul() and in pieces by matmul_sharded(); its faster one counts.
bool hold_from_host(const Devices& devices, std::int64_t size, bool with_times) {
  const std::size_t bytes = static_cast<std::size_t>(size * size) * sizeof(float);
  PinnedBuffer a(*devices.front(), bytes), b(*devices.front(), bytes), one(*devices.front(), bytes),
      many(*devices.front(), bytes);
  for (const auto& [buffer, seed] : {std::pair{&a, 1}, {&b, 2}}) {
    auto* to = static_cast<std::byte*>(buffer->data());
    RandomBytes(DataType::float32, static_cast<std::uint64_t>(seed))
        .each(0, bytes, [&](std::size_t at, const std::byte* data, std::size_t count) {
          std::memcpy(to + at, data, count);
        });
  }
  const auto view = [&](const PinnedBuffer& buffer) {
    return dense_view(buffer.data(), DataType::float32, size, size);
  };
  const auto ms_of = [](const std::function<void()>& work) {
    const auto start = Clock::now();
    work();
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  };
  struct Times {
    double first_ms, ms;  // the others': the median
  };
  const auto timed = [&](const std::function<void()>& work) {
    const double first_ms = ms_of(work);
    std::vector<double> times;
    for (int i = 0; i < 5; ++i) times.push_back(ms_of(work));
    return Times{first_ms, median(times)};
  };
  const auto sharded = [&](const Devices& on) {
    return timed([&] {
      const ShardedReport report = matmul_sharded(on, view(a), view(b), view(many));
      if (with_times) print_times(on.size(), report.times);
    });
  };
  const Times at_once = timed([&] { matmul(*devices.front(), view(a), view(b), view(one)); });
  const Times in_pieces = sharded({devices.front()}), all = sharded(devices);
  const bool is_same = std::memcmp(one.data(), many.data(), bytes) == 0;
  const double one_ms = std::min(at_once.ms, in_pieces.ms);
  fmt::print(
      "| fp32, host memory | {} | | {:.1f} at once, {:.1f} in pieces (first calls {:.1f}, {:.1f}) "
      "| "
      "{:.1f} (first {:.1f}) | | {:.3f} | | | | {} |\n",
      size, at_once.ms, in_pieces.ms, at_once.first_ms, in_pieces.first_ms, all.ms, all.first_ms,
      one_ms / all.ms, is_same ? "same" : "OTHER");
  std::fflush(stdout);
  return is_same;
}

int run(std::vector<std::string> arguments) {
  const bool only_host = !arguments.empty() && arguments[0] == "--host";
  if (only_host) arguments.erase(arguments.begin());
  Plans plans;
  std::optional<Precision> precision_of_plans;
  while (arguments.size() > 1 && arguments[0].starts_with("--")) {
    if (arguments[0] == "--panels") {
      plans = plans_of(arguments[1]);
    } else if (arguments[0] == "--precision") {
      precision_of_plans = parse_precision(arguments[1]);
    } else {
      throw std::invalid_argument(arguments[0] + ": expected --host, --panels or --precision");
    }
    arguments.erase(arguments.begin(), arguments.begin() + 2);
  }
  if (precision_of_plans && plans.empty()) {
    throw std::invalid_argument("--precision: only with --panels");
  }
  const Devices devices = open_devices(arguments.empty() ? "all" : arguments[0]);
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 1; i < arguments.size(); ++i) sizes.push_back(std::stoll(arguments[i]));
  if (sizes.empty()) sizes = {8192, 16384};
  fmt::print("{} devices, {}\n\n", devices.size(), devices.front()->properties().name);
  fmt::print(
      "| precision | size | kernel | one GPU ms | all ms | TFLOP/s | ratio | panels | MB received "
      "| way | bits |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
  std::vector<Precision> precisions{Precision::fp32, Precision::bf16, Precision::fp32_fast,
                                    Precision::tf32};
  if (!plans.empty()) precisions = {precision_of_plans.value_or(Precision::bf16)};
  if (only_host) precisions.clear();
  bool is_same = true;
  for (const Precision precision : precisions) {
    for (const std::int64_t size : sizes) {
      is_same = hold(devices, precision, size, plans) && is_same;
    }
  }
  if (!plans.empty()) return is_same ? 0 : 1;
  for (const std::int64_t size : sizes) {
    is_same = hold_from_host(devices, size, only_host) && is_same;
  }
  return is_same ? 0 : 1;
}

}  // namespace
}  // namespace tilescope

int main(int count, char** values) {
  try {
    return tilescope::run({values + 1, values + count});
  } catch (const std::exception& error) {
    fmt::print(stderr, "sharded_products: {}\n", error.what());
    return 2;
  }
}
