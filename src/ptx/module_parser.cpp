#include "ptx/module_parser.hpp"

#include <charconv>

#include "ptx/declaration.hpp"
#include "ptx/function_body.hpp"
#include "ptx/function_header.hpp"
#include "ptx/line_directives.hpp"
#include "ptx/parse_context.hpp"

namespace tilescope::ptx {
namespace {

class ModuleParser {
 public:
  ModuleParser(std::string_view text, std::string_view file) : context_(text, file) {}

  Module parse() {
    while (context_.token().kind != Token::Kind::end) {
      try {
        parse_directive();
      } catch (const Failure& failure) {
        context_.diagnostics.add(failure);
        skip_directive();
      }
    }
    if (context_.module.version_major == 0 && context_.diagnostics.empty()) {
      context_.diagnostics.add({1, "there is no .version directive, so this is not PTX"});
    }
    if (context_.module.target.empty() && context_.diagnostics.empty()) {
      context_.diagnostics.add({1, "there is no .target directive"});
    }
    if (context_.diagnostics.empty()) {
      resolve_relocations();
      resolve_aliases();
    }
    context_.diagnostics.finish();
    context_.lines.resolve_names();
    return std::move(context_.module);
  }

 private:
  /// Continues behind the next semicolon or the next body outside of all braces.
  void skip_directive() {
    int depth = 0;
    while (context_.token().kind != Token::Kind::end) {
      const Token token = context_.lexer.next();
      if (token.is('{')) ++depth;
      if (token.is('}')) --depth;
      if (depth > 0) continue;
      // The brace of an initialiser is followed by the rest of its declaration.
      const bool body =
          token.is('}') && !context_.at(';') && !context_.at(',') && !context_.at('}');
      if (body || token.is(';')) return;
    }
  }

  void parse_directive() {
    if (context_.accept(';')) return;
    if (context_.token().kind != Token::Kind::dotted_word) context_.unexpected("a directive");
    if (context_.at(".entry") || context_.at(".func")) return parse_function(Linkage::internal);
    const Token word = context_.lexer.next();
    if (word.is(".version")) return parse_version();
    if (word.is(".target")) return parse_target();
    if (word.is(".address_size")) return parse_address_size();
    if (word.is(".file")) return parse_file(context_);
    if (word.is(".loc")) return parse_loc(context_);
    if (word.is(".section")) return parse_section(context_);
    if (word.is(".pragma")) return parse_pragma();
    if (word.is(".alias")) return parse_alias();
    if (word.is(".extern")) return parse_linked(Linkage::external);
    if (word.is(".visible")) return parse_linked(Linkage::visible);
    if (word.is(".weak")) return parse_linked(Linkage::weak);
    if (word.is(".common")) return parse_linked(Linkage::common);
    parse_variables_of(word, Linkage::internal);
  }

  void parse_linked(Linkage linkage) {
    if (context_.at(".entry") || context_.at(".func")) return parse_function(linkage);
    const Token word = context_.lexer.next();
    parse_variables_of(word, linkage);
  }

  void parse_version() {
    const Token number = context_.lexer.next();
    const char* end = number.text.data() + number.text.size();
    unsigned major = 0;
    unsigned minor = 0;
    const auto first = std::from_chars(number.text.data(), end, major);
    const bool dot = first.ec == std::errc{} && first.ptr != end && *first.ptr == '.';
    const auto second = std::from_chars(dot ? first.ptr + 1 : end, end, minor);
    if (!dot || second.ec != std::errc{} || second.ptr != end || major == 0) {
      fail(number.line, "the .version must be of the form 9.0, not {}", quoted(number.text));
    }
    context_.module.version_major = major;
    context_.module.version_minor = minor;
  }

  void parse_target() {
    context_.module.target_options.clear();
    context_.module.target = std::string(context_.expect_name("the name of a target").text);
    while (context_.accept(',')) {
      context_.module.target_options.emplace_back(context_.expect_name("an option").text);
    }
  }

  void parse_address_size() {
    const std::uint32_t line = context_.token().line;
    const std::uint64_t bits = context_.expect_integer("the .address_size", 32, 64);
    if (bits != 32 && bits != 64) fail(line, "the .address_size must be 32 or 64, not {}", bits);
    context_.module.address_size = static_cast<unsigned>(bits);
  }

  void parse_pragma() {
    do {
      if (context_.token().kind != Token::Kind::string) context_.unexpected("a string");
      context_.lexer.next();
    } while (context_.accept(','));
    context_.expect(';', "after .pragma");
  }

