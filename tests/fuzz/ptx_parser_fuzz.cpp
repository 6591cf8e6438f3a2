// Feeds any bytes to the PTX parser. A text is either refused with Error(bad_input), or gives a
// module whose every index is in range and which survives printing and a second parse.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>
#include <tilescope/error.hpp>
#include <vector>

#include "ptx/control_flow.hpp"
#include "ptx/module_parser.hpp"
#include "ptx/same_module.hpp"

namespace {

using namespace tilescope;

void fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

/// The lines of a printed module, each function's registers by name. They are numbered as the text
/// first mentions them, and `x + 4` mentions x before the register of the sum that is printed.
std::vector<std::string> comparable(const std::string& printed) {
  std::vector<std::string> lines;
  std::istringstream text(printed);
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  const auto declares = [](const std::string& line) { return line.starts_with("  .reg "); };
  for (auto at = lines.begin(); at != lines.end();) {
    const auto first = std::find_if(at, lines.end(), declares);
    at = std::find_if_not(first, lines.end(), declares);
    std::sort(first, at);
  }
  return lines;
}

void check_module(const ptx::Module& module) {
  for (const ptx::Function& function : module.functions) {
    for (const ptx::Instruction& instruction : function.instructions) {
      ptx::inline_chain(module, instruction);
    }
    if (function.has_body) ptx::build_control_flow(function);
  }
  const std::string printed = ptx::print(module);
  try {
    const ptx::Module again = ptx::parse(printed, "printed.ptx");
    const std::string twice = ptx::print(again);
    if (comparable(twice) != comparable(printed)) fail("printing changes:\n" + printed + twice);
    const std::string found = ptx::difference(again, ptx::parse(twice, "twice.ptx"));
    if (!found.empty()) fail("printing loses: " + found + "\n" + twice);
  } catch (const Error& error) {
    fail(std::string(error.what()) + "\n" + printed);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    check_module(ptx::parse(text, "fuzz.ptx"));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_input) fail(error.what());
  }
  return 0;
}
