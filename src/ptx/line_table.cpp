#include "ptx/line_table.hpp"

#include <algorithm>
#include <limits>

#include "ptx/constant_expression.hpp"
#include "ptx/parse_context.hpp"

namespace tilescope::ptx {
namespace {

constexpr std::uint64_t largest = std::numeric_limits<std::uint32_t>::max() - 1;

std::uint32_t number(ParseContext& context, std::string_view what) {
  return static_cast<std::uint32_t>(context.expect_integer(what, 0, largest));
}

}  // namespace

std::size_t LineTable::KeyHash::operator()(const Key& key) const {
  std::uint64_t hash = std::hash<std::string_view>{}(key.name.label) + key.name.offset;
  for (const std::uint32_t part : {key.file, key.line, key.column, key.inlined_at}) {
    hash = (hash ^ part) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 32;
  }
  return hash;
}

void LineTable::parse_file(ParseContext& context) {
  const std::uint32_t index = number(context, "the number of a .file");
  if (context.token().kind != Token::Kind::string) context.unexpected("the path of the .file");
  module_.files[index] = std::string(context.lexer.next().text);
  while (context.accept(',')) number(context, "the time or size of a .file");
}

std::uint32_t LineTable::intern(const Key& key) {
  const auto [entry, added] =
      known_.try_emplace(key, static_cast<std::uint32_t>(module_.locations.size()));
  if (added) {
    module_.locations.push_back({key.file, key.line, key.column, {}, key.inlined_at});
    names_.push_back(key.name);
  }
  latest_[{key.file, key.line, key.column, no_index, {}}] = entry->second;
  return entry->second;
}

void LineTable::parse_loc(ParseContext& context) {
  Key key{0, 0, 0, no_index, {}};
  key.file = number(context, "the file of a .loc");
  key.line = number(context, "the line of a .loc");
  key.column = number(context, "the column of a .loc");
  if (context.accept(',')) {
    if (!context.accept("function_name")) context.unexpected("'function_name' in a .loc");
    key.name.label = context.expect_name("the label of a function's name").text;
    if (context.accept('+')) {
      key.name.offset = context.expect_integer("the offset of a function's name", 0, largest);
    }
    context.expect(',', "before inlined_at");
    if (!context.accept("inlined_at")) context.unexpected("'inlined_at' in a .loc");
    Key call{0, 0, 0, no_index, {}};
    call.file = number(context, "the file of inlined_at");
    call.line = number(context, "the line of inlined_at");
    call.column = number(context, "the column of inlined_at");
    // The place of the call is an earlier .loc, which knows where it was inlined in turn.
    const auto latest = latest_.find(call);
    key.inlined_at = latest == latest_.end() ? intern(call) : latest->second;
  }
  current_ = intern(key);
}

void LineTable::parse_names(ParseContext& context) {
  while (!context.at('}')) {
    if (context.accept(".b8")) {
      do {
        strings_ += static_cast<char>(context.expect_integer("a byte of .debug_str", 0, 255));
      } while (context.accept(','));
    } else {
      const Token label = context.expect_name("a label or .b8 in .debug_str");
      context.expect(':', "after a label in .debug_str");
      labels_[label.text] = strings_.size();
    }
  }
}

void LineTable::parse_section(ParseContext& context) {
  const Token name = context.lexer.next();
  if (name.kind != Token::Kind::dotted_word && name.kind != Token::Kind::word) {
    fail(name.line, "expected the name of a .section, found {}", quoted(name.text));
  }
  context.expect('{', "to open a .section");
  if (name.is(".debug_str")) parse_names(context);
  while (!context.at('}')) {
    if (context.token().kind == Token::Kind::end) context.unexpected("'}' to close a .section");
    context.lexer.next();
  }
  context.lexer.next();
}

std::string LineTable::name_at(const NameAt& name) const {
  const auto label = labels_.find(name.label);
  if (label == labels_.end()) return {};
  const std::size_t begin = label->second + name.offset;
  if (begin >= strings_.size()) return {};
  const std::size_t end = std::min(strings_.find('\0', begin), strings_.size());
  // A name cannot be as long as the whole table; without its terminator one might be.
  constexpr std::size_t longest = 4096;
  return strings_.substr(begin, std::min(end - begin, longest));
}

void LineTable::resolve_names() {
  std::size_t budget = 64u << 20;  // bytes: many locations may share one long name
  for (std::size_t i = 0; i < names_.size() && budget != 0; ++i) {
    if (names_[i].label.empty()) continue;
    module_.locations[i].function = name_at(names_[i]);
    budget -= std::min(budget, module_.locations[i].function.size());
  }
}

}  // namespace tilescope::ptx
