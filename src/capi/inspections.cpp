#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstring>
#include <functional>
#include <optional>
#include <string_view>
#include <tilescope/check.hpp>
#include <tilescope/explain.hpp>
#include <tilescope/run.hpp>
#include <vector>

#include "base/errors.hpp"
#include "base/text.hpp"
#include "capi/handles.hpp"
#include "capi/status.hpp"
#include "inspect/program/launch_selection.hpp"
#include "report/explain_report.hpp"
#include "report/findings_report.hpp"
#include "report/html/html_renderer.hpp"
#include "report/json/json_renderer.hpp"
#include "report/program_report.hpp"
#include "report/run_report.hpp"
#include "report/text/text_renderer.hpp"

using namespace tilescope;
using namespace tilescope::capi;

struct tilescope_inspection {
  Target target;
  LaunchDescription launch = {};
  InspectOptions options = {};
  std::atomic<bool> cancel = false;
  struct Result {
    std::size_t array = 0;  ///< its number among the launch's arrays
    void* data = nullptr;
  };
  std::vector<Result> results = {};
};

struct tilescope_document {
  std::string json, text, html, printed;
  int exit_code = 0;
};

namespace {

std::uint64_t whole_number(std::string_view option, std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw usage_error("{}: expected a whole number, got \"{}\"", option, printable(text, 60));
  }
  return number;
}

/// The target as one that has the option; usage for others.
template <typename Kind>
Kind& target_with(tilescope_inspection& inspection, std::string_view option, const char* kinds) {
  if (auto* target = std::get_if<Kind>(&inspection.target)) return *target;
  throw usage_error("{} is an option of {}", option, kinds);
}

using Setter = void (*)(tilescope_inspection&, std::string_view option, const std::string& value);

struct InspectionOption {
  std::string_view name;
  Setter set;
};

void add_define(tilescope_inspection& i, std::string_view, const std::string& value) {
  if (auto* program = std::get_if<Program>(&i.target)) {
    program->compiler_options.push_back("-D" + value);
  } else {
    i.launch.defines.push_back(parse_define(value));
  }
}

void add_include(tilescope_inspection& i, std::string_view, const std::string& value) {
  if (auto* program = std::get_if<Program>(&i.target)) {
    program->compiler_options.push_back("-I" + value);
  } else {
    i.launch.include_directories.push_back(value);
  }
}

using Handle = tilescope_inspection;
using Name = std::string_view;
using Text = const std::string;

constexpr InspectionOption inspection_options[] = {
    {"kernel", [](Handle& i, Name, Text& value) { i.launch.kernel = value; }},
    {"grid", [](Handle& i, Name name, Text& value) { i.launch.grid = parse_extents(value, name); }},
    {"block",
     [](Handle& i, Name name, Text& value) { i.launch.block = parse_extents(value, name); }},
    {"cluster",
     [](Handle& i, Name name, Text& value) { i.launch.cluster = parse_extents(value, name); }},
    {"shared",
     [](Handle& i, Name name, Text& value) { i.launch.shared_bytes = whole_number(name, value); }},
    {"cooperative", [](Handle& i, Name name,
                       Text& value) { i.launch.cooperative = whole_number(name, value) != 0; }},
    {"define", add_define},
    {"include", add_include},
    {"constant",
     [](Handle& i, Name, Text& value) { i.launch.constants.push_back(parse_constant(value)); }},
    {"guessed", [](Handle& i, Name, Text& value) { i.launch.guessed.push_back(value); }},
    {"launch-file", [](Handle& i, Name, Text& value) { i.launch = read_launch_file(value); }},
    {"program-argument",
     [](Handle& i, Name name, Text& value) {
       target_with<Program>(i, name, "programs").arguments.push_back(value);
     }},
    {"compiler-option",
     [](Handle& i, Name name, Text& value) {
       target_with<Program>(i, name, "programs").compiler_options.push_back(value);
     }},
    {"device", [](Handle& i, Name, Text& value) { i.options.device = value; }},
    {"max-instructions",
     [](Handle& i, Name name, Text& value) {
       i.options.max_instructions = whole_number(name, value);
     }},
    {"schedules",
     [](Handle& i, Name name, Text& value) { i.options.schedules = whole_number(name, value); }},
    {"schedule",
     [](Handle& i, Name name, Text& value) { i.options.schedule = whole_number(name, value); }},
    {"max-findings",
     [](Handle& i, Name name, Text& value) { i.options.max_findings = whole_number(name, value); }},
    {"launches",
     [](Handle& i, Name name, Text& value) {
       target_with<Program>(i, name, "programs");
       i.options.launches = parse_launch_ranges(value);
     }},
    {"blocks", [](Handle& i, Name, Text& value) { i.options.blocks = parse_block_sample(value); }},
    {"resume",
     [](Handle& i, Name name, Text& value) {
       target_with<Program>(i, name, "programs");
       i.options.resume = value;
     }},
    {"size",
     [](Handle& i, Name name, Text& value) {
       target_with<LadderRung>(i, name, "rungs").problem.size =
           static_cast<std::int64_t>(whole_number(name, value));
     }},
    {"tile",
     [](Handle& i, Name name, Text& value) {
       target_with<LadderRung>(i, name, "rungs").tile = static_cast<int>(whole_number(name, value));
     }},
};

