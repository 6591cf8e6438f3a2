#include "observe/count/request_costs.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <tuple>

#include "emulator/textures/image.hpp"
#include "gpu/coalescing.hpp"

namespace tilescope::observe {
namespace {

using emulator::Image;
using emulator::ImageLevel;

constexpr unsigned kLanes = 32;

/// The first address of the sector with the element at `address`.
std::uint64_t sector_of(const Image& image, std::uint64_t address) {
  if (!image.tiled) return address - address % gpu::kSectorBytes;
  constexpr std::uint64_t row_bytes = 16, rows = 2;
  const ImageLevel* level = &image.levels.front();
  for (const ImageLevel& next : image.levels) {
    if (next.address <= address) level = &next;
  }
  const std::uint64_t offset = address - level->address;
  const std::uint64_t slice = offset / level->slice_pitch * level->slice_pitch;
  const std::uint64_t y = (offset - slice) / level->pitch, x = (offset - slice) % level->pitch;
  return level->address + slice + y / rows * rows * level->pitch + x / row_bytes * row_bytes;
}

std::uint64_t distinct(std::vector<std::uint64_t>& values) {
  std::ranges::sort(values);
  const auto rest = std::ranges::unique(values);
  return static_cast<std::uint64_t>(rest.begin() - values.begin());
}

/// The lanes of a request; those whose sectors are fetched together, and how often.
struct Grouping {
  unsigned request_lanes = 4, sector_lanes = 4, times = 1;
};

Grouping grouping_of(const emulator::TexelRequest& request, const Image& image) {
  const bool wide = image.format.bytes() == 16;
  if (request.whole) {
    const bool deep = image.dimensions == 3 || image.layered || image.cube;
    const unsigned lanes = (request.surface ? deep : wide) ? 4 : 8;
    return {lanes, lanes, 1};
  }
  Grouping grouping;
  if (!request.filter) return grouping;
  if (wide) grouping = {4, 2, 2};
  if (image.dimensions == 3) grouping.sector_lanes /= 2;
  return grouping;
}

}  // namespace

UnitCounts cluster_cost(const emulator::ClusterRequest& request) {
  using emulator::ClusterOperation;
  const bool each_address =
      request.operation != ClusterOperation::load && request.operation != ClusterOperation::store;
  std::array<std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>, kLanes> places;
  std::size_t count = 0;  // lanes by block, sector and address
  for (std::uint32_t m = request.lanes; m != 0; m &= m - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(m));
    const std::uint64_t address = request.addresses[lane];
    places[count++] = {request.ranks[lane], address / gpu::kSectorBytes, address};
  }
  std::sort(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(count));
  UnitCounts cost{1, 0};
  std::uint64_t most = 0, lanes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto [rank, sector, address] = places[i];
    const bool same_address = i > 0 && places[i] == places[i - 1];
    const bool same_sector =
        i > 0 && std::tuple(rank, sector) ==
                     std::tuple(std::get<0>(places[i - 1]), std::get<1>(places[i - 1]));
    if (!same_sector) {
      cost.sectors += most;
      most = 0;
    }
    lanes = same_address && each_address ? lanes + 1 : 1;
    most = std::max(most, lanes);
  }
  cost.sectors += most;
  return cost;
}

UnitCounts texel_cost(const emulator::TexelRequest& request) {
  const auto object = std::find_if(request.images, request.images + kLanes,
                                   [](const Image* image) { return image != nullptr; });
  if (object == request.images + kLanes) return {};
  const Grouping grouping = grouping_of(request, **object);
  UnitCounts cost;
  for (unsigned lane = 0; lane < kLanes; lane += grouping.request_lanes) {
    const std::uint32_t lanes = (std::uint32_t{1} << grouping.request_lanes) - 1;
    if ((request.lanes >> lane & lanes) != 0) ++cost.requests;
  }
  std::vector<std::uint64_t> sectors;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const Image* const image = request.images[lane];
    for (const std::uint64_t address : request.elements[lane]) {
      sectors.push_back(sector_of(*image, address));
    }
    if ((lane + 1) % grouping.sector_lanes != 0) continue;
    cost.sectors += distinct(sectors) * grouping.times;
    sectors.clear();
  }
  return cost;
}

}  // namespace tilescope::observe
