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
  const MemoryPlace place = memory_of(finding);
  const std::string object = object_name(place);
  // The source does not always say how large an element is.
  const bool in_bytes = place.element_bytes <= 1;
  const std::string all = counted(facts.elements, in_bytes ? "byte" : "element");
  const std::string first =
      in_bytes ? fmt::format("the first is byte {}", format_count(facts.first_missing))
               : fmt::format("the first is {}[{}]", object, facts.first_missing);
  return {fmt::format("{} reads {} of '{}', and nothing ever wrote {} of them; {}", facts.call, all,
                      object, facts.missing == facts.elements ? "any" : format_count(facts.missing),
                      first),
          "let the grid cover the whole array, (n + block - 1) / block blocks, or fill it first"};
}

}  // namespace tilescope::report
