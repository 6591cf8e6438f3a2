// tilescope.ladder(): every rung of an operation, verified and timed or counted.
#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <tilescope/device.hpp>
#include <tilescope/problem_options.hpp>

#include "base/errors.hpp"
#include "base/text.hpp"
#include "inspect/open_device.hpp"
#include "inspect/rung_subject.hpp"
#include "interruptible.hpp"
#include "measure/ladder.hpp"
#include "operations/registry.hpp"
#include "page_object.hpp"
#include "report/ladder_report.hpp"

namespace tilescope::python {
namespace {

/// The value of an option. Throws TypeError for one of another type.
template <typename Value>
Value option_value(const std::string& name, nb::handle given, const char* expected) {
  Value value{};
  if (nb::try_cast(given, value)) return value;
  throw nb::type_error(fmt::format("{} is {}; expected {}", name,
                                   printable(nb::cast<std::string>(nb::repr(given)), 60), expected)
                           .c_str());
}

/// The problem's options by their names in Python, which are those of the command.
ProblemOptions problem_options(const nb::dict& given) {
  ProblemOptions options;
  const std::map<std::string, std::optional<std::int64_t>*> numbers{
      {"size", &options.size},       {"rows", &options.rows},
      {"columns", &options.columns}, {"inner", &options.inner},
      {"radius", &options.radius},   {"channels", &options.channels},
      {"bins", &options.bins},       {"iterations", &options.iterations}};
  const std::map<std::string, std::optional<std::string>*> words{{"type", &options.type},
                                                                 {"data", &options.data},
                                                                 {"op", &options.reduction},
                                                                 {"precision", &options.precision}};
  for (const auto [key, value] : given) {
    const std::string name = nb::cast<std::string>(key);
    if (value.is_none()) continue;
    if (const auto number = numbers.find(name); number != numbers.end()) {
      *number->second = option_value<std::int64_t>(name, value, "a whole number");
    } else if (const auto word = words.find(name); word != words.end()) {
      *word->second = option_value<std::string>(name, value, "text");
    } else if (name == "seed") {
      options.seed = option_value<std::uint64_t>(name, value, "a whole number from 0 on");
    } else {
      throw usage_error("a ladder has no option {}", printable(name));
    }
  }
  return options;
}

nb::object ladder(const std::string& operation, const nb::dict& problem,
                  const std::vector<std::string>& variants, int samples,
                  const std::string& device) {
  const ProblemOptions options = problem_options(problem);
  std::optional<report::Page> page;
  run_interruptibly([&](const CancelFlag& cancel) {
    const std::shared_ptr<Device> opened = inspect::open_for_kernels(device);
    const bool counted = opened->kind() == DeviceKind::emulated;
    const auto made = operations::make_operation(
        operation, counted ? inspect::emulated_size(operation, options) : options);
    std::vector<std::string> names;
    for (const std::string& name : variants) names.push_back(made->variant_name(name));
    const report::LadderContext context{
        .operation = std::string(operations::registered_operation(operation).name),
        .size = made->size_text(),
        .device_id = opened->id(),
        .device = opened->properties(),
        .work = made->work(),
        .seed = options.seed,
        .counted = counted};
    page = report::ladder_page(
        context,
        measure::climb(*made, *opened,
                       {.only = names, .timing = {.least_samples = samples}, .cancel = &cancel}));
  });
  return page_object(std::move(*page));
}

std::vector<std::string> ladder_names() {
  std::vector<std::string> names;
  for (const auto& operation : operations::registered_operations()) {
    names.emplace_back(operation.name);
  }
  return names;
}

}  // namespace

void bind_ladders(nb::module_& module) {
  module.def("ladder", ladder, nb::arg("operation"), nb::arg("problem"), nb::arg("variants"),
             nb::arg("samples"), nb::arg("device"));
  module.def("ladder_names", ladder_names);
}

}  // namespace tilescope::python
