#include "ptx/function_body.hpp"

#include <algorithm>

#include "ptx/declaration.hpp"
#include "ptx/function_header.hpp"
#include "ptx/instruction_parser.hpp"
#include "ptx/line_directives.hpp"
#include "ptx/literal.hpp"
#include "ptx/moved_stores.hpp"
#include "ptx/scopes.hpp"

namespace tilescope::ptx {
namespace {

class BodyParser {
 public:
  BodyParser(ParseContext& context, std::uint32_t index)
      : context_(context),
        index_(index),
        function_(context.module.functions[index]),
        scopes_(function_,
                [&context](std::string_view name) { return context.symbols.contains(name); }),
        instructions_(context, function_, scopes_) {}

  void parse() {
    context_.lines.reset();
    declare_parameters(function_.parameters, NameEntry::Kind::parameter);
    declare_parameters(function_.returns, NameEntry::Kind::return_parameter);
    scopes_.enter(context_.token().line);
    context_.lexer.next();
    while (scopes_.current() != 0) {
      if (context_.token().kind == Token::Kind::end) {
        context_.unexpected(fmt::format("'}}' to close the function {}", quoted(function_.name)));
      }
      const std::uint32_t line = context_.token().line;
      try {
        parse_statement();
      } catch (const Failure& failure) {
        context_.diagnostics.add(failure);
        skip_statement(line);
      }
    }
    instructions_.resolve_labels();
    place_moved_stores(context_.module.locations, function_);
  }

 private:
  void declare_parameters(std::vector<Parameter>& parameters, NameEntry::Kind kind) {
    for (std::uint32_t i = 0; i < parameters.size(); ++i) {
      Parameter& parameter = parameters[i];
      if (parameter.name == "_") continue;
      // The key must be permanent text: the name itself may get a suffix below.
      const std::string& text = parameter_names_.emplace_back(parameter.name);
      const std::string_view key = std::string_view(text).substr(0, text.find('.'));
      NameEntry entry;
      entry.kind = kind;
      entry.index = i;
      if (!parameter.in_register) {
        scopes_.declare(key, entry, function_.line);
        parameter.name = scopes_.unique(key);
        continue;
      }
      entry.kind = NameEntry::Kind::reg;
      entry.type = parameter.type;
      entry.index = no_index;
      if (key == text) {
        scopes_.declare(key, entry, function_.line);
        parameter.reg = scopes_.find(key)->index;
      } else {  // a component of a vector of registers: `x.y`
        const auto which = static_cast<std::uint8_t>(std::string_view("xyzw").find(text.back()));
        entry.vector = 2;
        if (which == 0) scopes_.declare(key, entry, function_.line);
        NameEntry& vector = *scopes_.find(key);
        vector.vector = std::max(vector.vector, static_cast<std::uint8_t>(which + 1));
        parameter.reg = scopes_.component(key, vector, which);
      }
      parameter.name = function_.registers[parameter.reg].name;
    }
  }

  /// Continues behind the semicolon of the statement that failed. A brace on a later line belongs
  /// to the next statement.
  void skip_statement(std::uint32_t line) {
    while (context_.token().kind != Token::Kind::end) {
      if (context_.accept(';')) return;
      if (context_.at('}') && context_.token().line != line) return;
      context_.lexer.next();
    }
  }

  void parse_statement() {
    const Token& token = context_.token();
    switch (token.kind) {
      case Token::Kind::dotted_word:
        return parse_directive();
      case Token::Kind::word:
        return parse_word();
      case Token::Kind::punctuation:
        break;
      default:
        context_.unexpected("an instruction, a directive or a label");
    }
    if (context_.at('@')) return instructions_.parse_guarded();
    if (context_.accept(';')) return;
    if (context_.at('{')) {
      scopes_.enter(token.line);
    } else if (context_.at('}')) {
      scopes_.leave();
    } else {
      context_.unexpected("an instruction, a directive or a label");
    }
    context_.lexer.next();
  }

  void parse_word() {
    const Token word = context_.lexer.next();
    if (!context_.accept(':')) return instructions_.parse(word);
    if (word.text.find('.') != std::string_view::npos) {
      fail(word.line, "the label {} has a dot in it", quoted(word.text));
    }
    if (context_.accept(".branchtargets")) return parse_branch_targets(word);
    if (context_.accept(".calltargets")) return parse_call_targets(word);
    if (context_.accept(".callprototype")) {
      // Parsed first: a name must not stand for a prototype that an error prevented.
      Prototype prototype = parse_prototype(context_, scopes_.unique(word.text));
      declare(word, NameEntry::Kind::prototype, function_.prototypes.size());
      function_.prototypes.push_back(std::move(prototype));
      return;
    }
    scopes_.define_label(word.text, static_cast<std::uint32_t>(function_.instructions.size()),
                         word.line);
  }

