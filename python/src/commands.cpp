// The command in the module, and where it finds CUDA's packages.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "base/cuda_paths.hpp"
#include "bindings.hpp"
#include "cli/command_line.hpp"

namespace tilescope::python {
namespace {

/// The command line with the words `arguments`; the first is the program's name.
int run_command(const std::vector<nb::bytes>& given) {
  std::vector<std::string> arguments;
  for (const nb::bytes& word : given) arguments.emplace_back(word.c_str(), word.size());
  std::vector<char*> words;
  words.reserve(arguments.size() + 1);
  for (std::string& word : arguments) words.push_back(word.data());
  words.push_back(nullptr);
  const nb::gil_scoped_release others_run;
  return cli::run_command_line(static_cast<int>(arguments.size()), words.data());
}

}  // namespace

void bind_command(nb::module_& module) {
  module.def("run_command", run_command, nb::arg("arguments"));
  module.def(
      "set_cuda_package_folders",
      [](const std::vector<std::string>& folders) {
        set_cuda_package_folders({folders.begin(), folders.end()});
      },
      nb::arg("folders"));
}

}  // namespace tilescope::python
