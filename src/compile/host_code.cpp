#include "compile/host_code.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "compile/cpp_tokens.hpp"

namespace tilescope::compile {
namespace {

using Tokens = std::vector<std::string_view>;

/// Types and objects of the standard library that exist on the host only.
bool is_host_name(std::string_view word) {
  static const std::set<std::string_view> names = {"vector",
                                                   "string",
                                                   "map",
                                                   "set",
                                                   "unordered_map",
                                                   "list",
                                                   "unordered_set",
                                                   "deque",
                                                   "queue",
                                                   "stack",
                                                   "ostream",
                                                   "istream",
                                                   "ofstream",
                                                   "ifstream",
                                                   "fstream",
                                                   "mt19937",
                                                   "mt19937_64",
                                                   "stringstream",
                                                   "ostringstream",
                                                   "istringstream",
                                                   "chrono",
                                                   "random_device",
                                                   "unique_ptr",
                                                   "shared_ptr",
                                                   "function",
                                                   "thread",
                                                   "mutex",
                                                   "exception",
                                                   "runtime_error",
                                                   "default_random_engine",
                                                   "filesystem",
                                                   "string_view",
                                                   "future",
                                                   "atomic_flag",
                                                   "uniform_real_distribution",
                                                   "cout",
                                                   "cerr",
                                                   "invalid_argument",
                                                   "logic_error"};
  return names.contains(word);
}

class Scanner {
 public:
  Scanner(std::string_view text, const std::set<std::string>& macros)
      : text_(text), tokens_(cpp_tokens(text)), macros_(macros) {
    code_.text = text;
  }

  DeviceCode run() {
    const bool whole = balanced();
    if (whole) scope(0, tokens_.size());
    if (!whole || !code_.cut_anything) code_.text = text_;
    return std::move(code_);
  }

 private:
  bool balanced() const {
    std::string open;
    for (const std::string_view token : tokens_) {
      if (token == "{" || token == "(") open += token;
      if (token == "}" || token == ")") {
        if (open.empty() || open.back() != (token == "}" ? '{' : '(')) return false;
        open.pop_back();
      }
    }
    return open.empty();
  }

  std::string_view at(std::size_t i) const {
    return i < tokens_.size() ? tokens_[i] : std::string_view();
  }

  /// The index behind the bracket that closes the one at `open`.
  std::size_t behind(std::size_t open) const {
    std::size_t depth = 0;
    for (std::size_t i = open; i < tokens_.size(); ++i) {
      const std::string_view t = tokens_[i];
      if (t == "{" || t == "(" || t == "[") ++depth;
      if ((t == "}" || t == ")" || t == "]") && --depth == 0) return i + 1;
    }
    return tokens_.size();
  }

  /// The index behind the < > list that opens at `open`.
  std::size_t behind_angles(std::size_t open) const {
    std::size_t depth = 0;
    for (std::size_t i = open; i < tokens_.size(); ++i) {
      const std::string_view t = tokens_[i];
      if (t == "(" || t == "[" || t == "{") {
        i = behind(i) - 1;
      } else if (t == "<") {
        ++depth;
      } else if (t == ">" && --depth == 0) {
        return i + 1;
      }
    }
    return tokens_.size();
  }

  bool has(std::size_t begin, std::size_t end, std::string_view word) const {
    return std::find(tokens_.begin() + static_cast<std::ptrdiff_t>(begin),
                     tokens_.begin() + static_cast<std::ptrdiff_t>(end),
                     word) != tokens_.begin() + static_cast<std::ptrdiff_t>(end);
  }

  bool is_device(std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin; i < end; ++i) {
      const std::string_view t = tokens_[i];
      if (t == "__device__" || t == "__global__" || t == "__constant__" || t == "__shared__" ||
          t == "__managed__" || macros_.contains(std::string(t))) {
        return true;
      }
    }
    return false;
  }

  /// Whether the tokens name something that only the host's library has.
  bool is_host(std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin; i < end; ++i) {
      if (tokens_[i] == "FILE" || tokens_[i] == "thrust") return true;
      if (!is_host_name(tokens_[i])) continue;
      const bool qualified = i >= 2 && tokens_[i - 1] == ":" && tokens_[i - 2] == ":";
      if (qualified ? i >= 3 && tokens_[i - 3] == "std" : at(i + 1) == "<") return true;
    }
    return false;
  }

