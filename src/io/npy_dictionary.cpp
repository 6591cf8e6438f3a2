// A reader of the one kind of Python literal that a .npy header holds. It has no recursion and no
// expressions: anything but a plain dictionary of three known keys is refused at its place.
#include <fmt/format.h>

#include <limits>
#include <optional>

#include "base/errors.hpp"
#include "base/text.hpp"
#include "io/npy_header.hpp"
#include "io/npy_types.hpp"

namespace tilescope::io {
namespace {

constexpr std::size_t most_dimensions = 64;  // NumPy's own limit

class DictionaryReader {
 public:
  DictionaryReader(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  NpyHeader read() {
    expect('{', "to open the dictionary");
    while (!take('}')) {
      read_entry();
      if (!take(',') && !next_is('}')) refuse_here("',' or '}' is needed after a value");
    }
    skip_white();
    if (position_ < text_.size()) refuse_here("nothing may follow the dictionary");
    if (!descr_) missing("descr");
    if (!fortran_order_) missing("fortran_order");
    if (!shape_) missing("shape");
    return {.type = type_of_descr(*descr_, path_),
            .fortran_order = *fortran_order_,
            .shape = std::move(*shape_)};
  }

 private:
  void read_entry() {
    const std::string_view key = read_string("a key in quotes is needed");
    expect(':', "after a key");
    if (key == "descr") {
      once(descr_.has_value(), key);
      read_descr();
    } else if (key == "fortran_order") {
      once(fortran_order_.has_value(), key);
      fortran_order_ = read_bool();
    } else if (key == "shape") {
      once(shape_.has_value(), key);
      shape_ = read_shape();
    } else {
      refuse(
          fmt::format("the key '{}' is unknown; a .npy header has descr, fortran_order and shape",
                      printable(key, 40)));
    }
  }

  void read_descr() {
    if (next_is('[') || next_is('(')) {
      refuse(
          "the array is structured (its elements are records), and plain numbers are needed; save "
          "one field, a['name']");
    }
    descr_ = read_string("descr must be a type name in quotes, such as '<f4'");
  }

  bool read_bool() {
    skip_white();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(position_, word.size()) == word) {
        position_ += word.size();
        return value;
      }
    }
    refuse_here("fortran_order must be True or False");
  }

  std::vector<std::uint64_t> read_shape() {
    expect('(', "to open the shape, a tuple such as (3, 5)");
    std::vector<std::uint64_t> shape;
    bool comma = false;
    while (!take(')')) {
      if (!shape.empty() && !comma) refuse_here("',' or ')' is needed after an extent");
      if (shape.size() == most_dimensions) {
        refuse(fmt::format("the shape has more than {} dimensions", most_dimensions));
      }
      shape.push_back(read_extent());
      comma = take(',');
    }
    if (shape.size() == 1 && !comma) refuse("the shape is a number, and a tuple is needed: (3,)");
    return shape;
  }

  std::uint64_t read_extent() {
    skip_white();
    const std::size_t begin = position_;
    const bool negative = take('-');
    std::uint64_t value = 0;
    bool too_large = false;
    const std::size_t digits = position_;
    while (position_ < text_.size() && text_[position_] >= '0' && text_[position_] <= '9') {
      const auto digit = static_cast<std::uint64_t>(text_[position_++] - '0');
      constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
      too_large = too_large || value > (largest - digit) / 10;
      if (!too_large) value = value * 10 + digit;
    }
    const std::string number = printable(text_.substr(begin, position_ - begin), 40);
    if (position_ == digits) refuse_here("an extent of the shape must be a whole number");
    if (negative) refuse(fmt::format("the extent {} is negative", number));
    if (too_large) refuse(fmt::format("the extent {} does not fit in 63 bits", number));
    if (text_[digits] == '0' && position_ - digits > 1) {
      refuse(fmt::format("the extent {} has a leading zero", number));
    }
    take('L');  // a Python 2 long, as old versions of NumPy wrote it
    return value;
  }

  std::string_view read_string(const char* need) {
    skip_white();
    if (!next_is('\'') && !next_is('"')) refuse_here(need);
    const char quote = text_[position_++];
    const std::size_t begin = position_;
    while (position_ < text_.size() && text_[position_] != quote) {
      const auto byte = static_cast<unsigned char>(text_[position_]);
      if (byte < 0x20 || byte > 0x7e || byte == '\\') {
        refuse_here("a name may hold printable ASCII characters only");
      }
      ++position_;
    }
    if (position_ == text_.size()) refuse("the header ends inside a quoted name");
    return text_.substr(begin, position_++ - begin);
  }

  void skip_white() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n' ||
                                        text_[position_] == '\t' || text_[position_] == '\r')) {
      ++position_;
    }
  }

  bool next_is(char c) {
    skip_white();
    return position_ < text_.size() && text_[position_] == c;
  }

  bool take(char c) {
    const bool found = next_is(c);
    if (found) ++position_;
    return found;
  }

  void expect(char c, const char* purpose) {
    if (!take(c)) refuse_here(fmt::format("'{}' is needed {}", c, purpose));
  }

  void once(bool present, std::string_view key) const {
    if (present) refuse(fmt::format("the key '{}' occurs twice", key));
  }

  [[noreturn]] void missing(const char* key) const {
    refuse(fmt::format("the key '{}' is missing", key));
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw input_error("{}: the .npy header is malformed: {}", quoted(path_), why);
  }

  [[noreturn]] void refuse_here(const std::string& why) const {
    if (position_ >= text_.size()) refuse(why + ", but the header ends");
    const auto byte = static_cast<unsigned char>(text_[position_]);
    const std::string found = byte > 0x20 && byte < 0x7f ? fmt::format("'{}'", text_[position_])
                                                         : fmt::format("byte 0x{:02x}", byte);
    refuse(fmt::format("{}, not {} at offset {}", why, found, position_));
  }

  std::string_view text_;
  const std::string& path_;
  std::size_t position_ = 0;
  std::optional<std::string_view> descr_;
  std::optional<bool> fortran_order_;
  std::optional<std::vector<std::uint64_t>> shape_;
};

}  // namespace

NpyHeader parse_npy_dictionary(std::string_view text, const std::string& path) {
  return DictionaryReader(text, path).read();
}

}  // namespace tilescope::io