void set_option(tilescope_inspection& inspection, const std::string& name,
                const std::string& value) {
  std::vector<std::string_view> names;
  for (const InspectionOption& option : inspection_options) {
    if (option.name == name) return option.set(inspection, name, value);
    names.push_back(option.name);
  }
  const std::string_view near = nearest(name, names);
  throw usage_error("unknown option \"{}\"{}", printable(name, 60),
                    near.empty() ? "" : fmt::format(", did you mean {}?", near));
}

Target target_of(tilescope_target kind, const char* target, const char* name) {
  const std::string text = target;
  switch (kind) {
    case TILESCOPE_CUDA_TEXT:
      return SourceText{.text = text, .name = name ? name : "kernel.cu"};
    case TILESCOPE_PTX_TEXT:
      return SourceText{
          .text = text, .name = name ? name : "kernel.ptx", .language = SourceLanguage::ptx};
    case TILESCOPE_FILE:
      return SourceFile{text};
    case TILESCOPE_RUNG:
      return LadderRung{.name = text};
    case TILESCOPE_PROGRAM:
      return Program{.files = {text}};
  }
  throw usage_error("the kind of the target is {}: expected a value of tilescope_target",
                    static_cast<int>(kind));
}

std::size_t arrays_in(const std::vector<LaunchArgument>& arguments) {
  std::size_t count = 0;
  for (const LaunchArgument& argument : arguments) {
    if (argument.initial == Initial::memory) continue;
    count += argument.is_array ? 1 : arrays_in(argument.members);
  }
  return count;
}

InspectOptions options_of(tilescope_inspection& inspection) {
  InspectOptions options = inspection.options;
  inspection.cancel = false;
  options.cancel = &inspection.cancel;
  return options;
}

tilescope_document* document_of(const report::Page& page, const Inspection& inspection,
                                bool is_good) {
  const int exit_code = inspection.program && inspection.program->signal != 0
                            ? inspection.program->exit_code
                            : !is_good;
  return new tilescope_document{.json = report::render_json(page),
                                .text = report::render_text(page),
                                .html = report::render_html(page),
                                .printed = inspection.printed,
                                .exit_code = exit_code};
}

// The place of a finding's file, for pages that link it.
std::string file_of(const tilescope_inspection& inspection) {
  const auto* file = std::get_if<SourceFile>(&inspection.target);
  return file ? file->path : "";
}

void write_back(const tilescope_inspection& inspection, const RunResult& result) {
  const std::size_t shared = inspection.launch.arrays.size();
  for (const tilescope_inspection::Result& wanted : inspection.results) {
    const std::vector<std::byte>& bytes = result.arrays.at(shared + wanted.array).bytes;
    if (!bytes.empty()) std::memcpy(wanted.data, bytes.data(), bytes.size());
  }
}

}  // namespace

