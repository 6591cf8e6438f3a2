// Findings about one access to memory.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "report/words/wording.hpp"

namespace tilescope::report {
namespace {

/// "256 elements of 4 bytes"
std::string extent(const MemoryPlace& place) {
  const std::uint64_t size = std::max(place.element_bytes, 1U);
  if (place.object_bytes % size != 0 || place.object_bytes == 0) {
    return bytes_text(place.object_bytes);
  }
  return counted(place.object_bytes / size, "element") + " of " + bytes_text(size);
}

std::string bounds_cure(const MemoryPlace& place, const BoundsMiss& miss) {
  const bool past = miss.distance > 0;
  if (past && miss.dynamic_shared) {
    const auto farthest = static_cast<std::uint64_t>(std::max(miss.farthest, std::int64_t{0}));
    return fmt::format(
        "keep the index in bounds, or launch with more dynamic shared memory (--shared, the third "
        "launch parameter): this needs {}",
        bytes_text(place.object_bytes + farthest));
  }
  if (place.space == MemorySpace::global || place.space == MemorySpace::parameter) {
    return past ? "guard the access, such as with if (i < n), or pass a larger buffer"
                : "guard the access, such as with if (i > 0)";
  }
  return past ? "keep the index in bounds, or declare the array larger"
              : "keep the index from going below 0";
}

}  // namespace

Wording out_of_bounds_words(const Finding& finding) {
  const MemoryPlace place = memory_of(finding);
  const BoundsMiss* miss = std::get_if<BoundsMiss>(&finding.facts);
  if (miss == nullptr) {
    return {fmt::format("{} of {} memory at {:#x}, where no buffer or variable lies",
                        action(finding.first), to_string(place.space), place.address),
            "check the pointer and the arithmetic of the index (unsigned values below 0 wrap "
            "around)"};
  }
  const bool past = miss->distance > 0;
  std::string distance = bytes_text(static_cast<std::uint64_t>(std::abs(miss->distance)));
  if (past && miss->farthest > miss->distance) {
    distance += fmt::format(" (others by up to {})",
                            bytes_text(static_cast<std::uint64_t>(miss->farthest)));
  }
  const std::string message =
      fmt::format("{} misses {}, which has {}: {} {}", to_string(place), object_name(place),
                  extent(place), distance, past ? "past its end" : "before its start");
  if (miss->operand.empty()) return {message, bounds_cure(place, *miss)};
  return {fmt::format("operand {} of wgmma: {}", miss->operand, message),
          "check the descriptor: its address, offsets and swizzle, and the bytes of the tile"};
}

Wording cluster_memory_words(const Finding& finding) {
  if (std::holds_alternative<AsyncFacts>(finding.facts)) return async_words(finding);
  const auto facts = facts_of<ClusterFacts>(finding);
  const std::string what = fmt::format("{} of {} of block {} of the cluster", action(finding.first),
                                       to_string(memory_of(finding)), facts.rank);
  switch (facts.fault) {
    case ClusterFault::no_such_block:
      return {what + ", which has no block of this rank",
              "keep the rank below cluster.num_blocks(), or launch larger clusters "
              "(__cluster_dims__, --cluster, cudaLaunchAttributeClusterDimension)"};
    case ClusterFault::exited_block:
      return {what + ", which has ended: its shared memory is gone",
              "let every block stay until the last access to its shared memory: call "
              "cluster.sync() at the end of the kernel"};
    case ClusterFault::other_block:
      return {what + " by an instruction that reaches only its own block's",
              "use a generic pointer or shared::cluster; threads wait only for barriers of their "
              "own block"};
  }
  return {};
}

Wording wrong_space_words(const Finding& finding) {
  const MemoryPlace place = memory_of(finding);
  if (place.space == MemorySpace::local) {
    return {
        "a pointer to a local variable of another thread is read: in this thread it means its "
        "own local memory",
        "put the variable in shared or global memory"};
  }
  return {fmt::format("{} of {} memory with an address of another space ({:#x})",
                      action(finding.first), to_string(place.space), place.address),
          "use a generic pointer, or one of the right space"};
}

Wording uninitialised_read_words(const Finding& finding) {
  const MemoryPlace place = memory_of(finding);
  const std::string where = place.space == MemorySpace::local
                                ? std::string()
                                : fmt::format(" in {} memory", to_string(place.space));
  return {
      fmt::format("{}{} is read before anything was written to it", to_string(place), where),
      place.space == MemorySpace::shared
          ? "give every element that is read a value first, and put __syncthreads() between "
            "writing and reading where another thread writes it"
      : place.space == MemorySpace::global
          ? "fill the buffer before the launch (cudaMemset, cudaMemcpy; --arg ...=zeros), or write "
            "the element first"
          : "give the variable a value before it is read"};
}

Wording texture_words(const Finding& finding) {
  const auto facts = facts_of<TextureFacts>(finding);
  const std::string_view kind = facts.surface ? "surface" : "texture";
  if (facts.destroyed) {
    return {fmt::format("the {} object {:#x} was destroyed", kind, facts.handle),
            "destroy the object after the last kernel that uses it"};
  }
  if (facts.other_dimensions) {
    return {fmt::format("the {} object {:#x} has other dimensions than this access", kind,
                        facts.handle),
            facts.surface ? "access it by the function for its array: surf1D..., surf2D..., "
                            "surf3D..., surf2DLayered..."
                          : "access it by the function for its array: tex1D, tex2D, tex3D, "
                            "tex2DLayered, texCubemap"};
  }
  return {fmt::format("{:#x} is no {} object", facts.handle, kind),
          fmt::format("create the object with cudaCreate{}Object, check its result, and pass the "
                      "object itself",
                      facts.surface ? "Surface" : "Texture")};
}

Wording outside_surface_words(const Finding& finding) {
  const auto miss = facts_of<SurfaceMiss>(finding);
  const auto listed = [&](const auto& numbers, std::string_view between) {
    return fmt::format("{}",
                       fmt::join(numbers.begin(), numbers.begin() + miss.dimensions, between));
  };
  return {fmt::format("{} of a surface at ({}), outside its {} elements",
                      finding.first.action == ThreadAction::read    ? "read"
                      : finding.first.action == ThreadAction::write ? "write"
                                                                    : "reduction",
                      listed(miss.at, ", "), listed(miss.extent, " x ")),
          "guard the access by the extents of the array, or pass cudaBoundaryModeClamp or "
          "cudaBoundaryModeZero"};
}

}  // namespace tilescope::report
