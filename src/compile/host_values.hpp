// Numbers, types and structures that follow from the constants in a file's host code. This reads
// the text without C++ semantics: a name means the same everywhere, and what does not follow
// plainly is left open.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tilescope/launch.hpp>
#include <vector>

#include "compile/host_evaluator.hpp"

namespace tilescope::compile {

struct HostExtents {
  Dim3 extents;
  bool is_sure = true;
};

/// A member of a structure; `count` is that of an array, else 1.
struct HostMember {
  std::string name;
  Tokens type;
  bool is_pointer = false;
  std::int64_t count = 1;
};

class HostValues : private HostNames {
 public:
  /// `source` must outlive this. Takes any text without failing.
  explicit HostValues(std::string_view source);

  const Tokens& tokens() const { return tokens_; }
  bool is(std::size_t i, std::string_view text) const {
    return i < tokens_.size() && tokens_[i] == text;
  }
  /// The tokens of the comma-separated expressions from `begin`, the first after the opening
  /// bracket.
  std::vector<Tokens> list(std::size_t begin) const;
  /// The end of the expression at `begin`: the first of , ; ) } outside of brackets.
  std::size_t expression_end(std::size_t begin) const;

  std::optional<HostNumber> value(const Tokens& expression);
  /// A grid or block: a number, a dim3 of numbers, or the name of one.
  std::optional<HostExtents> extents(Tokens expression);
  /// The bytes that cudaMalloc gave the pointer of this name.
  std::optional<HostNumber> allocated(std::string_view pointer);
  /// The type, through typedef, using, #define and the file's own template arguments.
  std::optional<ElementType> type(const Tokens& words) const override;
  /// The bytes of a type, a structure's too.
  std::optional<std::int64_t> size(const Tokens& words) override;
  /// The members of a structure of plain data; null for others.
  const std::vector<HostMember>* structure(const Tokens& words) const;
  /// The argument of a template whose parameter has this name, where the file names it.
  std::optional<Tokens> template_argument(std::string_view parameter) const;
  /// The type of the variable to which a pointer of this name points.
  Tokens pointed_type(std::string_view pointer) const override;

 private:
  void macros(std::string_view source);
  void definitions();
  void definition(std::size_t i);
  void change(std::size_t i);
  void dimension(std::size_t name);
  void function(std::size_t at);
  void alias(std::size_t at);
  void read_structure(std::size_t at);
  void template_parameters(std::size_t at);
  void bind(std::string_view function, const Tokens& parameters);
  void set(std::string_view name, Tokens value) {
    values_[std::string(name)].push_back(std::move(value));
  }
  Tokens words(std::size_t begin, std::size_t end) const;
  Tokens resolved(Tokens words) const;

  std::optional<HostNumber> value_of(std::string_view name, int depth) override;
  const HostFunction* function_named(std::string_view name) const override;
  std::optional<HostNumber> extent_of(std::string_view name, std::string_view member, int depth);
  std::optional<HostNumber> value(const Tokens& expression, int depth);
  static std::vector<Tokens> parts_of(Tokens expression);

  Tokens tokens_;
  std::map<std::string, std::vector<Tokens>, std::less<>> values_;  // g.x too
  std::set<std::string_view> dimensions_;                           // names of dim3
  std::map<std::string_view, HostFunction> functions_;              // and macros with parameters
  std::map<std::string_view, std::vector<Tokens>> types_;
  std::map<std::string_view, std::vector<Tokens>> template_arguments_;
  std::map<std::string_view, std::vector<Tokens>> allocations_;
  std::map<std::string_view, Tokens> pointers_;
  std::map<std::string_view, std::vector<HostMember>> structures_;
  std::map<std::string, std::optional<HostNumber>, std::less<>> known_;
};

}  // namespace tilescope::compile