  void declare(const Token& name, NameEntry::Kind kind, std::size_t index) {
    NameEntry entry;
    entry.kind = kind;
    entry.index = static_cast<std::uint32_t>(index);
    scopes_.declare(name.text, entry, name.line);
  }

  void parse_branch_targets(const Token& name) {
    declare(name, NameEntry::Kind::branch_targets, function_.branch_targets.size());
    std::vector<std::uint32_t>& targets = function_.branch_targets.emplace_back();
    do {
      const Token label = context_.expect_name("a label");
      targets.push_back(scopes_.refer_label(label.text, label.line));
    } while (context_.accept(','));
    context_.expect(';', "after .branchtargets");
  }

  void parse_call_targets(const Token& name) {
    declare(name, NameEntry::Kind::call_targets, function_.call_targets.size());
    std::vector<std::uint32_t>& targets = function_.call_targets.emplace_back();
    do {
      const Token callee = context_.expect_name("a function");
      const auto symbol = context_.symbols.find(callee.text);
      if (symbol == context_.symbols.end() || symbol->second.kind != SymbolKind::function) {
        fail(callee.line, "{} is not a function", quoted(callee.text));
      }
      targets.push_back(symbol->second.index);
    } while (context_.accept(','));
    context_.expect(';', "after .calltargets");
  }

  void parse_directive() {
    const Token word = context_.lexer.next();
    if (word.is(".loc")) return parse_loc(context_);
    if (word.is(".reg")) return parse_registers();
    if (word.is(".pragma")) return parse_pragma();
    if (word.is(".file")) return parse_file(context_);
    if (word.is(".section")) return parse_section(context_);
    const Space space = space_of(word.text.substr(1));
    switch (space) {
      case Space::global:
      case Space::shared:
      case Space::local:
      case Space::constant:
      case Space::param:
        return parse_local_variables(space);
      default:
        fail(word.line, "the directive {} is not known in a function", quoted(word.text));
    }
  }

  void parse_pragma() {
    do {
      if (context_.token().kind != Token::Kind::string) context_.unexpected("a string");
      context_.lexer.next();
    } while (context_.accept(','));
    context_.expect(';', "after .pragma");
  }

  void parse_local_variables(Space space) {
    // One in global or constant space lives as long as the module: only its name is local.
    const bool lasting = space == Space::global || space == Space::constant;
    std::vector<Variable>& variables = lasting ? context_.module.variables : function_.variables;
    const auto first = static_cast<std::uint32_t>(variables.size());
    auto declared =
        parse_variables(context_, space, Linkage::internal, lasting ? no_index : index_, first);
    for (DeclaredVariable& each : declared) {
      NameEntry entry;
      entry.kind = lasting ? NameEntry::Kind::module_variable : NameEntry::Kind::variable;
      entry.index = static_cast<std::uint32_t>(variables.size());
      scopes_.declare(each.name, entry, each.variable.line);
      each.variable.name =
          scopes_.unique(lasting ? fmt::format("{}${}", function_.name, each.name) : each.name);
      if (lasting) {
        context_.symbols.emplace(context_.spelled.emplace_back(each.variable.name),
                                 Symbol{SymbolKind::variable, entry.index});
      }
      variables.push_back(std::move(each.variable));
    }
  }

  void parse_registers() {
    const std::uint32_t line = context_.token().line;
    const TypeSpecifier specifier = parse_type_specifier(context_);
    if (specifier.vector > 4) fail(line, "a register has at most four components");
    do {
      const Token name = context_.expect_name("the name of a register");
      if (context_.accept('<')) {
        // A number, not an expression: the bracket that follows would read as a comparison.
        const Token count = context_.lexer.next();
        const auto number = parse_number(count.text);
        if (count.kind != Token::Kind::number || !number || number->literal != Literal::integer) {
          fail(count.line, "expected the number of registers, found {}", quoted(count.text));
        }
        context_.expect('>', "after the number of registers");
        scopes_.declare_range(name.text, number->bits, specifier.type, specifier.vector, name.line);
      } else {
        NameEntry entry;
        entry.type = specifier.type;
        entry.vector = specifier.vector;
        scopes_.declare(name.text, entry, name.line);
      }
    } while (context_.accept(','));
    context_.expect(';', "after a declaration of registers");
  }

  ParseContext& context_;
  std::uint32_t index_;
  Function& function_;
  std::deque<std::string> parameter_names_;
  Scopes scopes_;
  InstructionParser instructions_;
};

}  // namespace

void parse_body(ParseContext& context, std::uint32_t index) {
  BodyParser(context, index).parse();
}

}  // namespace tilescope::ptx
