#include <tilescope/report.hpp>

#include "report/budget_report.hpp"
#include "report/explain_report.hpp"
#include "report/findings_report.hpp"
#include "report/formats/tool_formats.hpp"
#include "report/html/html_renderer.hpp"
#include "report/json/json_renderer.hpp"
#include "report/text/text_renderer.hpp"

namespace tilescope {
namespace {

std::string rendered(const report::Page& page, ReportFormat format) {
  switch (format) {
    case ReportFormat::text:
      return report::render_text(page);
    case ReportFormat::json:
      return report::render_json(page);
    case ReportFormat::html:
      return report::render_html(page);
    case ReportFormat::gcc:
      return report::render_format("gcc", page.outcome, {page.command, TILESCOPE_VERSION});
    case ReportFormat::github:
      return report::render_format("github", page.outcome, {page.command, TILESCOPE_VERSION});
    case ReportFormat::sarif:
      return report::render_format("sarif", page.outcome, {page.command, TILESCOPE_VERSION});
    case ReportFormat::junit:
      return report::render_format("junit", page.outcome, {page.command, TILESCOPE_VERSION});
  }
  return {};
}

Report finished(report::Page page, const Inspection& result, const ReportOptions& options) {
  report::Budget({options.assertions, options.baseline, options.tolerances}).judge(page);
  return {rendered(page, options.format), result.complete() && page.outcome.passes()};
}

}  // namespace

Report make_report(const CheckResult& result, const ReportOptions& options) {
  return finished(report::check_page(result, {.file = options.file,
                                              .allow_warnings = options.allow_warnings,
                                              .pictures = options.format == ReportFormat::html}),
                  result, options);
}

Report make_report(const ExplainResult& result, const ReportOptions& options) {
  return finished(report::explain_page(result, {.file = options.file,
                                                .pictures = options.format == ReportFormat::html}),
                  result, options);
}

}  // namespace tilescope
