#include "report/advice_rules.hpp"

#include <fmt/format.h>

namespace tilescope::report {

using emulator::AccessKind;

std::string_view access_verb(AccessKind kind) {
  switch (kind) {
    case AccessKind::load:
    case AccessKind::async_load:
    case AccessKind::matrix_load:
      return "load";
    case AccessKind::atomic:
    case AccessKind::reduction:
      return "atomic";
    default:
      return "store";
  }
}

WrittenAccess written(const AdviceInput& input, const AccessGroup& group) {
  return written_access(input.sources.line(group.place.file, group.place.line),
                        group.sample->object, access_verb(group.sample->kind) == "store",
                        input.objects);
}

std::string access_name(const AdviceInput& input, const AccessGroup& group) {
  const observe::LaneSample& sample = *group.sample;
  const std::string source = written(input, group).text;
  const std::string& what = source.empty() ? sample.object : source;
  return fmt::format(
      "The {}{}{}", access_verb(sample.kind), access_verb(sample.kind) == "atomic" ? " on" : " of",
      what.empty() ? fmt::format(" {} memory", to_string(sample.space)) : fmt::format(" {}", what));
}

}  // namespace tilescope::report

namespace tilescope {

std::string_view to_string(AdviceKind kind) {
  switch (kind) {
    case AdviceKind::uncoalesced:
      return "uncoalesced";
    case AdviceKind::split_rows:
      return "split-rows";
    case AdviceKind::misaligned:
      return "misaligned";
    case AdviceKind::narrow:
      return "narrow";
    case AdviceKind::contended_atomic:
      return "contended-atomic";
    case AdviceKind::bank_conflict:
      return "bank-conflict";
    case AdviceKind::local_memory:
      return "local-memory";
    case AdviceKind::divergence:
      return "divergence";
    case AdviceKind::partial_warps:
      return "partial-warps";
    case AdviceKind::shallow_pipeline:
      break;
  }
  return "shallow-pipeline";
}

}  // namespace tilescope
