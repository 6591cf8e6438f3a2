// check(), explain() and run(): values in, pages out. tilescope/inspection.py makes the public
// functions of them.
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <tilescope/check.hpp>
#include <tilescope/explain.hpp>
#include <tilescope/run.hpp>

#include "bindings.hpp"
#include "interruptible.hpp"
#include "page_object.hpp"
#include "report/explain_report.hpp"
#include "report/findings_report.hpp"
#include "report/program_report.hpp"
#include "report/run_report.hpp"

namespace tilescope::python {
namespace {

using namespace nb::literals;

/// The result of an inspection: its page, and what a caller decides by.
struct Inspected {
  std::optional<report::Page> page;
  bool clean = false;  ///< complete, and nothing wrong
  std::string printed;
  std::string failure;  ///< the reason why a launch did not complete
};

std::string file_of(const Target& target) {
  if (const auto* file = std::get_if<SourceFile>(&target)) return file->path;
  const auto* program = std::get_if<Program>(&target);
  return program != nullptr && !program->files.empty() ? program->files.front() : "";
}

std::string failure_of(const Inspection& result) {
  return result.complete() ? std::string{} : result.ran.message;
}

Inspected check_target(const Target& target, const LaunchDescription& launch,
                       InspectOptions options) {
  Inspected inspected;
  run_interruptibly([&](const CancelFlag& cancel) {
    options.cancel = &cancel;
    CheckResult result = check(target, launch, options);
    inspected = {report::check_page(result, {.file = file_of(target), .pictures = true}),
                 result.clean(), std::move(result.printed), failure_of(result)};
  });
  return inspected;
}

Inspected explain_target(const Target& target, const LaunchDescription& launch,
                         InspectOptions options) {
  Inspected inspected;
  run_interruptibly([&](const CancelFlag& cancel) {
    options.cancel = &cancel;
    options.pictures = true;
    ExplainResult result = explain(target, launch, options);
    inspected = {report::explain_page(result, {.file = file_of(target), .pictures = true}),
                 result.complete() && result.ran.faults == 0 && result.ran.deadlocked_blocks == 0,
                 std::move(result.printed), failure_of(result)};
  });
  return inspected;
}

Inspected run_target(const Target& target, const LaunchDescription& launch,
                     InspectOptions options) {
  Inspected inspected;
  run_interruptibly([&](const CancelFlag& cancel) {
    options.cancel = &cancel;
    RunResult result = run(target, launch, options);
    const bool succeeded = result.failure.empty() && result.complete() &&
                           (!result.program || result.program->exit_code == 0);
    inspected = {result.program ? report::program_page(result) : report::run_page(result),
                 succeeded, std::move(result.printed), std::move(result.failure)};
  });
  return inspected;
}

LaunchArgument memory_argument(std::uintptr_t address, const std::string& type, std::size_t count,
                               bool is_read_only, std::string name) {
  ArrayView view;
  view.type = parse_data_type(type);
  view.count = count;
  view.data = reinterpret_cast<const void*>(address);
  LaunchArgument argument = LaunchArgument::in_memory(view, std::move(name));
  argument.is_read_only = is_read_only;
  return argument;
}

/// The place of an array in memory, from its buffer or through DLPack.
template <typename... Properties>
nb::dict describe(const nb::ndarray<Properties...>& array, bool is_read_only) {
  const nb::dlpack::dtype type = array.dtype();
  const std::string bits = std::to_string(type.bits);
  std::string name;
  switch (static_cast<nb::dlpack::dtype_code>(type.code)) {
    case nb::dlpack::dtype_code::Int:
      name = "int" + bits;
      break;
    case nb::dlpack::dtype_code::UInt:
      name = "uint" + bits;
      break;
    case nb::dlpack::dtype_code::Float:
      name = "float" + bits;
      break;
    case nb::dlpack::dtype_code::Bfloat:
      name = "bfloat" + bits;
      break;
    case nb::dlpack::dtype_code::Bool:
      name = "bool";
      break;
    default:  // complex numbers, 8-bit floats: bytes to a report
      break;
  }
  std::vector<std::int64_t> shape, strides;
  for (std::size_t i = 0; i < array.ndim(); ++i) {
    shape.push_back(static_cast<std::int64_t>(array.shape(i)));
    strides.push_back(array.stride(i));
  }
  nb::dict described;
  described["address"] = reinterpret_cast<std::uintptr_t>(array.data());
  described["type"] = name.empty() ? nb::none() : nb::cast(name);
  described["item_bytes"] = array.itemsize();
  described["shape"] = shape;
  described["strides"] = strides;
  described["read_only"] = is_read_only;
  return described;
}

LaunchArgument number_argument(std::variant<std::int64_t, double> value, std::string name) {
  LaunchArgument argument =
      std::visit([](auto number) { return LaunchArgument::number(number); }, value);
  argument.name = std::move(name);
  return argument;
}

LaunchArgument structure_argument(std::vector<LaunchArgument> members, std::string name) {
  LaunchArgument argument = LaunchArgument::structure(std::move(members));
  argument.name = std::move(name);
  return argument;
}

/// A value by its bytes; of the type "bits" it goes to any parameter of that size.
LaunchArgument value_argument(nb::bytes value, const std::string& type, std::string name) {
  const auto* const first = static_cast<const std::byte*>(value.data());
  LaunchArgument argument{.text = {}, .name = name};
  argument.type = type == "bits" ? DataType::uint8 : parse_data_type(type);
  argument.value.assign(first, first + value.size());
  if (type == "bits") argument = LaunchArgument::structure({std::move(argument)});
  argument.name = std::move(name);
  return argument;
}

/// Memory of the launch alone; without bytes a null pointer.
LaunchArgument scratch_argument(std::uint64_t bytes, std::string name) {
  LaunchArgument argument =
      bytes == 0 ? LaunchArgument::scalar(std::uint64_t{0})
                 : LaunchArgument::array(DataType::uint8, bytes, Initial::uninitialised);
  argument.name = std::move(name);
  return argument;
}

LaunchDescription launch_description(std::string kernel, Dim3 grid, Dim3 block,
                                     std::vector<LaunchArgument> arguments,
                                     std::vector<LaunchArgument> arrays, std::uint64_t shared_bytes,
                                     Dim3 cluster, bool cooperative,
                                     std::vector<std::pair<std::string, std::string>> defines,
                                     std::vector<std::string> include_directories) {
  return {.kernel = std::move(kernel),
          .grid = grid,
          .block = block,
          .shared_bytes = shared_bytes,
          .cluster = cluster,
          .cooperative = cooperative,
          .defines = std::move(defines),
          .include_directories = std::move(include_directories),
          .arguments = std::move(arguments),
          .arrays = std::move(arrays)};
}

SourceText source_text(std::string text, std::string name, bool is_ptx) {
  return {std::move(text), std::move(name), is_ptx ? SourceLanguage::ptx : SourceLanguage::cuda};
}

/// `launches` and `blocks` as the command line takes them; empty: all.
InspectOptions inspect_options(std::string device, std::uint64_t max_instructions,
                               std::uint64_t schedules, std::uint64_t max_findings,
                               const std::string& launches, const std::string& blocks,
                               std::string resume) {
  InspectOptions options;
  options.device = std::move(device);
  options.max_instructions = max_instructions;
  options.schedules = schedules;
  options.max_findings = max_findings;
  if (!launches.empty()) options.launches = parse_launch_ranges(launches);
  if (!blocks.empty()) options.blocks = parse_block_sample(blocks);
  options.resume = std::move(resume);
  return options;
}

void bind_values(nb::module_& module) {
  nb::class_<Dim3>(module, "Dim3")
      .def(nb::init<std::uint32_t, std::uint32_t, std::uint32_t>(), "x"_a, "y"_a, "z"_a);
  nb::class_<LaunchArgument>(module, "Argument");
  nb::class_<LaunchDescription>(module, "Launch");
  nb::class_<InspectOptions>(module, "Options");
  nb::class_<SourceText>(module, "SourceText");
  nb::class_<SourceFile>(module, "SourceFile").def(nb::init<std::string>(), "path"_a);
  nb::class_<LadderRung>(module, "LadderRung")
      .def("__init__", [](LadderRung* self, std::string name) {
        new (self) LadderRung{name, {}, 0};
      });
  nb::class_<Program>(module, "Program")
      .def(nb::init<std::vector<std::string>, std::vector<std::string>>(), "files"_a,
           "arguments"_a);
  nb::class_<Inspected>(module, "Inspected")
      .def_ro("clean", &Inspected::clean)
      .def_ro("printed", &Inspected::printed)
      .def_ro("failure", &Inspected::failure)
      .def_prop_ro("page", [](const Inspected& self) { return page_object(*self.page); });
}

}  // namespace

void bind_inspections(nb::module_& module) {
  bind_values(module);
  module.def("source_text", &source_text, "text"_a, "name"_a, "is_ptx"_a);
  module.def("memory_argument", &memory_argument, "address"_a, "type"_a, "count"_a,
             "is_read_only"_a, "name"_a);
  module.def("value_argument", &value_argument, "value"_a, "type"_a, "name"_a);
  module.def("scratch_argument", &scratch_argument, "bytes"_a, "name"_a);
  module.def("number_argument", &number_argument, "value"_a, "name"_a);
  module.def("structure_argument", &structure_argument, "members"_a, "name"_a);
  module.def(
      "describe", [](const nb::ndarray<nb::device::cpu>& array) { return describe(array, false); },
      "array"_a);
  module.def(
      "describe",
      [](const nb::ndarray<nb::ro, nb::device::cpu>& array) { return describe(array, true); },
      "array"_a);
  module.def("launch", &launch_description, "kernel"_a, "grid"_a, "block"_a, "arguments"_a,
             "arrays"_a, "shared_bytes"_a, "cluster"_a, "cooperative"_a, "defines"_a,
             "include_directories"_a);
  module.def("no_launch", [] { return LaunchDescription{}; });
  module.def("options", &inspect_options, "device"_a, "max_instructions"_a, "schedules"_a,
             "max_findings"_a, "launches"_a, "blocks"_a, "resume"_a);
  module.def(
      "has_main", [](const std::string& path) { return has_main(path); }, "path"_a);
  module.def("check", &check_target, "target"_a, "launch"_a, "options"_a);
  module.def("explain", &explain_target, "target"_a, "launch"_a, "options"_a);
  module.def("run", &run_target, "target"_a, "launch"_a, "options"_a);
}

}  // namespace tilescope::python
