// The words of findings about host code: copies, allocations, synchronisation.
#include <fmt/format.h>

#include "base/format.hpp"
#include "report/words/wording.hpp"

namespace tilescope::report {

Wording copy_bounds_words(const Finding& finding) {
  const auto host = facts_of<HostFacts>(finding);
  const MemoryPlace place = memory_of(finding);
  const std::string from =
      place.offset == 0 ? "" : fmt::format(" from byte {} on", format_count(place.offset));
  return {fmt::format("{} accesses {}{} of '{}', which has {}", host.call, bytes_text(host.bytes),
                      from, object_name(place), bytes_text(place.object_bytes)),
          "pass the number of bytes, count * sizeof(element), that both sides have"};
}

Wording copy_size_words(const Finding& finding) {
  const auto host = facts_of<HostFacts>(finding);
  const MemoryPlace place = memory_of(finding);
  return {
      fmt::format("{} accesses {} of '{}', which has {}: {}", host.call, bytes_text(host.bytes),
                  object_name(place), bytes_text(place.object_bytes),
                  host.given.empty() ? "the rest stays as it was" : host.given),
      "pass the number of bytes, count * sizeof(element), not that of elements or of a pointer"};
}

Wording host_pointer_words(const Finding& finding) {
  const auto host = facts_of<HostFacts>(finding);
  const MemoryPlace place = memory_of(finding);
  const std::string what = host.argument == 0
                               ? fmt::format("{} at {:#x}", action(finding.first), place.address)
                               : fmt::format("argument {} of the kernel", host.argument);
  const std::string named = place.object.empty() ? "" : fmt::format(" ('{}')", place.object);
  return {fmt::format("{} is memory of the host{}, which the GPU cannot reach", what, named),
          "allocate it with cudaMalloc or cudaMallocManaged, copy the data there, and pass that "
          "pointer"};
}

Wording unsynchronised_words(const Finding& finding) {
  const auto host = facts_of<HostFacts>(finding);
  return {fmt::format("the host {} '{}' while {} may still be under way",
                      finding.first.action == ThreadAction::write ? "overwrites" : "reads",
                      object_name(memory_of(finding)),
                      host.call.empty() ? "work that uses it" : host.call),
          "call cudaDeviceSynchronize(), cudaStreamSynchronize() or cudaEventSynchronize() first"};
}

Wording uncovered_words(const Finding& finding) {
  const auto facts = facts_of<CoverageFacts>(finding);
  const std::string object = object_name(memory_of(finding));
  const std::string how_many =
      facts.missing == facts.elements
          ? fmt::format("all {} of '{}'", counted(facts.elements, "element"), object)
          : fmt::format("{} of {} of '{}'", format_count(facts.missing),
                        counted(facts.elements, "element"), object);
  return {fmt::format("{} reads {}, which nothing ever wrote; the first is {}[{}]", facts.call,
                      how_many, object, facts.first_missing),
          "let the grid cover the whole array, (n + block - 1) / block blocks, or fill it first"};
}

}  // namespace tilescope::report
