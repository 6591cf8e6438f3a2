#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <tilescope/error.hpp>
#include <tilescope/launch_description.hpp>

#include "base/errors.hpp"
#include "base/text.hpp"
#include "inspect/scalar_value.hpp"

namespace tilescope {
namespace {

constexpr std::string_view forms =
    "write TYPE:VALUE (i32:256, f32:2.5), TYPE[COUNT]=INIT (f32[1024]=iota), INIT being zeros, "
    "ones, iota, random[:SEED], uninitialised, a number or @FILE.npy, or a structure {MEMBER, ...}";

constexpr std::size_t most_members = 4096;  // of a structure; parameters have at most 32 KiB
constexpr int most_nested = 16;

/// Puts the whole argument into every message.
class ArgumentParser {
 public:
  ArgumentParser(std::string_view text, const char* option, bool may_be_shared)
      : text_(text), option_(option), may_be_shared_(may_be_shared) {
    argument_.text = text;
  }

  LaunchArgument parse() {
    std::string_view rest = take_name(trim(text_));
    if (rest.starts_with('{')) {
      structure(rest, 0);
      if (!rest.empty()) refuse("nothing may follow the last }");
    } else {
      value(rest);
    }
    return std::move(argument_);
  }

 private:
  void value(std::string_view rest) {
    if (may_be_shared_ && is_identifier(rest)) {
      argument_.is_array = true;
      argument_.initial = Initial::shared;
      argument_.name = rest;
      return;
    }
    const std::size_t end = rest.find_first_of(":[");
    if (end == std::string_view::npos || end == 0) refuse(std::string(forms));
    argument_.type = type_of(rest.substr(0, end));
    const char kind = rest[end];
    rest.remove_prefix(end + 1);
    if (kind == ':') {
      scalar(rest);
    } else {
      array(rest);
    }
  }

  /// "{f32[8]=zeros, {u8:1, f64:2}}" at the start of `rest`, which keeps what follows.
  void structure(std::string_view& rest, int depth) {
    if (depth == most_nested) refuse("structures are nested at most 16 deep");
    rest.remove_prefix(1);
    while (true) {
      member(rest, depth);
      if (argument_.members.size() > most_members) refuse("a structure has at most 4096 members");
      const char next = rest.empty() ? '\0' : rest.front();
      if (next != ',' && next != '}') refuse("the } at a structure's end is missing");
      rest.remove_prefix(1);
      if (next == '}') break;
    }
    rest = trim(rest);
  }

  /// One member, or N*MEMBER.
  void member(std::string_view& rest, int depth) {
    rest = trim(rest);
    std::size_t times = 1;
    const std::size_t star = std::min(rest.find_first_not_of("0123456789"), rest.size());
    if (star > 0 && star < rest.size() && rest[star] == '*') {
      const auto [stop, error] = std::from_chars(rest.data(), rest.data() + star, times);
      if (error != std::errc{} || stop != rest.data() + star || times == 0 ||
          times > most_members) {
        refuse("a member is repeated 1 to 4096 times");
      }
      rest = trim(rest.substr(star + 1));
    }
    ArgumentParser parser(text_, option_, may_be_shared_);
    std::string_view text = rest;
    if (const std::string_view unnamed = parser.take_name(rest); unnamed.starts_with('{')) {
      rest = unnamed;
      parser.structure(rest, depth + 1);
      text.remove_suffix(rest.size());
    } else {
      text = rest.substr(0, member_end(rest));
      rest.remove_prefix(text.size());
      parser.value(parser.take_name(trim(text)));
    }
    parser.argument_.text = trim(text);
    for (std::size_t i = 0; i < times; ++i) argument_.members.push_back(parser.argument_);
  }

  static bool is_identifier(std::string_view text) {
    return !text.empty() && !std::isdigit(static_cast<unsigned char>(text.front())) &&
           std::all_of(text.begin(), text.end(),
                       [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  }

  /// A comma ends a member, unless another number of its own follows: f32:1,2,3.
  static std::size_t member_end(std::string_view rest) {
    std::size_t end = 0;
    while ((end = std::min(rest.find_first_of(",}", end), rest.size())) < rest.size() &&
           rest[end] == ',') {
      const std::string_view next = rest.substr(end + 1);
      const std::size_t stop = next.find_first_of(",}:[{*=");
      const bool is_plain = stop != next.npos && (next[stop] == ',' || next[stop] == '}');
      const std::string_view word = trim(next.substr(0, stop));
      if (!is_plain || (is_identifier(word) && word != "inf" && word != "nan")) break;
      ++end;
    }
    return end;
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw usage_error("{} {}: {}", option_, printable(text_, 120), why);
  }

  template <typename Function>
  auto with_context(Function&& function) const {
    try {
      return function();
    } catch (const Error& error) {
      refuse(error.what());
    }
  }

  DataType type_of(std::string_view name) const {
    if (name == "bool") return DataType::boolean;
    return with_context([&] { return parse_data_type(name); });
  }

  /// A leading NAME= : an identifier before an equals sign.
  std::string_view take_name(std::string_view text) {
    std::size_t length = 0;
    while (length < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[length])) || text[length] == '_')) {
      ++length;
    }
    if (length == 0 || length == text.size() || text[length] != '=') return text;
    if (std::isdigit(static_cast<unsigned char>(text.front()))) {
      refuse("a name begins with a letter");
    }
    argument_.name = text.substr(0, length);
    return text.substr(length + 1);
  }

