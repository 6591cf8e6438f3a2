// Feeds any bytes to the PTX parser. A text is either refused with Error(bad_input), or gives a
// module whose every index is in range and which survives printing and a second parse.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <tilescope/error.hpp>

#include "ptx/control_flow.hpp"
#include "ptx/module_parser.hpp"
#include "ptx/same_module.hpp"

namespace {

using namespace tilescope;

void fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
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
    const std::string found = ptx::difference(module, ptx::parse(printed, "printed.ptx"));
    if (!found.empty()) fail("printing loses: " + found + "\n" + printed);
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
