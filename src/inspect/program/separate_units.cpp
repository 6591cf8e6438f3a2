#include "inspect/program/separate_units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>
#include <string_view>

#include "base/mapped_file.hpp"
#include "base/output_file.hpp"
#include "compile/nvcc.hpp"
#include "inspect/program/program_sources.hpp"

namespace tilescope::inspect {
namespace {

namespace fs = std::filesystem;

/// The identifiers in the names of the functions that an object expects from the device linker.
std::set<std::string> units_in(const std::string& object) {
  constexpr std::string_view mark = "__cudaRegisterLinkedBinary_";
  const MappedFile file(object);
  const std::string_view bytes(reinterpret_cast<const char*>(file.bytes().data()),
                               file.bytes().size());
  std::set<std::string> units;
  for (std::size_t at = bytes.find(mark); at != bytes.npos; at = bytes.find(mark, at)) {
    at += mark.size();
    std::size_t end = at;
    const auto in_name = [&](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    };
    while (end < bytes.size() && in_name(bytes[end])) ++end;
    units.emplace(bytes.substr(at, end - at));
  }
  return units;
}

constexpr std::string_view head = R"(#include <cstdlib>
extern "C" {
struct Wrapper {
  int magic, version;
  const void* container;
  const void* const* units;
};
void** __cudaRegisterFatBinary(void*);
void __cudaRegisterFatBinaryEnd(void**);
void __cudaUnregisterFatBinary(void**);
}
)";

// The last unit that its own static initialiser registers brings all of them to the run time.
constexpr std::string_view body = R"(
namespace {
using Callback = void (*)(void**);
const void* units[count + 1];
Callback callbacks[count];
int known = 0;
Wrapper linked = {0x466243b1, 2, nullptr, units};
void** handle;

void add(const Wrapper& unit, Callback callback) {
  units[known] = unit.container;
  callbacks[known++] = callback;
  if (known < count) return;
  linked.container = units[0];
  handle = __cudaRegisterFatBinary(&linked);
  std::atexit([] { __cudaUnregisterFatBinary(handle); });
  for (const Callback call : callbacks) call(handle);
  __cudaRegisterFatBinaryEnd(handle);
}
}
)";

}  // namespace

bool has_separate_units(const std::vector<std::string>& options) {
  for (std::size_t i = 0; i < options.size(); ++i) {
    for (const std::string_view name : {"-rdc", "--relocatable-device-code"}) {
      if (options[i] == fmt::format("{}=true", name)) return true;
      if (options[i] == name && i + 1 < options.size() && options[i + 1] == "true") return true;
    }
  }
  return std::find(options.begin(), options.end(), "-dc") != options.end();
}

std::string registration_source(const std::vector<std::string>& units) {
  std::string text(head);
  for (const std::string& unit : units) {
    text += fmt::format("extern \"C\" const Wrapper __fatbinwrap_{};\n", unit);
  }
  text += fmt::format("constexpr int count = {};\n", units.size());
  text += body;
  for (const std::string& unit : units) {
    text += fmt::format(
        "extern \"C\" void __cudaRegisterLinkedBinary_{0}(Callback callback, void*, void*,\n"
        "                                                void (*)(void*)) {{\n"
        "  add(__fatbinwrap_{0}, callback);\n"
        "}}\n",
        unit);
  }
  return text;
}

std::vector<std::string> compile_units(const std::string& nvcc,
                                       const std::vector<std::string>& options,
                                       const std::vector<std::string>& files,
                                       const std::string& folder) {
  std::vector<std::string> arguments = options, rest;
  arguments.insert(arguments.end(), {"-dc", "-odir", folder});
  for (const std::string& file : files) {
    (is_program_source(file) ? arguments : rest).push_back(file);
  }
  compile::run_nvcc(nvcc, arguments);
  std::set<std::string> units;
  for (const fs::directory_entry& object : fs::directory_iterator(folder)) {
    rest.push_back(object.path().string());
    units.merge(units_in(rest.back()));
  }
  if (units.empty()) return rest;
  const std::string source = (fs::path(folder) / "registration.cpp").string();
  OutputFile file(source);
  file.append(registration_source({units.begin(), units.end()}));
  file.commit();
  rest.push_back(source);
  return rest;
}

}  // namespace tilescope::inspect
