// Results as data: named values, nested like the result. Renderers format them by the unit in their
// names, so a new renderer can format every value.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <tilescope/launch.hpp>
#include <variant>
#include <vector>

namespace tilescope::report {

struct Value;
struct Field;
using List = std::vector<Value>;

/// Named values, in the order of their addition.
class Record {
 public:
  Record() = default;
  Record(std::initializer_list<Field> fields);

  /// Adds a value, or replaces that of the same name.
  Record& set(std::string key, Value value);
  /// Sets a value for sentences and tables that is no part of the data.
  Record& let(std::string key, Value value);
  /// Sets all fields of `other`.
  Record& set_all(const Record& other);

  /// The value of a name, or of a path such as "burst.array_ns"; nullptr if there is none.
  const Value* find(std::string_view path) const;
  const std::vector<Field>& fields() const { return fields_; }
  /// The list of that name; an empty one is added if there is none.
  List& list(std::string_view key);

  /// `sentence` with values for its placeholders: {key} is formatted by the unit in its name (see
  /// text_of), {key:FORMAT} by FORMAT, and {key?WORDS} is WORDS if there is no such value. Throws
  /// std::logic_error for an unknown name.
  std::string fill(std::string_view sentence) const;

 private:
  Record& put(Field field);
  std::vector<Field> fields_;
};

/// Nothing, a truth value, a number, a text, or more values.
struct Value {
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, List, Record>
      data;

  Value() = default;
  Value(std::nullptr_t) {}
  Value(std::same_as<bool> auto truth) : data(truth) {}
  template <std::integral Number>
  requires(!std::same_as<Number, bool>) Value(Number number) {
    if constexpr (std::signed_integral<Number>) {
      data = std::int64_t{number};
    } else {
      data = std::uint64_t{number};
    }
  }
  Value(double number) : data(number) {}
  Value(const char* text) : data(std::string(text)) {}
  Value(std::string_view text) : data(std::string(text)) {}
  Value(std::string text) : data(std::move(text)) {}
  Value(List list) : data(std::move(list)) {}
  Value(Record record) : data(std::move(record)) {}
  Value(const Dim3& extents) : data(List{extents.x, extents.y, extents.z}) {}
  template <typename Element>
  Value(const std::vector<Element>& elements) : data(List(elements.begin(), elements.end())) {}
  template <typename Some>
  Value(const std::optional<Some>& some) {
    if (some) *this = Value(*some);
  }

  bool is_null() const { return std::holds_alternative<std::monostate>(data); }
};

struct Field {
  std::string key;
  Value value;
  bool text_only = false;  ///< set by let()
};

/// `number` if it is positive; 0 means unknown.
inline Value known(double number) {
  return number > 0.0 ? Value(number) : Value();
}
/// `text` unless it is empty.
inline Value or_null(std::string_view text) {
  return text.empty() ? Value() : Value(text);
}

/// A value for people. FORMAT is one of
///   count     1,048,576              bytes    1.00 MiB        time     3.21 ms, from seconds
///   ms        time from milliseconds flops    51.0 TFLOP/s    rate     4.29 TB/s
///   percent   12.5%, from a share    s, es    the end of a plural, unless the value is 1
///   short     16.8M, from a count
///   barN      N times '#' for 1      plain    digits alone    extents  16 x 16 x 1
///   few_extents  16 x 16, without trailing extents of 1
/// or what fmt takes for a number, such as .3f. Without one, the end of `key` decides: _bytes, _ms,
/// flops_per_second, bytes_per_second, _share; else whole numbers are counts and other numbers have
/// four digits.
std::string text_of(const Value& value, std::string_view key, std::string_view format = {});

}  // namespace tilescope::report
