// The state that every part of the parser shares while one text becomes one module.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptx/diagnostics.hpp"
#include "ptx/lexer.hpp"
#include "ptx/line_table.hpp"
#include "ptx/module.hpp"
#include "ptx/opcode_table.hpp"

namespace tilescope::ptx {

/// An initialiser with a symbol that may be declared later.
struct PendingRelocation {
  std::uint32_t function = no_index;  ///< the function of the variable; no_index for the module's
  std::uint32_t variable = 0;
  std::size_t relocation = 0;
  std::string_view symbol;
  std::uint32_t line = 0;
};

struct ParseContext {
  ParseContext(std::string_view text, std::string_view file)
      : lexer(text), diagnostics(file), lines(module) {}
  ParseContext(const ParseContext&) = delete;
  ParseContext& operator=(const ParseContext&) = delete;

  Lexer lexer;
  Diagnostics diagnostics;
  Module module;
  LineTable lines;
  std::unordered_map<std::string_view, Symbol> symbols;  ///< variables and functions of the module
  std::unordered_map<std::string_view, Mnemonic> mnemonics;  ///< those parsed so far
  std::deque<std::string> spelled;  ///< keys of both that are not contiguous in the text
  std::vector<PendingRelocation> relocations;

  const Token& token() const { return lexer.current(); }
  bool at(char c) const { return token().is(c); }
  bool at(std::string_view word) const { return token().is(word); }

  /// Skips the current token if it is `c` (or the word); returns whether it was.
  bool accept(char c);
  bool accept(std::string_view word);
  /// Skips `c` or throws Failure: "expected ')' after the parameters, found 'x'".
  void expect(char c, std::string_view where);
  /// Skips a word without dots, a name; the message calls it `what`.
  Token expect_name(std::string_view what);
  /// Skips an integer constant that must be in [lowest, highest].
  std::uint64_t expect_integer(std::string_view what, std::uint64_t lowest, std::uint64_t highest);
  /// Throws Failure at the current token.
  [[noreturn]] void unexpected(std::string_view wanted) const;
};

}  // namespace tilescope::ptx
