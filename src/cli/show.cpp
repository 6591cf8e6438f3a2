#include "cli/show.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <tilescope/error.hpp>

#include "base/errors.hpp"
#include "base/output_file.hpp"
#include "compile/cache.hpp"
#include "report/formats/chrome_trace.hpp"
#include "report/formats/tool_formats.hpp"
#include "report/html/html_renderer.hpp"
#include "report/json/json_renderer.hpp"

namespace tilescope::cli {
namespace {

bool document_is_printed = false;  // on standard output

std::string_view kind_of(int exit_code) {
  switch (exit_code) {
    case static_cast<int>(ErrorKind::wrong_result):
      return "wrong_result";
    case static_cast<int>(ErrorKind::usage):
      return "usage";
    case static_cast<int>(ErrorKind::no_device):
      return "no_device";
    case static_cast<int>(ErrorKind::bad_input):
      return "bad_input";
    default:
      return "interrupted";
  }
}

}  // namespace

void write_trace(const Inspection& run, const Outputs& outputs) {
  if (!outputs.trace.empty()) write(outputs.trace, report::render_trace(run));
}

void show(const report::Page& page, const Outputs& outputs, const report::TextStyle& style) {
  if (outputs.format != "text") {
    print(report::render_format(outputs.format, page.outcome, {page.command, TILESCOPE_VERSION}));
  } else if (outputs.json != "-") {
    print(report::render_text(page, style));
  }
  if (!outputs.html.empty()) write(outputs.html, report::render_html(page));
  if (outputs.json.empty()) return;
  const std::string json = report::render_json(page);
  if (outputs.json != "-") return write(outputs.json, json);
  document_is_printed = true;
  print(json);
}

void show_failure(std::string_view command, const std::string& message, int exit_code) {
  if (document_is_printed) return;
  report::Page page(command);
  page.data = {{"error", report::Record{{"kind", kind_of(exit_code)}, {"message", message}}},
               {"exit_code", exit_code}};
  show(page, {"-"});
}

void show_so_far(report::Page& page, const std::string& json_target) {
  if (json_target != "-") print(report::render_text(page));
  page.blocks.clear();
}

void write(const std::string& path, const std::string& text) {
  OutputFile file(path);
  file.append(text);
  file.commit();
}

void print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw input_error("cannot write to standard output: {}", std::strerror(errno));
  }
}

void print_to_stderr(std::string_view text) {
  // If it cannot be written, only the exit code can report that.
  [[maybe_unused]] const std::size_t written = std::fwrite(text.data(), 1, text.size(), stderr);
}

void note(const std::string& line) {
  print_to_stderr(line + '\n');
}

void tell_cache_failure() {
  const std::string failure = compile::Cache::store_failure();
  if (!failure.empty()) note("tilescope: note: " + failure);
}

}  // namespace tilescope::cli
