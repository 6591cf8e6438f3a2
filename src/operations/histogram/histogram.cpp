#include "operations/histogram/histogram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/errors.hpp"
#include "operations/elementwise/elementwise_plans.hpp"
#include "operations/rung/prepared_task.hpp"

namespace tilescope {
namespace operations {
namespace {

// Constants of the kernels that read in packs.
constexpr int vector_threads = 512, vector_unroll = 2;
constexpr int column_threads = 1024, column_unroll = 8;
constexpr std::size_t column_bytes = 104 * 1024;  // of shared memory, for two blocks an SM
constexpr int byte_unroll = 4;
constexpr std::int64_t byte_bins = 256;
constexpr std::size_t byte_columns_bytes = 64 * 1024;
constexpr int most_copies = 32;          // one for each lane
constexpr std::size_t copies_of_04 = 8;  // if they fit

std::string_view element_text(DataType type) {
  switch (type) {
    case DataType::int8:
      return "signed char";
    case DataType::int16:
      return "short";
    case DataType::uint16:
      return "unsigned short";
    case DataType::int32:
      return "int";
    case DataType::uint32:
      return "unsigned int";
    case DataType::float32:
      return "float";
    case DataType::float64:
      return "double";
    default:
      return "unsigned char";
  }
}

// Hexadecimal keeps every digit.
std::string literal(double value, DataType type) {
  return fmt::format("({:a}{})", value, type == DataType::float32 ? "f" : "");
}

struct Problem {
  ConstArrayView x;
  Binning b;

