#include "base/symbol_names.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace tilescope {
namespace {

/// "void lib::scale<16>(float*, int)" -> "lib::scale<16>": the parameter list is the first
/// bracket outside of <>, the return type ends at the last blank outside of them.
std::string without_signature(std::string_view text) {
  constexpr std::string_view anonymous = "(anonymous namespace)";
  int depth = 0;
  std::size_t begin = 0, end = text.size();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with(anonymous)) i += anonymous.size();
    const char c = text[i];
    if (c == '<') ++depth;
    if (c == '>') --depth;
    if (depth == 0 && c == '(') {
      end = i;
      break;
    }
    if (depth == 0 && c == ' ') begin = i + 1;
  }
  return std::string(text.substr(begin, end - begin));
}

}  // namespace

std::string demangled(const std::string& symbol) {
  // The library takes other names for types: "rd" for double restrict, "Pi" for int*.
  if (!symbol.starts_with("_Z")) return {};
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text ? text.get() : std::string();
}

std::string function_name(const std::string& symbol) {
  const std::string text = demangled(symbol);
  return text.empty() ? symbol : without_signature(text);
}

std::string variable_name(std::string_view symbol) {
  // PTX puts all local variables of a function into one frame and drops their names.
  if (symbol.starts_with("__local_depot")) return {};
  if (!symbol.starts_with("_Z")) return std::string(symbol);
  const std::string text = demangled(std::string(symbol));
  if (text.empty()) return std::string(symbol);
  // "matmul(float*)::tile": the name follows the last "::" outside parentheses and angle brackets.
  int depth = 0;
  for (std::size_t i = text.size(); i-- > 1;) {
    if (text[i] == ')' || text[i] == '>') ++depth;
    if (text[i] == '(' || text[i] == '<') --depth;
    if (depth == 0 && text[i] == ':' && text[i - 1] == ':') return text.substr(i + 1);
  }
  return text;
}

}  // namespace tilescope