  void scalar(std::string_view values) {
    if (values.find('>') != std::string_view::npos) refuse("only an array can be saved with >FILE");
    constexpr std::size_t most_elements = 16;  // enough for a double4 or a 4 x 4 struct
    const std::vector<std::string_view> pieces = split(values, ',');
    if (pieces.size() > most_elements) refuse("at most 16 values make one parameter");
    for (const std::string_view piece : pieces) {
      const std::vector<std::byte> bytes =
          with_context([&] { return inspect::parse_scalar(trim(piece), argument_.type); });
      argument_.value.insert(argument_.value.end(), bytes.begin(), bytes.end());
    }
  }

  void array(std::string_view rest) {
    argument_.is_array = true;
    const std::size_t close = rest.find(']');
    if (close == std::string_view::npos) refuse("the ] after the count is missing");
    const std::string_view count = trim(rest.substr(0, close));
    if (!count.empty()) argument_.count = parse_count(count);
    rest.remove_prefix(close + 1);
    if (!rest.starts_with('=')) refuse("after the count comes =INIT, such as =zeros");
    rest.remove_prefix(1);
    if (const std::size_t arrow = rest.rfind('>'); arrow != std::string_view::npos) {
      argument_.save_to = trim(rest.substr(arrow + 1));
      if (argument_.save_to.empty()) refuse("after > comes the .npy file to save to");
      if (is_unknown_to_numpy()) {
        refuse(fmt::format("NumPy has no {}, so it cannot be saved; declare the array as {}",
                           inspect::short_name_of(argument_.type), words()));
      }
      rest = rest.substr(0, arrow);
    }
    initial(trim(rest));
    if (!argument_.count && argument_.initial != Initial::file) {
      refuse("the count may be left out only with @FILE.npy");
    }
  }

  bool is_unknown_to_numpy() const {
    return argument_.type == DataType::bfloat16 || is_float8(argument_.type);
  }
  /// The type of NumPy for the elements' bits.
  std::string_view words() const { return size_of(argument_.type) == 1 ? "u8" : "u16"; }

  std::uint64_t parse_count(std::string_view text) const {
    std::uint64_t product = 1;
    for (const std::string_view piece : split(text, '*')) {
      const std::string_view digits = trim(piece);
      std::uint64_t factor = 0;
      const char* const end = digits.data() + digits.size();
      const auto [stop, error] = std::from_chars(digits.data(), end, factor);
      if (error == std::errc::invalid_argument || stop != end) {
        refuse(fmt::format("the count \"{}\" is no number such as 1024 or 64*64",
                           printable(text, 60)));
      }
      const std::uint64_t most = most_array_bytes / size_of(argument_.type);
      if (error != std::errc{} || (factor != 0 && product > most / factor)) {
        refuse(fmt::format("{} elements of {} bytes exceed 1 TiB, more than any GPU has",
                           printable(text, 60), size_of(argument_.type)));
      }
      product *= factor;
    }
    return product;
  }

  void initial(std::string_view text) {
    if (text == "zeros") {
      argument_.initial = Initial::zeros;
    } else if (text == "ones") {
      argument_.initial = Initial::ones;
    } else if (text == "iota") {
      argument_.initial = Initial::iota;
    } else if (text == "uninitialised" || text == "uninitialized") {
      argument_.initial = Initial::uninitialised;
    } else if (text == "random" || text.starts_with("random:")) {
      random(text);
    } else if (text.starts_with('@')) {
      argument_.initial = Initial::file;
      argument_.load_from = text.substr(1);
      if (argument_.load_from.empty()) refuse("after @ comes a .npy file");
      if (is_unknown_to_numpy()) {
        refuse(fmt::format("NumPy has no {}, so no .npy file holds it; declare the array as {}",
                           inspect::short_name_of(argument_.type), words()));
      }
    } else {
      number(text);
    }
  }

  void random(std::string_view text) {
    argument_.initial = Initial::random;
    if (text == "random") return;
    const std::string_view seed = text.substr(sizeof "random:" - 1);
    const char* const end = seed.data() + seed.size();
    const auto [stop, error] = std::from_chars(seed.data(), end, argument_.seed);
    if (error != std::errc{} || stop != end) {
      refuse(fmt::format("the seed \"{}\" is no number from 0 to 2^64 - 1", printable(seed, 60)));
    }
  }

  void number(std::string_view text) {
    const bool like_a_number =
        !text.empty() && (std::isdigit(static_cast<unsigned char>(text.front())) ||
                          std::string_view("+-.").find(text.front()) != std::string_view::npos ||
                          text == "inf" || text == "nan");
    if (!like_a_number) {
      const std::string_view near =
          nearest(text, {"zeros", "ones", "iota", "random", "uninitialised"});
      refuse(fmt::format(
          "\"{}\" is no INIT{}; use zeros, ones, iota, random[:SEED], "
          "uninitialised, a number or @FILE.npy",
          printable(text, 60), near.empty() ? "" : fmt::format(" (did you mean {}?)", near)));
    }
    argument_.initial = Initial::value;
    argument_.value = with_context([&] { return inspect::parse_scalar(text, argument_.type); });
  }

  std::string_view text_;
  const char* option_;
  bool may_be_shared_;
  LaunchArgument argument_;
};

}  // namespace

LaunchArgument parse_argument(std::string_view text, bool may_be_shared) {
  return ArgumentParser(text, "--arg", may_be_shared).parse();
}

LaunchArgument parse_constant(std::string_view text) {
  LaunchArgument constant = ArgumentParser(text, "--constant", false).parse();
  if (!constant.name.empty()) return constant;
  throw usage_error(
      "--constant {}: the variable's name and = come first, "
      "such as coef=f32[4]=ones",
      printable(text, 120));
}

}  // namespace tilescope