extern "C" {

tilescope_status tilescope_inspection_create(tilescope_target kind, const char* target,
                                             const char* name, tilescope_inspection** inspection) {
  return guarded([&] {
    require(target, "target");
    require(inspection, "inspection");
    *inspection = new tilescope_inspection{.target = target_of(kind, target, name)};
  });
}

void tilescope_inspection_destroy(tilescope_inspection* inspection) {
  delete inspection;
}

tilescope_status tilescope_inspection_set(tilescope_inspection* inspection, const char* option,
                                          const char* value) {
  return guarded([&] {
    require(inspection, "inspection");
    require(option, "option");
    require(value, "value");
    set_option(*inspection, option, value);
  });
}

tilescope_status tilescope_inspection_add_argument(tilescope_inspection* inspection,
                                                   const char* text) {
  return guarded([&] {
    require(inspection, "inspection");
    require(text, "text");
    const bool may_be_shared = !inspection->launch.arrays.empty();
    inspection->launch.arguments.push_back(parse_argument(text, may_be_shared));
  });
}

tilescope_status tilescope_inspection_add_value(tilescope_inspection* inspection, const char* name,
                                                tilescope_type type, const void* value,
                                                size_t bytes) {
  return guarded([&] {
    require(inspection, "inspection");
    require(value, "value");
    LaunchArgument argument;
    argument.name = name ? name : "";
    argument.type = type_of(type);
    if (bytes == 0 || bytes % size_of(argument.type) != 0) {
      throw usage_error("a value of {} bytes cannot be {}", bytes, name_of(argument.type));
    }
    const auto* first = static_cast<const std::byte*>(value);
    argument.value.assign(first, first + bytes);
    inspection->launch.arguments.push_back(std::move(argument));
  });
}

tilescope_status tilescope_inspection_add_array(tilescope_inspection* inspection, const char* name,
                                                tilescope_type type, void* data, size_t elements,
                                                int is_result) {
  return guarded([&] {
    require(inspection, "inspection");
    if (elements > 0) require(data, "data");
    const auto element = type_of(type);
    LaunchArgument argument = LaunchArgument::array(
        element, {static_cast<const std::byte*>(data), elements * size_of(element)});
    argument.name = name ? name : "";
    if (is_result) {
      inspection->results.push_back({arrays_in(inspection->launch.arguments), data});
    }
    inspection->launch.arguments.push_back(std::move(argument));
  });
}

tilescope_status tilescope_inspection_add_memory(tilescope_inspection* inspection, const char* name,
                                                 tilescope_type type, void* data, size_t elements,
                                                 int is_writable) {
  return guarded([&] {
    require(inspection, "inspection");
    if (elements > 0) require(data, "data");
    ArrayView memory;
    memory.type = value_of<DataType>(type, TILESCOPE_FLOAT8_E5M2 + 1, "the type");
    memory.count = elements;
    memory.data = data;
    LaunchArgument argument = LaunchArgument::in_memory(memory, name ? name : "");
    argument.is_read_only = is_writable == 0;
    inspection->launch.arguments.push_back(std::move(argument));
  });
}

void tilescope_inspection_cancel(tilescope_inspection* inspection) {
  inspection->cancel = true;
}

tilescope_status tilescope_check(tilescope_inspection* inspection, tilescope_document** document) {
  return guarded([&] {
    require(inspection, "inspection");
    require(document, "document");
    const CheckResult result =
        check(inspection->target, inspection->launch, options_of(*inspection));
    inspect::require_selected(result);
    const report::Page page =
        report::check_page(result, {.file = file_of(*inspection), .pictures = true});
    *document = document_of(page, result, result.complete() && page.outcome.passes());
  });
}

tilescope_status tilescope_explain(tilescope_inspection* inspection,
                                   tilescope_document** document) {
  return guarded([&] {
    require(inspection, "inspection");
    require(document, "document");
    InspectOptions options = options_of(*inspection);
    options.pictures = true;
    const ExplainResult result = explain(inspection->target, inspection->launch, options);
    inspect::require_selected(result);
    const report::Page page =
        report::explain_page(result, {.file = file_of(*inspection), .pictures = true});
    const bool is_good = result.complete() && page.outcome.passes() && result.ran.faults == 0 &&
                         result.ran.deadlocked_blocks == 0;
    *document = document_of(page, result, is_good);
  });
}

tilescope_status tilescope_run(tilescope_inspection* inspection, tilescope_document** document) {
  return guarded([&] {
    require(inspection, "inspection");
    require(document, "document");
    RunResult result = run(inspection->target, inspection->launch, options_of(*inspection));
    inspect::require_selected(result);
    write_back(*inspection, result);
    constexpr std::size_t shown = 8;  // elements of each array, as the command shows
    for (RunArray& array : result.arrays) {
      array.bytes.resize(std::min(array.bytes.size(), shown * size_of(array.type)));
    }
    const report::Page page =
        result.program ? report::program_page(result) : report::run_page(result);
    *document = document_of(page, result, result.failure.empty());
    if (result.program) (*document)->exit_code = result.program->exit_code;
  });
}

const char* tilescope_document_json(const tilescope_document* document) {
  return document->json.c_str();
}

const char* tilescope_document_text(const tilescope_document* document) {
  return document->text.c_str();
}

const char* tilescope_document_html(const tilescope_document* document) {
  return document->html.c_str();
}

const char* tilescope_document_printed(const tilescope_document* document) {
  return document->printed.c_str();
}

int tilescope_document_exit_code(const tilescope_document* document) {
  return document->exit_code;
}

void tilescope_document_destroy(tilescope_document* document) {
  delete document;
}

}  // extern "C"