  std::int64_t count() const { return static_cast<std::int64_t>(x.count); }
  std::size_t bin_bytes(std::int64_t bins, int copies = 1) const {
    return sizeof(std::uint32_t) * static_cast<std::size_t>(bins) *
           static_cast<std::size_t>(copies);
  }
  Defines defines() const {
    Defines all{{"ELEMENT", std::string(element_text(b.type))},
                {"COUNTER",
                 counter_type(x.count) == DataType::uint64 ? "unsigned long long" : "unsigned int"},
                define("BINS", b.bins)};
    if (b.letters) {
      all.emplace_back("LETTERS", "1");
    } else if (is_floating(b.type)) {
      all.emplace_back("LOWER", literal(b.lower, b.type));
      all.emplace_back("UPPER", literal(b.upper, b.type));
      all.emplace_back("SCALE", literal(b.scale, b.type));
    } else {
      all.emplace_back("LOWER", fmt::format("({:.0f}LL)", b.lower));
      all.emplace_back("RANGE", fmt::format("({:.0f}LL)", b.upper - b.lower));
    }
    return all;
  }
  // The result zeroed, then the launches.
  Plan plan(std::vector<Step> launches) const {
    Plan plan{.steps = {zero(Memory::output(),
                             static_cast<std::size_t>(b.bins) * size_of(counter_type(x.count)))},
              .defines = defines(),
              .scratch = {}};
    for (Step& step : launches) {
      step.kernel = "histogram";
      step.arguments = {Memory::input(), count(), Memory::output()};
      plan.steps.push_back(std::move(step));
    }
    return plan;
  }
};

// As many blocks as the device holds at once if each needs `shared` bytes; not more than there is
// work for, but enough that no block's 32-bit counters can overflow.
std::int64_t resident_blocks(const Problem& p, const DeviceProperties& device, int threads,
                             std::size_t shared) {
  const std::size_t per_sm = device.shared_bytes_per_sm;
  const std::size_t of_block = shared + device.reserved_shared_bytes_per_block;
  const auto by_shared = of_block ? static_cast<std::int64_t>(per_sm / of_block) : 32;
  const std::int64_t by_threads = std::max(1, device.max_threads_per_sm / threads);
  const std::int64_t fit = std::clamp<std::int64_t>(by_shared, 1, by_threads);
  const std::int64_t most = std::min(fit * std::max(1, device.sm_count),
                                     std::max<std::int64_t>(1, groups_of(p.count(), threads)));
  return std::max(most, groups_of(p.count(), std::int64_t{1} << 31U));
}

Plan one_launch(const Problem& p, const DeviceProperties& device, std::size_t shared,
                Defines defines = {}, int threads = block_threads) {
  return p.plan(
      {{.launch = flat_launch(resident_blocks(p, device, threads, shared), threads, shared),
        .defines = std::move(defines)}});
}

// The most shared memory of a block.
std::size_t optin_bytes(const DeviceProperties& device) {
  return std::max(device.shared_bytes_per_block_optin, std::size_t{48} << 10U);
}

// Bins that a launch counts, and copies of each.
struct Columns {
  std::int64_t span;
  int copies;
};

Columns columns_for(std::int64_t bins, const DeviceProperties& device) {
  const std::size_t optin = optin_bytes(device);
  const auto most_span = static_cast<std::int64_t>(optin / sizeof(std::uint32_t));
  // As few launches as possible, of about the same size.
  const std::int64_t launches = groups_of(bins, most_span);
  const std::int64_t span = groups_of(bins, launches);
  const std::size_t copy_bytes = sizeof(std::uint32_t) * static_cast<std::size_t>(span);
  const std::size_t fit = std::max<std::size_t>(1, std::min(column_bytes, optin) / copy_bytes);
  return {span, static_cast<int>(std::min<std::size_t>(std::bit_floor(fit), most_copies))};
}

Plan lane_columns(const Problem& p, const DeviceProperties& device) {
  const Columns columns = columns_for(p.b.bins, device);
  std::vector<Step> launches;
  for (std::int64_t first = 0; first < p.b.bins; first += columns.span) {
    const std::int64_t span = std::min(columns.span, p.b.bins - first);
    const std::size_t shared = p.bin_bytes(span, columns.copies);
    launches.push_back(
        {.launch = flat_launch(resident_blocks(p, device, column_threads, shared), column_threads,
                               shared),
         .defines = {define("FIRST", first), define("SPAN", span),
                     define("THREADS", column_threads), define("COPIES", columns.copies),
                     define("UNROLL", column_unroll)}});
  }
  return p.plan(std::move(launches));
}

Plan byte_columns(const Problem& p, const DeviceProperties& device) {
  if (optin_bytes(device) < byte_columns_bytes) {
    throw usage_error("histogram/byte_columns needs {} B of shared memory a block; {} has {}",
                      byte_columns_bytes, device.name, optin_bytes(device));
  }
  return one_launch(p, device, byte_columns_bytes,
                    {define("THREADS", column_threads), define("UNROLL", byte_unroll)},
                    column_threads);
}

// Whether there is a bin for each value of an unsigned byte.
bool counts_bytes(const Binning& b) {
  return b.type == DataType::uint8 && !b.letters && b.bins == byte_bins && b.lower == 0.0 &&
         b.upper == static_cast<double>(byte_bins);
}

using Planner = Plan (*)(const Problem&, const DeviceProperties&);

Rung rung(const Problem& p, std::string_view name, std::string_view idea, std::string_view source,
          Planner planner) {
  return {.name = name,
          .idea = idea,
          .source = source,
          .plan = [p, planner](const DeviceProperties& device) { return planner(p, device); }};
}

}  // namespace

Task histogram_task(const ConstArrayView& x, const Binning& binning) {
  const Problem p{x, binning};
  Task task{.operation = "histogram",
            .inputs = {x},
            .output_type = counter_type(x.count),
            .output_count = static_cast<std::size_t>(binning.bins),
            .best = counts_bytes(binning) ? "byte_columns" : "lane_columns"};
  task.compute = [p](void* output) { histogram_on_cpu(p.x, p.b, output); };
  task.rungs = {
      cpu_rung(),
      rung(p, "sectioned", "a section for every thread", "histogram/01_sectioned.cu",
           [](const Problem& q, const DeviceProperties& d) { return one_launch(q, d, 0); }),
      rung(p, "interleaved", "neighbouring elements, global atomics", "histogram/02_interleaved.cu",
           [](const Problem& q, const DeviceProperties& d) { return one_launch(q, d, 0); }),
      rung(p, "block_private", "a histogram a block, shared memory",
           "histogram/03_block_private.cu",
           [](const Problem& q, const DeviceProperties& d) {
             return one_launch(q, d, q.bin_bytes(q.b.bins));
           }),
      rung(p, "copies", "several histograms a block", "histogram/04_copies.cu",
           [](const Problem& q, const DeviceProperties& d) {
             const std::size_t fit = optin_bytes(d) / q.bin_bytes(q.b.bins);
             const auto copies = static_cast<int>(std::clamp(fit, std::size_t{1}, copies_of_04));
             return one_launch(q, d, q.bin_bytes(q.b.bins, copies), {define("COPIES", copies)});
           }),
      rung(p, "vector", "128-bit loads", "histogram/05_vector.cu",
           [](const Problem& q, const DeviceProperties& d) {
             return one_launch(q, d, q.bin_bytes(q.b.bins),
                               {define("THREADS", vector_threads), define("UNROLL", vector_unroll)},
                               vector_threads);
           }),
      rung(p, "lane_columns", "a bank for every lane: no conflicts", "histogram/06_lane_columns.cu",
           lane_columns),
      rung(p, "byte_columns", "a byte's counter by one permutation", "histogram/07_byte_columns.cu",
           byte_columns),
      peer_rung("cub_histogram", "histogram")};
  if (!counts_bytes(binning)) {
    task.rungs[task.rungs.size() - 2].refusal = "for the 256 bins of unsigned bytes";
  }
  if (binning.letters || counter_type(x.count) == DataType::uint64) {
    task.rungs.back().refusal = "CUB has no such bins, or no such counters";
  }
  task.peer_call = peer_call(x);
  task.peer_call.numbers = {binning.lower, binning.upper, static_cast<double>(binning.bins)};
  return task;
}

}  // namespace operations

DataType histogram_type(std::size_t elements) {
  return operations::counter_type(elements);
}

PreparedOperation prepare_histogram(Device& device, const ConstArrayView& x, void* counts,
                                    const Bins& bins, const RunOptions& options) {
  return operations::prepare_task(
      device, operations::histogram_task(x, operations::make_binning(x.type, bins)),
      options.variant, counts);
}

HistogramResult histogram(Device& device, const ConstArrayView& x, const Bins& bins,
                          const RunOptions& options) {
  const operations::Binning binning = operations::make_binning(x.type, bins);
  HistogramResult result{
      .counts = std::vector<std::uint64_t>(static_cast<std::size_t>(binning.bins)),
      .lower = binning.lower,
      .upper = binning.upper,
      .report = {.variant = "none (nothing to count)"}};
  if (x.count == 0) return result;
  operations::HostArray counts(operations::counter_type(x.count), result.counts.size());
  result.report = operations::run_task(device, operations::histogram_task(x, binning),
                                       options.variant, counts.data());
  if (counts.type() == DataType::uint64) {
    std::ranges::copy(counts.as<std::uint64_t>(), result.counts.begin());
  } else {
    std::ranges::copy(counts.as<std::uint32_t>(), result.counts.begin());
  }
  return result;
}

}  // namespace tilescope
