#include "report/access_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/format.hpp"
#include "report/wrap.hpp"

namespace tilescope::report {
namespace {

using gpu::AccessAnswer;
using gpu::AccessPattern;
using gpu::AccessQuestion;
using gpu::IndexStride;

std::string line(std::string_view name, const std::string& value) {
  return fmt::format("  {:<16} {}\n", name, hang(value, 19, 61));
}

std::string head(const AccessQuestion& question, const AccessAnswer& answer) {
  std::string text;
  text += line("Index", answer.index);
  for (const auto& [name, meaning] : answer.definitions) {
    text += line(fmt::format("  {}", name), fmt::format("= {}", meaning));
  }
  for (const auto& [name, value] : answer.assumed) {
    text += line(fmt::format("  {}", name),
                 fmt::format("= {} (assumed; --let {}=...)", format_count(value), name));
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
  text += line("Stride", strides);
  const Dim3& b = question.launch.block;
  text += line("One warp", fmt::format("warp {} of a {} x {} x {} block, elements of {} B",
                                       question.warp, b.x, b.y, b.z, question.element_bytes));
  return text;
}

std::string verdict(const AccessAnswer& answer) {
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

std::string coalescing_text(const AccessQuestion& question, const AccessAnswer& answer) {
  std::string text = fmt::format("{}: {}\n", question.expression, verdict(answer));
  text += head(question, answer);
  const bool worst = answer.pattern == AccessPattern::data_dependent;
  text += line("Sectors", fmt::format("{}{} of 32 B in {} line{} of 128 B; the data fit in {}",
                                      worst ? "up to " : "", answer.sectors, answer.lines,
                                      answer.lines == 1 ? "" : "s", answer.ideal_sectors));
  text +=
      line("Wasted", fmt::format("{}{:.1f}%: {} B fetched, {} B wanted", worst ? "up to " : "",
                                 100.0 * answer.wasted_share, format_count(answer.fetched_bytes),
                                 format_count(answer.used_bytes)));
  if (answer.lines > 1 || worst) {
    const double by_line = 1.0 - double(answer.used_bytes) / (128.0 * answer.lines);
    text += line("In lines", fmt::format("{:.1f}% wasted on a GPU that fetches lines of 128 B",
                                         100.0 * by_line));
  }
  if (!answer.cure.empty()) text += line("Cure", answer.cure);
  return text;
}

std::string bank_access_text(const AccessQuestion& question, const AccessAnswer& answer) {
  if (answer.indices.empty()) {
    return fmt::format("{}: the index is data; conflicts cannot be known\n", question.expression) +
           head(question, answer);
  }
  const bool conflict = answer.wavefronts > answer.ideal_wavefronts;
  std::string text =
      fmt::format("{}: {}\n", question.expression,
                  conflict ? fmt::format("{}-way bank conflict", answer.ways) : "conflict-free");
  text += head(question, answer);
  text +=
      line("Wavefronts", fmt::format("{}, without conflicts {}; {} banks of 4 B", answer.wavefronts,
                                     answer.ideal_wavefronts, question.shared_banks));
  if (!answer.bank_cure.empty()) text += line("Cure", answer.bank_cure);
  return text;
}

Steps access_steps(const AccessQuestion& question, const AccessAnswer& answer, bool shared) {
  Steps steps;
  steps.add("The index, multiplied out", answer.index);
  for (const IndexStride& stride : answer.strides) {
    if (!stride.linear) {
      steps.add(stride.variable, "does not occur as a plain factor: no single stride");
    } else {
      steps.add(fmt::format("Factor of {}", stride.variable),
                stride.value
                    ? fmt::format("{} = {} elements", stride.text, format_count(*stride.value))
                    : stride.text);
    }
  }
  if (answer.indices.empty()) return steps;
  std::string lanes;
  for (std::size_t lane = 0; lane < std::min<std::size_t>(answer.indices.size(), 6); ++lane) {
    lanes += fmt::format("{}{}", lane == 0 ? "" : ", ", answer.indices[lane]);
  }
  steps.add("Indices of the lanes",
            fmt::format("{}{} {}", lanes, answer.indices.size() > 6 ? ", ...," : ",",
                        answer.indices.back()));
  if (shared) {
    steps.add("Banks", fmt::format("word = index x {} B / 4, bank = word mod {}; the busiest bank "
                                   "has {} different words",
                                   question.element_bytes, question.shared_banks, answer.ways));
    return steps;
  }
  steps.add("Addresses", fmt::format("index x {} B; sector = address / 32: {} different ones",
                                     question.element_bytes, answer.sectors));
  steps.add("Fetched", fmt::format("{} sectors x 32 B = {} B", answer.sectors,
                                   format_count(answer.fetched_bytes)));
  steps.add("Wanted", fmt::format("{} B, which fit in {} sectors", format_count(answer.used_bytes),
                                  answer.ideal_sectors));
  steps.add("Wasted", fmt::format("1 - {} / {} = {:.1f}%", format_count(answer.used_bytes),
                                  format_count(answer.fetched_bytes), 100.0 * answer.wasted_share));
  return steps;
}

nlohmann::json access_json(const AccessQuestion& question, const AccessAnswer& answer) {
  nlohmann::json strides = nlohmann::json::array(), assumed = nlohmann::json::object(),
                 definitions = nlohmann::json::object();
  for (const IndexStride& stride : answer.strides) {
    strides.push_back(
        {{"variable", stride.variable},
         {"linear", stride.linear},
         {"stride", stride.text},
         {"stride_elements", stride.value ? nlohmann::json(*stride.value) : nlohmann::json()}});
  }
  for (const auto& [name, value] : answer.assumed) assumed[name] = value;
  for (const auto& [name, meaning] : answer.definitions) definitions[name] = meaning;
  return {{"expression", question.expression},
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
          {"bank_cure", answer.bank_cure}};
}

}  // namespace tilescope::report
