#include <fmt/format.h>

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
    "write TYPE:VALUE (i32:256, f32:2.5) or TYPE[COUNT]=INIT (f32[1024]=iota), INIT being zeros, "
    "ones, iota, random[:SEED], uninitialised, a number or @FILE.npy";

/// Puts the whole argument into every message.
class ArgumentParser {
 public:
  explicit ArgumentParser(std::string_view text) : text_(text) { argument_.text = text; }

  LaunchArgument parse() {
    std::string_view rest = take_name(trim(text_));
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
    return std::move(argument_);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw usage_error("--arg {}: {}", printable(text_, 120), why);
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
      if (argument_.type == DataType::bfloat16) {
        refuse("NumPy has no bf16, so it cannot be saved; declare the array as u16");
      }
      rest = rest.substr(0, arrow);
    }
    initial(trim(rest));
    if (!argument_.count && argument_.initial != Initial::file) {
      refuse("the count may be left out only with @FILE.npy");
    }
  }

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
      if (argument_.type == DataType::bfloat16) {
        refuse("NumPy has no bf16, so no .npy file holds it; declare the array as u16");
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
  LaunchArgument argument_;
};

}  // namespace

LaunchArgument parse_argument(std::string_view text) {
  return ArgumentParser(text).parse();
}

}  // namespace tilescope
