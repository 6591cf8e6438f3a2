// The output of a command: pages of a report, printed or written as JSON, and notes.
#pragma once

#include <string>
#include <string_view>
#include <tilescope/inspection.hpp>

#include "cli/outputs.hpp"
#include "report/text/text_renderer.hpp"

namespace tilescope::cli {

/// Prints `page`, unless JSON goes to standard output, and writes the outputs that are wanted; each
/// file is complete or not there at all.
void show(const report::Page& page, const Outputs& outputs, const report::TextStyle& style = {});

/// Prints what `page` has by now, unless JSON goes to standard output, and drops it from the page.
void show_so_far(report::Page& page, const std::string& json_target);

/// After a failure of `command`: the error as JSON on standard output, unless a document is there
/// already.
void show_failure(std::string_view command, const std::string& message, int exit_code);

/// Writes --trace FILE, if it was given.
void write_trace(const Inspection& run, const Outputs& outputs);

/// Writes a file, complete or not at all.
void write(const std::string& path, const std::string& text);

/// Writes to standard output; throws Error(bad_input) if that fails (a full disk).
void print(const std::string& text);

/// Writes to standard error as it is.
void print_to_stderr(std::string_view text);

/// Writes a line to standard error.
void note(const std::string& line);

/// Warns on standard error if the kernel cache could not be written; the next run will recompile.
void tell_cache_failure();

}  // namespace tilescope::cli