  void parse_alias() {
    const Token alias = context_.expect_name("a function");
    context_.expect(',', "between the two functions of .alias");
    const Token target = context_.expect_name("a function");
    context_.expect(';', "after .alias");
    aliases_.push_back({alias, target});
  }

  void parse_function(Linkage linkage) {
    Function function = parse_function_header(context_, linkage);
    const bool has_body = function.has_body;
    names_.push_back(function.name);
    const std::uint32_t index = declare_function(context_, std::move(function), names_.back());
    if (has_body) parse_body(context_, index);
  }

  void parse_variables_of(const Token& word, Linkage linkage) {
    const Space space =
        word.kind == Token::Kind::dotted_word ? space_of(word.text.substr(1)) : Space::none;
    if (space != Space::global && space != Space::shared && space != Space::constant &&
        space != Space::local && space != Space::texture) {
      fail(word.line, "the directive {} is not known in a module", quoted(word.text));
    }
    // Initialisers are recorded with the index of a new variable; a definition of a variable that
    // was declared before takes the earlier index.
    const std::size_t pending = context_.relocations.size();
    auto declared = parse_variables(context_, space, linkage, no_index, 0);
    std::vector<std::uint32_t> indices;
    for (DeclaredVariable& each : declared) indices.push_back(declare_variable(std::move(each)));
    for (std::size_t i = pending; i < context_.relocations.size(); ++i) {
      PendingRelocation& relocation = context_.relocations[i];
      relocation.variable = indices[relocation.variable];
    }
  }

  std::uint32_t declare_variable(DeclaredVariable declared) {
    std::vector<Variable>& variables = context_.module.variables;
    const auto next = static_cast<std::uint32_t>(variables.size());
    const auto [entry, added] =
        context_.symbols.try_emplace(declared.name, Symbol{SymbolKind::variable, next});
    if (added) {
      variables.push_back(std::move(declared.variable));
      return next;
    }
    if (entry->second.kind != SymbolKind::variable) {
      fail(declared.variable.line, "{} is already a function", quoted(declared.name));
    }
    Variable& known = variables[entry->second.index];
    const auto tentative = [](const Variable& variable) {
      return variable.linkage == Linkage::external || variable.linkage == Linkage::common;
    };
    if (!tentative(known) && !tentative(declared.variable)) {
      fail(declared.variable.line, "{} is declared twice, first in line {}", quoted(declared.name),
           known.line);
    }
    if (known.space != declared.variable.space) {
      fail(declared.variable.line, "{} is in .{} here and in .{} in line {}", quoted(declared.name),
           name(declared.variable.space), name(known.space), known.line);
    }
    if (tentative(known)) known = std::move(declared.variable);
    return entry->second.index;
  }

  void resolve_relocations() {
    for (const PendingRelocation& pending : context_.relocations) {
      const auto symbol = context_.symbols.find(pending.symbol);
      if (symbol == context_.symbols.end()) {
        context_.diagnostics.add(
            {pending.line, fmt::format("{} is not declared", quoted(pending.symbol))});
        continue;
      }
      Variable& variable =
          pending.function == no_index
              ? context_.module.variables[pending.variable]
              : context_.module.functions[pending.function].variables[pending.variable];
      variable.relocations[pending.relocation].symbol = symbol->second;
    }
  }

  void resolve_aliases() {
    for (const auto& [alias, target] : aliases_) {
      const auto from = context_.symbols.find(alias.text);
      const auto to = context_.symbols.find(target.text);
      if (from == context_.symbols.end() || to == context_.symbols.end() ||
          from->second.kind != SymbolKind::function || to->second.kind != SymbolKind::function) {
        context_.diagnostics.add({alias.line, ".alias must name two functions of the module"});
        continue;
      }
      Function& function = context_.module.functions[from->second.index];
      if (function.has_body || !context_.module.functions[to->second.index].has_body) {
        context_.diagnostics.add(
            {alias.line, ".alias must name a function without a body and one with a body"});
        continue;
      }
      function.alias_of = to->second.index;
    }
  }

  ParseContext context_;
  std::deque<std::string> names_;  ///< keys of the table of symbols
  std::vector<std::pair<Token, Token>> aliases_;
};

}  // namespace

Module parse(std::string_view text, std::string_view file) {
  return ModuleParser(text, file).parse();
}

std::uint32_t Module::find_function(std::string_view wanted) const {
  for (std::uint32_t i = 0; i < functions.size(); ++i) {
    if (functions[i].name == wanted) return i;
  }
  return no_index;
}

std::uint32_t Module::find_variable(std::string_view wanted) const {
  for (std::uint32_t i = 0; i < variables.size(); ++i) {
    if (variables[i].name == wanted) return i;
  }
  return no_index;
}

}  // namespace tilescope::ptx
