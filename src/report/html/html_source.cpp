// The source page: lines with counts, heat and remarks on the left, instructions on the right. The
// script adds the choice of counters, from the numbers in the page's data.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "report/html/html_blocks.hpp"
#include "report/json/json_renderer.hpp"
#include "report/svg/escape.hpp"

namespace tilescope::report {
namespace {

/// "global_load_sectors" as words.
std::string words_of(std::string counter) {
  std::replace(counter.begin(), counter.end(), '_', ' ');
  return counter;
}

double number_of(const Record& counts, std::string_view counter) {
  const Value* value = counts.find(counter);
  if (value == nullptr) return 0.0;
  const auto* number = std::get_if<std::uint64_t>(&value->data);
  return number == nullptr ? 0.0 : static_cast<double>(*number);
}

class SourceHtml {
 public:
  SourceHtml(const SourceView& view, std::size_t number) : view_(view), number_(number) {}

  std::string html() const {
    std::string html =
        fmt::format("<div class=\"source\" id=\"s{}\"><h3>{}</h3>\n", number_, escaped(view_.file));
    html +=
        "<div class=\"panes\"><div class=\"lines scroll\" role=\"group\" tabindex=\"0\" "
        "aria-label=\"Source with counts\"><table>";
    html += head() + "<tbody>";
    for (const SourceView::Line& line : view_.lines) html += row(line);
    html += "</tbody></table></div>\n" + code() + "</div>\n";
    return html + data() + "</div>\n";
  }

 private:
  std::string head() const {
    std::string html = "<thead><tr><th scope=\"col\">line</th>";
    for (const std::string& counter : view_.chosen) {
      html += fmt::format("<th scope=\"col\" class=\"n\" data-c=\"{}\">{}</th>", counter,
                          words_of(counter));
    }
    return html + "<th scope=\"col\" class=\"src\">source</th></tr></thead>\n";
  }

  std::string row(const SourceView::Line& line) const {
    const std::size_t columns = view_.chosen.size() + 2;
    if (line.number == 0) {
      return fmt::format("<tr class=\"gap\"><td colspan=\"{}\">...</td></tr>\n", columns);
    }
    std::string html =
        fmt::format("<tr id=\"s{}-{}\" data-l=\"{}\"", number_, line.number, line.number);
    if (!line.remarks.empty()) {
      html += fmt::format(" class=\"{}\"", line.remarks.front().severity);
    }
    if (!view_.heat.empty()) {
      const double all = number_of(view_.totals, view_.heat);
      const double share = number_of(line.counts, view_.heat) / std::max(all, 1.0);
      if (share >= 0.005) html += fmt::format(" style=\"--h:{:.2f}\"", share);
    }
    html += fmt::format("><th scope=\"row\">{}</th>", line.number);
    for (const std::string& counter : view_.chosen) {
      const double count = number_of(line.counts, counter);
      html += count > 0.0
                  ? fmt::format("<td class=\"n\">{}</td>",
                                text_of(static_cast<std::uint64_t>(count), counter, "short"))
                  : "<td></td>";
    }
    html += fmt::format("<td class=\"src\"><code>{}</code></td></tr>\n", escaped(line.source));
    for (const SourceView::Remark& remark : line.remarks) html += remark_row(remark, columns);
    return html;
  }

  static std::string remark_row(const SourceView::Remark& remark, std::size_t columns) {
    std::string html =
        fmt::format("<tr class=\"remark {0}\"><td colspan=\"{1}\"><div><b>{0}</b> <i>{2}</i> {3}",
                    remark.severity, columns, escaped(remark.kind), escaped(remark.message));
    if (!remark.cure.empty()) {
      html += fmt::format(" <span class=\"cure\">Cure: {}</span>", escaped(remark.cure));
    }
    if (remark.scene != 0) html += fmt::format(" <a href=\"#f{}\">Picture</a>", remark.scene);
    return html + "</div></td></tr>\n";
  }

  std::string code() const {
    if (view_.code.empty()) return {};
    std::string html =
        "<div class=\"code scroll\" role=\"group\" tabindex=\"0\" "
        "aria-label=\"Instructions (PTX)\"><h4>Instructions (PTX)</h4><pre>";
    for (const SourceView::Code& code : view_.code) {
      html += code.line == 0 ? fmt::format("<span>{}\n</span>", escaped(code.text))
                             : fmt::format("<a href=\"#s{0}-{1}\" data-l=\"{1}\">{2}\n</a>",
                                           number_, code.line, escaped(code.text));
    }
    return html + "</pre></div>";
  }

  /// {"counters": [...], "totals": [...], "lines": {"12": [...]}}: the numbers of a line are those
  /// of `counters`, zeros at the end left out.
  std::string data() const {
    if (view_.totals.fields().empty()) return {};
    nlohmann::json counters = nlohmann::json::array(), totals = nlohmann::json::array(),
                   lines = nlohmann::json::object();
    for (const Field& field : view_.totals.fields()) {
      counters.push_back(field.key);
      totals.push_back(number_of(view_.totals, field.key));
    }
    for (const SourceView::Line& line : view_.lines) {
      if (line.counts.fields().empty()) continue;
      std::vector<std::uint64_t> numbers;
      for (const Field& field : view_.totals.fields()) {
        numbers.push_back(static_cast<std::uint64_t>(number_of(line.counts, field.key)));
      }
      while (!numbers.empty() && numbers.back() == 0) numbers.pop_back();
      lines[std::to_string(line.number)] = numbers;
    }
    const nlohmann::json data{{"counters", counters},
                              {"totals", totals},
                              {"lines", lines},
                              {"chosen", view_.chosen},
                              {"heat", view_.heat}};
    return "<script type=\"application/json\">" + data.dump() + "</script>\n";
  }

  const SourceView& view_;
  std::size_t number_;
};

}  // namespace

std::string source_html(const SourceView& view, std::size_t number) {
  return SourceHtml(view, number).html();
}

}  // namespace tilescope::report
