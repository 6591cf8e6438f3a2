#include "report/source_figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/symbol_names.hpp"
#include "report/counts_report.hpp"

namespace tilescope::report {
namespace {

/// A file with more lines is cut to what surrounds its counted lines.
constexpr std::uint32_t longest_file = 400;
constexpr std::uint32_t surroundings = 8;
constexpr std::size_t most_instructions = 1200;

/// The counters that are not zero.
Record filled(const Counts& counts) {
  Record record;
  for (const NamedCount& count : named_counts()) {
    const std::uint64_t number = count.of(counts);
    const bool adds_up = !count.name.ends_with("_ways");  // a share of a maximum says nothing
    if (number != 0 && adds_up) record.set(std::string(count.name), number);
  }
  return record;
}

/// The counters to begin with: at most five of those that show what a line costs.
std::vector<std::string> first_columns(const Record& totals, const std::string& heat) {
  constexpr std::size_t most = 5;
  std::vector<std::string> columns{"instructions"};
  if (heat != "instructions") columns.push_back(heat);
  for (const char* name :
       {"shared_load_conflicts", "shared_store_conflicts", "global_load_sectors",
        "global_store_sectors", "divergent_branches", "shared_load_wavefronts",
        "global_atomic_sectors", "global_reduction_sectors", "tensor_instructions",
        "texture_sectors", "surface_sectors", "dshared_load_sectors", "dshared_store_sectors",
        "dshared_atomic_sectors"}) {
    if (columns.size() == most) break;
    if (name != heat && totals.find(name) != nullptr) columns.emplace_back(name);
  }
  return columns;
}

class ViewOfFile {
 public:
  ViewOfFile(std::string file, const SourceFacts& facts, SourceTexts& sources)
      : facts_(facts), sources_(sources) {
    view_.file = std::move(file);
    if (facts.counts == nullptr) return;
    view_.totals = filled(facts.counts->totals);
    if (view_.totals.find("instructions") == nullptr) return;
    view_.heat = view_.totals.find(facts.heat) == nullptr ? "instructions" : facts.heat;
    view_.chosen = first_columns(view_.totals, view_.heat);
    for (const LineCounts& line : facts.counts->lines) {
      if (line.place.file == view_.file) counts_[line.place.line] = filled(line.counts);
    }
  }

  /// `kernels`: those whose instructions stand beside this file.
  SourceView view(const std::vector<const KernelCode*>& kernels) {
    std::set<std::uint32_t> told;  // lines to show
    for (const auto& [line, counts] : counts_) told.insert(line);
    for (const auto& [place, remarks] : facts_.remarks) {
      if (place.file == view_.file) told.insert(place.line);
    }
    const std::uint32_t all = sources_.line_count(view_.file);
    std::uint32_t next = 1;
    for (const std::uint32_t line : told) {
      if (all > longest_file) {
        const std::uint32_t from = line > surroundings ? line - surroundings : 1;
        if (from > next) view_.lines.emplace_back();
        next = std::max(next, from);
      }
      const std::uint32_t last = std::max(line, all > longest_file ? line + surroundings : all);
      for (; next <= std::min(last, std::max(all, line)); ++next) add_line(next);
    }
    add_code(kernels);
    if (view_.file.empty()) view_.file = "the PTX itself, which has no line table";
    return std::move(view_);
  }

 private:
  void add_line(std::uint32_t number) {
    SourceView::Line& line = view_.lines.emplace_back();
    line.number = number;
    line.source = sources_.line(view_.file, number);
    if (const auto found = counts_.find(number); found != counts_.end()) {
      line.counts = found->second;
    }
    const auto found = facts_.remarks.find({view_.file, number});
    if (found != facts_.remarks.end()) line.remarks = found->second;
  }

  void add_code(const std::vector<const KernelCode*>& kernels) {
    std::size_t shown = 0, all = 0;
    for (const KernelCode* kernel : kernels) {
      all += kernel->lines.size();
      if (kernels.size() > 1) view_.code.push_back({0, "// " + function_name(kernel->kernel)});
      for (const observe::CodeLine& code : kernel->lines) {
        if (++shown > most_instructions) break;
        const std::uint32_t line = code.place.file == view_.file ? code.place.line : 0;
        if (view_.code.empty() || view_.code.back().line != line) {
          view_.code.push_back({line, code.text});
        } else {
          view_.code.back().text += '\n' + code.text;
        }
      }
    }
    if (all <= most_instructions) return;
    view_.code.push_back({0, fmt::format("... {} more instructions", all - most_instructions)});
  }

  const SourceFacts& facts_;
  SourceTexts& sources_;
  SourceView view_;
  std::map<std::uint32_t, Record> counts_;
};

bool has_code_in(const KernelCode& kernel, const std::string& file) {
  return std::ranges::any_of(
      kernel.lines, [&](const observe::CodeLine& code) { return code.place.file == file; });
}

}  // namespace

void add_source_figures(Page& page, const SourceFacts& facts, SourceTexts& sources) {
  // Kernels before the headers they use.
  const auto by_kind = [](const std::string& a, const std::string& b) {
    const bool header_a = is_header(a), header_b = is_header(b);
    return header_a != header_b ? header_b : a < b;
  };
  std::set<std::string, decltype(by_kind)> files(by_kind);
  if (facts.counts != nullptr) {
    for (const LineCounts& line : facts.counts->lines) files.insert(line.place.file);
  }
  for (const auto& [place, remarks] : facts.remarks) {
    if (place.line != 0) files.insert(place.file);
  }
  std::set<const KernelCode*> placed;
  for (const std::string& file : files) {
    std::vector<const KernelCode*> kernels;
    for (const KernelCode& kernel : facts.code) {
      if (file.empty()) {  // the instructions are the source
        for (const observe::CodeLine& code : kernel.lines)
          sources.add_line(file, code.ptx_line, code.text);
      } else if (has_code_in(kernel, file) && placed.insert(&kernel).second) {
        kernels.push_back(&kernel);
      }
    }
    page.figures.emplace_back(ViewOfFile(file, facts, sources).view(kernels));
  }
}

}  // namespace tilescope::report
