#include "measure/link.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <numeric>
#include <tilescope/pinned.hpp>

namespace tilescope::measure {
namespace {

/// The median of `samples` timings of `copy`, which is complete when it returns, in ms. Uses the
/// host's clock: a pageable copy is also work of the host.
double median_of(const std::function<void()>& copy, int samples) {
  return time_on_host([&copy](int) { copy(); }, {.least_samples = samples, .most_samples = samples})
      .median_ms();
}

class Link {
 public:
  Link(Device& device, std::size_t bytes)
      : device_(device),
        bytes_(bytes),
        there_(device.allocate(bytes, "copy target")),
        back_(device.allocate(bytes, "copy source")),
        up_(device.create_stream()),
        down_(device.create_stream()) {}

  void to_device(const void* from) {
    device_.copy_to_device(there_.address(), from, bytes_, up_);
    device_.synchronize(up_);
  }
  void to_host(void* to) {
    device_.copy_to_host(to, back_.address(), bytes_, down_);
    device_.synchronize(down_);
  }
  void both(const void* from, void* to) {
    device_.copy_to_device(there_.address(), from, bytes_, up_);
    device_.copy_to_host(to, back_.address(), bytes_, down_);
    device_.synchronize(up_);
    device_.synchronize(down_);
  }
  /// Checks that the data return unchanged.
  void check(const void* from, void* to) {
    to_device(from);
    device_.copy_on_device(back_.address(), there_.address(), bytes_);
    device_.synchronize();
    std::memset(to, 0, bytes_);
    to_host(to);
    if (std::memcmp(from, to, bytes_) != 0) {
      throw Error(
          ErrorKind::wrong_result,
          fmt::format("{} bytes copied to {} and back came back changed", bytes_, device_.id()));
    }
  }

 private:
  Device& device_;
  std::size_t bytes_;
  Buffer there_, back_;
  Stream up_, down_;
};

void fill(void* memory, std::size_t bytes) {
  auto* data = static_cast<unsigned char*>(memory);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<unsigned char>(i * 131 + i / 251);
}

}  // namespace

std::string_view name_of(HostMemory memory) {
  return memory == HostMemory::pinned ? "pinned" : "pageable";
}

std::string_view name_of(Direction direction) {
  constexpr std::string_view names[] = {"to_device", "to_host", "both"};
  return names[static_cast<std::size_t>(direction)];
}

double LinkRate::bytes_per_second() const {
  const double moved = static_cast<double>(bytes) * (direction == Direction::both ? 2.0 : 1.0);
  return median_ms > 0.0 ? moved / (median_ms * 1e-3) : 0.0;
}

std::vector<LinkRate> measure_link(Device& device, std::size_t bytes, int samples) {
  std::vector<LinkRate> rates;
  Link link(device, bytes);
  const auto measure = [&](HostMemory memory, void* source, void* target) {
    fill(source, bytes);
    link.check(source, target);
    const auto add = [&](Direction direction, const std::function<void()>& copy) {
      rates.push_back({memory, direction, bytes, median_of(copy, samples)});
    };
    add(Direction::to_device, [&] { link.to_device(source); });
    add(Direction::to_host, [&] { link.to_host(target); });
    if (memory == HostMemory::pinned) {
      add(Direction::both, [&] { link.both(source, target); });
    }
  };
  std::vector<std::byte> source(bytes), target(bytes);
  measure(HostMemory::pageable, source.data(), target.data());
  PinnedBuffer pinned_source(device, bytes), pinned_target(device, bytes);
  if (pinned_source.pinned() && pinned_target.pinned()) {
    measure(HostMemory::pinned, pinned_source.data(), pinned_target.data());
  }
  return rates;
}

}  // namespace tilescope::measure
