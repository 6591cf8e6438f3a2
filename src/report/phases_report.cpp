#include "report/phases_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/errors.hpp"

namespace tilescope::report {
namespace {

using observe::Phase;
using observe::PhaseTable;
using observe::PhaseTrace;
using observe::TracedElement;

const PhaseTable& table_of(const PhaseTrace& trace) {
  if (trace.threads() > PhaseTrace::kMostThreads) {
    throw usage_error(
        "--phases: a block of {} threads makes no table to read; take one of at most {}, such as "
        "--tile 2",
        trace.threads(), PhaseTrace::kMostThreads);
  }
  if (trace.result().phases.empty()) {
    throw usage_error(
        "--phases: block 0 moves nothing into shared memory and multiplies no loaded elements");
  }
  return trace.result();
}

class Names {
 public:
  explicit Names(const PhaseTable& table) : table_(table) {}

  /// "A[0,2]" if the length of a row is known, else "A[2]".
  std::string element(const TracedElement& e) const {
    const std::string object = e.object.empty() ? "?" : e.object;
    const auto row = table_.row_bytes.find(e.object);
    if (row == table_.row_bytes.end()) return fmt::format("{}[{}]", object, e.offset / e.bytes);
    return fmt::format("{}[{},{}]", object, e.offset / row->second,
                       e.offset % row->second / e.bytes);
  }
  /// threadIdx.y,threadIdx.x, in the order of documents: the row first.
  std::string thread(std::uint32_t linear) const {
    const std::uint32_t x = std::max(table_.block.x, 1U), y = std::max(table_.block.y, 1U);
    if (table_.block.z > 1) {
      return fmt::format("({},{},{})", linear / x / y, linear / x % y, linear % x);
    }
    return table_.block.y > 1 ? fmt::format("({},{})", linear / x, linear % x)
                              : fmt::format("({})", linear);
  }
  /// The target of a thread's sum, if it stores one element.
  std::string sum(std::uint32_t thread) const {
    std::string name;
    for (const observe::TracedResult& result : table_.results) {
      if (result.thread != thread) continue;
      const std::string stored = element(result.to);
      if (!name.empty() && name != stored) return "sum";
      name = stored;
    }
    return name.empty() ? "sum" : name;
  }

 private:
  const PhaseTable& table_;
};

std::map<std::uint32_t, std::string> moves_by_thread(const Phase& phase, const Names& names) {
  std::map<std::uint32_t, std::string> texts;
  for (const observe::TracedMove& move : phase.moves) {
    std::string& text = texts[move.thread];
    text += fmt::format("{}{} -> {}", text.empty() ? "" : ", ", names.element(move.from),
                        names.element(move.to));
  }
  return texts;
}

std::map<std::uint32_t, std::string> products_by_thread(const Phase& phase, const Names& names) {
  std::map<std::uint32_t, std::string> texts;
  for (const observe::TracedProduct& p : phase.products) {
    std::string& text = texts[p.thread];
    text += text.empty() ? names.sum(p.thread) + " += " : " + ";
    text += names.element(p.left) + "*" + names.element(p.right);
  }
  return texts;
}

Table phase_table(const char* heading, const std::map<std::uint32_t, std::string>& texts,
                  const Names& names) {
  Table table{.columns = {{"thread", left, 7, "{thread}"}, {heading, left, 0, "{what}", 70}},
              .rows = {},
              .indent = 2,
              .has_head = !texts.empty()};
  for (const auto& [thread, what] : texts) {
    table.rows.push_back({{"thread", names.thread(thread)}, {"what", what}});
  }
  return table;
}

Record phase_record(const Phase& phase, const Names& names) {
  List loads, products;
  for (const observe::TracedMove& move : phase.moves) {
    loads.push_back(Record{{"thread", move.thread},
                           {"from", names.element(move.from)},
                           {"to", names.element(move.to)}});
  }
  for (const observe::TracedProduct& p : phase.products) {
    products.push_back(Record{{"thread", p.thread},
                              {"sum", names.sum(p.thread)},
                              {"left", names.element(p.left)},
                              {"right", names.element(p.right)}});
  }
  return {{"loads", std::move(loads)}, {"products", std::move(products)}};
}

}  // namespace

void add_phases(Page& page, std::string_view title, const PhaseTrace& trace,
                std::size_t most_phases) {
  const PhaseTable& table = table_of(trace);
  const Names names(table);
  List& list = page.data.list("phases");
  for (const Phase& phase : table.phases) list.push_back(phase_record(phase, names));
  page.add(Text{fmt::format("{}block (0,0): {} phase{}; threads as {}", title, table.phases.size(),
                            table.phases.size() == 1 ? "" : "s",
                            table.block.z > 1   ? "(z,y,x)"
                            : table.block.y > 1 ? "(y,x): row, column"
                                                : "(x)")});
  for (std::size_t i = 0; i < std::min(table.phases.size(), most_phases); ++i) {
    page.gap();
    page.add(Text{fmt::format("phase {}", i)});
    page.add(phase_table("loads", moves_by_thread(table.phases[i], names), names));
    page.add(phase_table("computes", products_by_thread(table.phases[i], names), names));
  }
  if (table.phases.size() <= most_phases) return;
  page.gap();
  page.add(Text{
      fmt::format("... and {} phases more (--json has all)", table.phases.size() - most_phases)});
}

}  // namespace tilescope::report
