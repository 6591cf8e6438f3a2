#include "report/page/value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>
#include <stdexcept>

#include "base/format.hpp"

namespace tilescope::report {
namespace {

/// The format for the end of a key.
std::string_view format_of(std::string_view key) {
  constexpr std::pair<std::string_view, std::string_view> formats[] = {
      {"flops_per_second", "flops"}, {"bytes_per_second", "rate"},
      {"_bytes", "bytes"},           {"_ms", "ms"},
      {"_share", "percent"},
  };
  for (const auto& [end, format] : formats) {
    if (key.ends_with(end)) return format;
  }
  return {};
}

std::string number_text(double number, std::string_view format) {
  if (format == "time") return format_duration(number);
  if (format == "ms") return format_duration(number * 1e-3);
  if (format == "flops") return format_rate(number, "FLOP/s");
  if (format == "rate") return format_rate(number, "B/s");
  if (format == "bytes") return format_bytes(static_cast<std::uint64_t>(number));
  if (format == "percent") return fmt::format("{:.1f}%", 100.0 * number);
  if (format == "s") return number == 1.0 ? "" : "s";
  if (format == "es") return number == 1.0 ? "" : "es";
  if (format == "count") return format_count(static_cast<std::int64_t>(number));
  if (format.starts_with("bar")) {
    double width = 0;
    std::from_chars(format.data() + 3, format.data() + format.size(), width);
    return std::string(static_cast<std::size_t>(std::max(0.0, width * number)), '#');
  }
  return fmt::format(fmt::runtime(fmt::format("{{:{}}}", format.empty() ? ".4g" : format)), number);
}

/// "12345", "786k", "16.8M": at most five characters.
std::string short_count(std::uint64_t count) {
  if (count < 100000) return fmt::format("{}", count);
  constexpr std::string_view units = "kMGTPE";
  double value = static_cast<double>(count) / 1000.0;
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < units.size()) {
    value /= 1000.0;
    ++unit;
  }
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f}{}", value, decimals, units[unit]);
}

template <typename Whole>
std::string whole_text(Whole number, std::string_view format) {
  if (format.empty() || format == "count") return format_count(number);
  if (format == "short" && number >= 0) return short_count(static_cast<std::uint64_t>(number));
  if (format == "plain") return fmt::format("{}", number);
  if (format == "bytes" && number >= 0) return format_bytes(static_cast<std::uint64_t>(number));
  return number_text(static_cast<double>(number), format);
}

}  // namespace

Record::Record(std::initializer_list<Field> fields) {
  fields_.reserve(fields.size());
  for (const Field& field : fields) put(field);
}

Record& Record::put(Field field) {
  const auto same = std::find_if(fields_.begin(), fields_.end(),
                                 [&](const Field& known) { return known.key == field.key; });
  if (same == fields_.end()) {
    fields_.push_back(std::move(field));
  } else {
    *same = std::move(field);
  }
  return *this;
}

Record& Record::set(std::string key, Value value) {
  return put({std::move(key), std::move(value), false});
}

Record& Record::let(std::string key, Value value) {
  return put({std::move(key), std::move(value), true});
}

Record& Record::set_all(const Record& other) {
  for (const Field& field : other.fields_) put(field);
  return *this;
}

const Value* Record::find(std::string_view path) const {
  const std::string_view key = path.substr(0, path.find('.'));
  for (const Field& field : fields_) {
    if (field.key != key) continue;
    if (key.size() == path.size()) return &field.value;
    const auto* inner = std::get_if<Record>(&field.value.data);
    return inner == nullptr ? nullptr : inner->find(path.substr(key.size() + 1));
  }
  return nullptr;
}

List& Record::list(std::string_view key) {
  for (Field& field : fields_) {
    if (field.key == key) return std::get<List>(field.value.data);
  }
  fields_.push_back({std::string(key), List{}});
  return std::get<List>(fields_.back().value.data);
}

std::string Record::fill(std::string_view sentence) const {
  std::string text;
  for (std::size_t at = 0; at < sentence.size();) {
    const std::size_t open = std::min(sentence.find('{', at), sentence.size());
    text += sentence.substr(at, open - at);
    if (open == sentence.size()) break;
    const std::size_t close = sentence.find('}', open);
    if (close == sentence.npos) throw std::logic_error(fmt::format("no }} in \"{}\"", sentence));
    const std::string_view inside = sentence.substr(open + 1, close - open - 1);
    const std::size_t question = inside.find('?');
    const std::string_view path = inside.substr(0, inside.find_first_of(":?"));
    const std::size_t colon = path.size() < inside.size() && inside[path.size()] == ':'
                                  ? path.size() + 1
                                  : std::string_view::npos;
    const Value* value = find(path);
    if (question != inside.npos && (value == nullptr || value->is_null())) {
      text += inside.substr(question + 1);
    } else if (value == nullptr) {
      throw std::logic_error(fmt::format("no value is named {} in \"{}\"", path, sentence));
    } else {
      text += text_of(*value, path,
                      colon == inside.npos
                          ? std::string_view()
                          : inside.substr(colon, std::min(question, inside.size()) - colon));
    }
    at = close + 1;
  }
  return text;
}

std::string text_of(const Value& value, std::string_view key, std::string_view format) {
  if (format.empty()) format = format_of(key);
  struct Visitor {
    std::string_view format;
    std::string operator()(std::monostate) const { return "-"; }
    std::string operator()(bool truth) const { return truth ? "yes" : "no"; }
    std::string operator()(std::int64_t number) const { return whole_text(number, format); }
    std::string operator()(std::uint64_t number) const { return whole_text(number, format); }
    std::string operator()(double number) const { return number_text(number, format); }
    std::string operator()(const std::string& text) const { return text; }
    std::string operator()(const List& list) const {
      std::string text;
      const bool is_extents = format == "extents" || format == "few_extents";
      std::size_t shown = list.size();
      if (format == "few_extents") {
        while (shown > 1 && text_of(list[shown - 1], {}, "plain") == "1") --shown;
      }
      for (const Value& element : std::span(list).first(shown)) {
        text += text.empty() ? "" : is_extents ? " x " : ", ";
        text += text_of(element, {}, is_extents ? "count" : format);
      }
      return text;
    }
    std::string operator()(const Record& record) const {
      std::string text;
      for (const Field& field : record.fields()) {
        text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", field.key,
                            text_of(field.value, field.key));
      }
      return text;
    }
  };
  return std::visit(Visitor{format}, value.data);
}

}  // namespace tilescope::report
