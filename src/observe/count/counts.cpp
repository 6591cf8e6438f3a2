#include <algorithm>
#include <cmath>
#include <tilescope/counts.hpp>

#include "gpu/coalescing.hpp"

namespace tilescope {

SectorCounts& SectorCounts::operator+=(const SectorCounts& other) {
  requests += other.requests;
  sectors += other.sectors;
  ideal_sectors += other.ideal_sectors;
  return *this;
}

WavefrontCounts& WavefrontCounts::operator+=(const WavefrontCounts& other) {
  requests += other.requests;
  wavefronts += other.wavefronts;
  ideal_wavefronts += other.ideal_wavefronts;
  ways = std::max(ways, other.ways);
  return *this;
}

BulkCounts& BulkCounts::operator+=(const BulkCounts& other) {
  requests += other.requests;
  bytes += other.bytes;
  sectors += other.sectors;
  return *this;
}

UnitCounts& UnitCounts::operator+=(const UnitCounts& other) {
  requests += other.requests;
  sectors += other.sectors;
  return *this;
}

OperationCounts& OperationCounts::operator+=(const OperationCounts& other) {
  ffma += other.ffma, fadd += other.fadd, fmul += other.fmul;
  dfma += other.dfma, dadd += other.dadd, dmul += other.dmul;
  hfma += other.hfma, hadd += other.hadd, hmul += other.hmul;
  special += other.special, integer += other.integer;
  tensor += other.tensor, tensor_bytes += other.tensor_bytes;
  fp32_flops += other.fp32_flops, fp64_flops += other.fp64_flops;
  fp16_flops += other.fp16_flops, tensor_flops += other.tensor_flops;
  return *this;
}

SectorCounts Counts::global() const {
  SectorCounts sum = global_load;
  sum += global_store;
  sum += global_atomic;
  sum += global_reduction;
  return sum;
}

WavefrontCounts Counts::shared() const {
  WavefrontCounts sum = shared_load;
  sum += shared_store;
  sum += shared_atomic;
  sum += shared_async;
  return sum;
}

double Counts::requested_intensity() const {
  const std::uint64_t sectors =
      global().sectors + bulk_load.sectors + bulk_store.sectors + bulk_reduction.sectors;
  return sectors == 0 ? 0
                      : static_cast<double>(operations.flops()) /
                            static_cast<double>(sectors * gpu::kSectorBytes);
}

Counts& Counts::operator+=(const Counts& other) {
  instructions += other.instructions;
  thread_instructions += other.thread_instructions;
  guarded_on += other.guarded_on;
  global_load += other.global_load;
  global_store += other.global_store;
  global_atomic += other.global_atomic;
  global_reduction += other.global_reduction;
  local_load += other.local_load;
  local_store += other.local_store;
  shared_load += other.shared_load;
  shared_store += other.shared_store;
  shared_atomic += other.shared_atomic;
  shared_async += other.shared_async;
  bulk_load += other.bulk_load;
  bulk_store += other.bulk_store;
  bulk_reduction += other.bulk_reduction;
  bulk_exchange += other.bulk_exchange;
  texture += other.texture;
  surface += other.surface;
  dshared_load += other.dshared_load;
  dshared_store += other.dshared_store;
  dshared_atomic += other.dshared_atomic;
  dshared_async_reduction += other.dshared_async_reduction;
  branches += other.branches;
  divergent_branches += other.divergent_branches;
  barriers += other.barriers;
  operations += other.operations;
  return *this;
}

std::uint64_t LaunchCounts::unique_bytes_read() const {
  std::uint64_t sum = 0;
  for (const BufferTraffic& of : footprint) sum += of.read;
  return sum;
}

std::uint64_t LaunchCounts::unique_bytes_written() const {
  std::uint64_t sum = 0;
  for (const BufferTraffic& of : footprint) sum += of.written;
  return sum;
}

double LaunchCounts::compulsory_intensity() const {
  const std::uint64_t bytes = unique_bytes_read() + unique_bytes_written();
  return bytes == 0 ? 0
                    : static_cast<double>(totals.operations.flops()) / static_cast<double>(bytes);
}

namespace {

/// The spread of a sum of independent estimates.
Spreads combined(const Spreads& a, const Spreads& b) {
  Spreads sum = a.size() >= b.size() ? a : b;
  const Spreads& other = a.size() >= b.size() ? b : a;
  for (std::size_t i = 0; i < other.size(); ++i) {
    const auto one = static_cast<double>(sum[i]), two = static_cast<double>(other[i]);
    sum[i] = static_cast<std::uint64_t>(std::ceil(std::sqrt(one * one + two * two)));
  }
  return sum;
}

bool is_without_spread(const LaunchCounts& counts) {
  return counts.is_estimate() && counts.spread.empty();
}

}  // namespace

LaunchCounts& LaunchCounts::operator+=(const LaunchCounts& launch) {
  const bool no_spread = is_without_spread(*this) || is_without_spread(launch);
  spread = combined(spread, launch.spread);
  blocks_counted += launch.blocks_counted;
  blocks += launch.blocks;
  totals += launch.totals;
  complete = complete && launch.complete;
  if (kernel.empty()) {
    kernel = launch.kernel;
    grid = launch.grid;
    block = launch.block;
  }
  for (const LineCounts& line : launch.lines) {
    const auto at =
        std::lower_bound(lines.begin(), lines.end(), line,
                         [](const auto& a, const auto& b) { return a.place < b.place; });
    if (at != lines.end() && at->place == line.place) {
      at->counts += line.counts;
      at->spread = combined(at->spread, line.spread);
    } else {
      lines.insert(at, line);
    }
  }
  for (const BufferTraffic& part : launch.footprint) {
    const auto same = std::find_if(footprint.begin(), footprint.end(),
                                   [&](const auto& f) { return f.name == part.name; });
    if (same == footprint.end()) {
      footprint.push_back(part);
    } else {  // the traffic of several launches cannot be separated any more
      same->read = std::max(same->read, part.read);
      same->written = std::max(same->written, part.written);
    }
  }
  if (is_estimate()) footprint.clear();
  if (no_spread) {
    spread.clear();
    for (LineCounts& line : lines) line.spread.clear();
  }
  return *this;
}

}  // namespace tilescope
