#include "report/access_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.hpp"

namespace tilescope::report {
namespace {

using gpu::AccessAnswer;
using gpu::AccessPattern;
using gpu::AccessQuestion;
using gpu::IndexStride;

Record access_record(const AccessQuestion& question, const AccessAnswer& answer) {
  List strides;
  for (const IndexStride& stride : answer.strides) {
    strides.push_back(Record{{"variable", stride.variable},
                             {"linear", stride.linear},
                             {"stride", stride.text},
                             {"stride_elements", stride.value}});
  }
  Record assumed, definitions;
  for (const auto& [name, value] : answer.assumed) assumed.set(name, value);
  for (const auto& [name, meaning] : answer.definitions) definitions.set(name, meaning);
  const Dim3& b = question.launch.block;
  return Record{{"expression", question.expression},
                {"element_bytes", question.element_bytes},
                {"index", answer.index},
                {"definitions", std::move(definitions)},
                {"assumed", std::move(assumed)},
                {"strides", std::move(strides)},
                {"pattern", name_of(answer.pattern)},
                {"coalesced", answer.coalesced},
                {"lanes", answer.lanes},
                {"lane_indices", answer.indices},
                {"sectors", answer.sectors},
                {"ideal_sectors", answer.ideal_sectors},
                {"lines", answer.lines},
                {"fetched_bytes", answer.fetched_bytes},
                {"used_bytes", answer.used_bytes},
                {"wasted_share", answer.wasted_share},
                {"cure", answer.cure},
                {"shared_wavefronts", answer.wavefronts},
                {"shared_ideal_wavefronts", answer.ideal_wavefronts},
                {"shared_ways", answer.ways},
                {"bank_cure", answer.bank_cure}}
      .let("warp", question.warp)
      .let("block", fmt::format("{} x {} x {}", b.x, b.y, b.z))
      .let("up_to", answer.pattern == AccessPattern::data_dependent ? "up to " : "")
      .let("banks", question.shared_banks);
}

void add_head(Page& page, const AccessAnswer& answer) {
  page.facts(16);
  page.fact("Index", "{index}");
  for (const auto& [name, meaning] : answer.definitions) {
    page.fact("  " + name, "= {meaning}", {{"meaning", meaning}});
  }
  for (const auto& [name, value] : answer.assumed) {
    page.fact("  " + name, "= {value} (assumed; --let {name}=...)",
              {{"name", name}, {"value", value}});
  }
  std::string strides;
  for (const IndexStride& stride : answer.strides) {
    if (stride.linear && stride.text == "0" && stride.variable != "threadIdx.x") continue;
    if (!strides.empty()) strides += "; ";
    strides += fmt::format("{}: {}", stride.variable, stride.text);
    if (stride.value && fmt::format("{}", *stride.value) != stride.text) {
      strides += fmt::format(" = {}", format_count(*stride.value));
    }
  }
  page.fact("Stride", "{strides}", {{"strides", strides}});
  page.fact("One warp", "warp {warp} of a {block} block, elements of {element_bytes:count} B");
}

void add_index_steps(Page& page, const AccessAnswer& answer) {
  page.step("The index, multiplied out", "{index}");
  for (const IndexStride& stride : answer.strides) {
    const Record record{{"factor", stride.text}, {"value", stride.value}};
    if (!stride.linear) {
      page.step(stride.variable, "does not occur as a plain factor: no single stride");
    } else {
      page.step("Factor of " + stride.variable,
                stride.value ? "{factor} = {value} elements" : "{factor}", record);
    }
  }
  if (answer.indices.empty()) return;
  const std::size_t first = std::min<std::size_t>(answer.indices.size(), 6);
  page.data.let("first_indices",
                fmt::format("{}{} {}",
                            fmt::join(answer.indices.begin(),
                                      answer.indices.begin() + std::ptrdiff_t(first), ", "),
                            answer.indices.size() > first ? ", ...," : ",", answer.indices.back()));
  page.step("Indices of the lanes", "{first_indices}");
}

/// The lanes of the warp in a figure.
WarpAccess lanes_figure(const AccessQuestion& question, const AccessAnswer& answer,
                        bool is_shared) {
  WarpAccess access{
      .place = question.expression,
      .source = answer.index,
      .what = fmt::format("elements of {} bytes, warp {}", question.element_bytes, question.warp),
      .shared = is_shared,
      .width = static_cast<std::uint32_t>(question.element_bytes),
      .cure = is_shared ? answer.bank_cure : answer.cure};
  const int cost = is_shared ? answer.wavefronts : answer.sectors;
  const int ideal = is_shared ? answer.ideal_wavefronts : answer.ideal_sectors;
  WarpAccess::Frame& frame = access.frames.emplace_back();
  frame.caption = fmt::format("{} {}, ideal {}", cost, is_shared ? "turns" : "sectors", ideal);
  frame.cost = static_cast<std::uint32_t>(cost);
  frame.ideal = static_cast<std::uint32_t>(ideal);
  for (std::size_t lane = 0; lane < std::min(answer.indices.size(), frame.bytes.size()); ++lane) {
    frame.mask |= 1U << lane;
    frame.bytes[lane] = answer.indices[lane] * question.element_bytes;
  }
  return access;
}

const char* verdict(const AccessAnswer& answer) {
  switch (answer.pattern) {
    case AccessPattern::uniform:
      return "one address for the whole warp: a broadcast, one sector";
    case AccessPattern::data_dependent:
      return "NOT coalesced in general: the index is data";
    default:
      return answer.coalesced ? "coalesced" : "NOT coalesced";
  }
}

}  // namespace

Page coalescing_page(const AccessQuestion& question, const AccessAnswer& answer) {
  Page page("coalesce");
  page.data = access_record(question, answer);
  if (!answer.indices.empty()) page.figures.emplace_back(lanes_figure(question, answer, false));
  page.say(std::string("{expression}: ") + verdict(answer));
  add_head(page, answer);
  page.fact("Sectors",
            "{up_to}{sectors} of 32 B in {lines} line{lines:s} of 128 B; the data fit in "
            "{ideal_sectors}");
  page.fact("Wasted",
            "{up_to}{wasted_share}: {fetched_bytes:count} B fetched, {used_bytes:count} B wanted");
  if (answer.lines > 1 || answer.pattern == AccessPattern::data_dependent) {
    page.data.let("by_line", 1.0 - double(answer.used_bytes) / (128.0 * answer.lines));
    page.fact("In lines", "{by_line:percent} wasted on a GPU that fetches lines of 128 B");
  }
  if (!answer.cure.empty()) page.fact("Cure", "{cure}");
  add_index_steps(page, answer);
  if (answer.indices.empty()) return page;
  page.step("Addresses",
            "index x {element_bytes:count} B; sector = address / 32: {sectors} different ones");
  page.step("Fetched", "{sectors} sectors x 32 B = {fetched_bytes:count} B");
  page.step("Wanted", "{used_bytes:count} B, which fit in {ideal_sectors} sectors");
  page.step("Wasted", "1 - {used_bytes:count} / {fetched_bytes:count} = {wasted_share}");
  return page;
}

Page bank_access_page(const AccessQuestion& question, const AccessAnswer& answer) {
  Page page("banks");
  page.data = access_record(question, answer);
  const bool is_known = !answer.indices.empty();
  if (is_known && question.shared_banks == 32) {
    page.figures.emplace_back(lanes_figure(question, answer, true));
  }
  page.say(!is_known ? "{expression}: the index is data; conflicts cannot be known"
           : answer.wavefronts > answer.ideal_wavefronts
               ? "{expression}: {shared_ways}-way bank conflict"
               : "{expression}: conflict-free");
  add_head(page, answer);
  add_index_steps(page, answer);
  if (!is_known) return page;
  page.fact("Wavefronts",
            "{shared_wavefronts}, without conflicts {shared_ideal_wavefronts}; {banks} banks of 4 "
            "B");
  if (!answer.bank_cure.empty()) page.fact("Cure", "{bank_cure}");
  page.step("Banks",
            "word = index x {element_bytes:count} B / 4, bank = word mod {banks}; the busiest bank "
            "has {shared_ways} different words");
  return page;
}

}  // namespace tilescope::report