  void cut(std::size_t begin, std::size_t end) {
    if (begin >= end) return;
    const auto first = static_cast<std::size_t>(tokens_[begin].data() - text_.data());
    const std::string_view last_token = tokens_[end - 1];
    const auto last =
        static_cast<std::size_t>(last_token.data() - text_.data()) + last_token.size();
    // Preprocessor lines in between are cut too: their conditions are balanced around functions.
    bool in_directive = false, line_start = false;
    for (std::size_t i = first; i < last; ++i) {
      char& c = code_.text[i];
      if (c == '\n') {
        if (i == 0 || code_.text[i - 1] != '\\') in_directive = false;
        line_start = true;
        continue;
      }
      if (line_start && c == '#') in_directive = true;
      if (c != ' ' && c != '\t' && c != '\r') line_start = false;
      if (!in_directive && c != '\t' && c != '\r') c = ' ';
    }
    code_.cut_anything = true;
  }

  void scope(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end;) i = declaration(i, end, false);
  }

  /// Reads one declaration from `begin`; returns the index behind it.
  std::size_t declaration(std::size_t begin, std::size_t end, bool in_class) {
    if (tokens_[begin] == ";" || tokens_[begin] == "}") return begin + 1;
    if (in_class && at(begin + 1) == ":" && at(begin + 2) != ":") return begin + 2;  // public:
    const std::size_t after = enter_namespace(begin);
    if (after != begin) return after;

    std::size_t i = begin;
    while (at(i) == "template" && at(i + 1) == "<") i = behind_angles(i + 1);
    const std::size_t head = i;
    std::optional<std::size_t> parameters;  // the ( of a function's parameters
    bool is_type = false, assigned = false, colon = false;
    for (; i < end; ++i) {
      const std::string_view t = tokens_[i];
      if (t == ";") break;
      if (t == "class" || t == "struct" || t == "union" || t == "enum") {
        is_type = is_type || !parameters;
      } else if (t == "=" && !(i > head && tokens_[i - 1] == "operator")) {
        assigned = assigned || at(i - 1) != "operator";
      } else if (t == "operator") {
        // operator()(...), operator==(...): its own signs are part of the name, not brackets.
        if (at(i + 1) == "(") ++i;
        while (i + 1 < end && at(i + 1) != "(") ++i;
      } else if (t == "(") {
        const bool attribute =
            i > 0 && (tokens_[i - 1] == "__attribute__" || tokens_[i - 1] == "__launch_bounds__" ||
                      tokens_[i - 1] == "__align__" || tokens_[i - 1] == "alignas" ||
                      tokens_[i - 1] == "decltype");
        if (!attribute && !assigned && !parameters) parameters = i;
        i = behind(i) - 1;
      } else if (t == "[") {
        i = behind(i) - 1;
      } else if (t == ":" && parameters && at(i + 1) != ":" && at(i - 1) != ":") {
        colon = true;  // initialisers of a constructor: name(...) or name{...}, ... {
      } else if (t == "{") {
        if (colon && (is_word(at(i - 1)) || at(i - 1) == ">")) {
          i = behind(i) - 1;
          continue;
        }
        if (assigned || (!parameters && !is_type)) {  // = {...}, x{...}
          i = behind(i) - 1;
          continue;
        }
        if (is_type && !parameters) {
          i = type(begin, head, i, end) - 1;
          if (type_was_cut_) break;
          continue;
        }
        const std::size_t stop = behind(i);
        function(begin, head, *parameters, i, stop, in_class);
        return stop;
      }
    }
    const std::size_t stop = std::min(i + 1, end);
    if (is_type) return stop;
    if (parameters && !assigned && !declares_variable(head)) {
      function(begin, head, *parameters, stop, stop, in_class);
    } else {
      variable(begin, head, stop, in_class);
    }
    return stop;
  }

  std::size_t enter_namespace(std::size_t begin) {
    std::size_t i = begin;
    if (at(i) == "inline") ++i;
    if (at(i) == "namespace") {
      while (i < tokens_.size() && tokens_[i] != "{" && tokens_[i] != ";" && tokens_[i] != "=") ++i;
      if (at(i) != "{") {
        while (i < tokens_.size() && tokens_[i] != ";") ++i;
        return i + 1;
      }
    } else if (at(begin) == "extern" && at(begin + 1).starts_with('"') && at(begin + 2) == "{") {
      i = begin + 2;
    } else {
      return begin;
    }
    const std::size_t stop = behind(i);
    if (++depth_ <= deepest) scope(i + 1, stop - 1);
    --depth_;
    return stop;
  }

  /// Reads a class whose body opens at `open`; returns the index behind the body. A class with
  /// members of the host's library belongs to the host as a whole.
  std::size_t type(std::size_t begin, std::size_t head, std::size_t open, std::size_t end) {
    const std::size_t stop = behind(open);
    type_was_cut_ = false;
    if (has(head, open, "enum")) return stop;
    if (is_host(head, open) || holds_host_members(open + 1, stop - 1)) {
      std::size_t last = stop;
      while (last < end && tokens_[last] != ";") ++last;
      cut(begin, std::min(last + 1, end));
      type_was_cut_ = true;
      return last + 1;
    }
    if (++depth_ <= deepest) {
      for (std::size_t i = open + 1; i < stop - 1;) i = declaration(i, stop - 1, true);
    }
    --depth_;
    type_was_cut_ = false;
    return stop;
  }

  /// Whether there are such members outside the bodies of functions.
  bool holds_host_members(std::size_t begin, std::size_t end) const {
    std::size_t from = begin;
    for (std::size_t i = begin; i < end; ++i) {
      if (tokens_[i] == "{") {
        i = behind(i) - 1;
        from = i + 1;
      } else if (tokens_[i] == ";") {
        if (!has(from, i, "(") && is_host(from, i)) return true;
        from = i + 1;
      }
    }
    return false;
  }

  bool declares_variable(std::size_t head) const {
    const std::string_view first = at(head);
    return first == "using" || first == "typedef" || first == "static_assert" || first == "asm" ||
           first == "friend";
  }

  void function(std::size_t begin, std::size_t head, std::size_t parameters, std::size_t body,
                std::size_t stop, bool in_class) {
    if (is_device(begin, body)) return;
    if (at(head) == "static_assert") return;
    if (has(parameters, body, "default") || has(parameters, body, "delete")) return;
    if (has(head, parameters, "constexpr") && !is_host(head, body)) {
      code_.unannotated = true;
      return;
    }
    const std::string_view name = at(parameters - 1);
    const auto known = std::find(code_.left_out.begin(), code_.left_out.end(), name);
    if (!in_class && is_word(name) && body != stop && known == code_.left_out.end()) {
      code_.left_out.emplace_back(name);
    }
    cut(begin, stop);
  }

  void variable(std::size_t begin, std::size_t head, std::size_t stop, bool in_class) {
    if (is_device(begin, stop)) return;
    const std::string_view first = at(head);
    if (first == "using" && at(head + 1) == "namespace") return;
    const bool names_type = declares_variable(head);
    const bool constant = has(head, stop, "const") || has(head, stop, "constexpr");
    if (is_host(head, stop) || (!names_type && !constant && !in_class)) cut(begin, stop);
  }

  std::string_view text_;
  Tokens tokens_;
  const std::set<std::string>& macros_;
  DeviceCode code_;
  bool type_was_cut_ = false;
  int depth_ = 0;
  static constexpr int deepest = 100;  ///< nested classes and namespaces; deeper ones are kept
                                       ///< whole
};

}  // namespace

void find_device_macros(std::string_view text, std::set<std::string>& macros) {
  for (const std::string_view raw : split(text, '\n')) {
    std::string_view line = trim(raw);
    if (!line.starts_with('#')) continue;
    line = trim(line.substr(1));
    if (!line.starts_with("define")) continue;
    const Tokens tokens = cpp_tokens(line.substr(6));
    if (tokens.size() < 2 || !is_word(tokens[0])) continue;
    const bool device = std::any_of(tokens.begin() + 1, tokens.end(), [&](std::string_view t) {
      return t == "__device__" || t == "__global__" || t == "__constant__" ||
             macros.contains(std::string(t));
    });
    if (device) macros.emplace(tokens[0]);
  }
}

DeviceCode without_host_code(std::string_view text, const std::set<std::string>& device_macros) {
  return Scanner(text, device_macros).run();
}

}  // namespace tilescope::compile
