#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <tilescope/error.hpp>
#include <tilescope/launch_description.hpp>

#include "base/errors.hpp"
#include "base/file.hpp"
#include "base/json_object.hpp"
#include "base/text.hpp"

namespace tilescope {
namespace {

using Json = nlohmann::json;

class LaunchFile {
 public:
  explicit LaunchFile(const std::string& path)
      : path_(path), folder_(std::filesystem::path(path).parent_path()) {}

  LaunchDescription read() {
    const Json json =
        parse_json(read_text_file(path_, std::uint64_t{1} << 24U), tilescope::quoted(path_));
    if (!json.is_object() && !json.is_array()) refuse("expected a launch {...} or a list of them");
    if (json.is_array()) {
      launches(json);
    } else {
      const auto arrays = json.find("arrays"), several = json.find("launches");
      if (arrays != json.end()) arrays_ = named("arrays", *arrays);
      for (const auto& [key, value] : json.items()) {
        if (key != "launches" && key != "arrays") member(key, value);
      }
      if (several != json.end()) launches(*several);
    }
    description_.arrays = std::move(arrays_);
    return std::move(description_);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw input_error("{}: {}", quoted(path_), why);
  }
  [[noreturn]] void refuse(const std::string& key, std::string_view wanted) const {
    refuse(fmt::format("\"{}\": expected {}", printable(key, 60), wanted));
  }

  template <typename Function>
  auto parsed(const std::string& key, Function&& function) const {
    try {
      return function();
    } catch (const Error& error) {
      refuse(fmt::format("\"{}\": {}", key, error.what()));
    }
  }

  /// Each of the launches begins with everything read so far.
  void launches(const Json& value) {
    const std::string key = "launches";
    if (!value.is_array() || value.empty()) refuse(key, "a list of launches {...}");
    const LaunchDescription common = description_;
    std::vector<LaunchDescription> read;
    for (const Json& item : value) {
      if (!item.is_object()) refuse(key, "a list of launches {...}");
      description_ = common;
      for (const auto& [inner, part] : item.items()) member(inner, part);
      read.push_back(std::move(description_));
    }
    description_ = std::move(read.front());
    description_.following.assign(std::make_move_iterator(read.begin() + 1),
                                  std::make_move_iterator(read.end()));
  }

  void member(const std::string& key, const Json& value) {
    if (key == "kernel") {
      description_.kernel = text(key, value);
    } else if (key == "grid") {
      description_.grid = extents(key, value);
    } else if (key == "block") {
      description_.block = extents(key, value);
    } else if (key == "cluster") {
      description_.cluster = extents(key, value);
    } else if (key == "shared") {
      if (!value.is_number_unsigned()) refuse(key, "a number of bytes");
      description_.shared_bytes = value.get<std::uint64_t>();
    } else if (key == "cooperative") {
      description_.cooperative = boolean(key, value);
    } else if (key == "overlaps_previous") {
      description_.overlaps_previous = boolean(key, value);
    } else if (key == "defines") {
      defines(key, value);
    } else if (key == "include") {
      for (const Json& item : list(key, value)) {
        description_.include_directories.push_back(located(text(key, item)));
      }
    } else if (key == "args") {
      description_.arguments.clear();
      for (const Json& item : list(key, value)) {
        description_.arguments.push_back(argument(key, text(key, item), !arrays_.empty()));
      }
    } else if (key == "constants") {
      for (LaunchArgument& constant : named(key, value)) {
        description_.constants.push_back(std::move(constant));
      }
    } else if (key == "guessed") {
      for (const Json& item : list(key, value)) description_.guessed.push_back(text(key, item));
    } else {
      const std::vector<std::string_view> keys = {
          "kernel",  "grid",      "block",    "cluster",          "shared",
          "defines", "include",   "args",     "cooperative",      "guessed",
          "arrays",  "constants", "launches", "overlaps_previous"};
      refuse(fmt::format("unknown key \"{}\"; the keys are {}", printable(key, 60),
                         fmt::join(keys, ", ")));
    }
  }

  std::string text(const std::string& key, const Json& value) const {
    if (!value.is_string()) refuse(key, "text");
    return value.get<std::string>();
  }

  bool boolean(const std::string& key, const Json& value) const {
    if (!value.is_boolean()) refuse(key, "true or false");
    return value.get<bool>();
  }

  const Json& list(const std::string& key, const Json& value) const {
    if (!value.is_array()) refuse(key, "a list of texts");
    return value;
  }

  Dim3 extents(const std::string& key, const Json& value) const {
    if (value.is_string()) {
      return parsed(key, [&] { return parse_extents(value.get<std::string>(), key); });
    }
    std::string joined;
    const auto add = [&](const Json& item) {
      if (!item.is_number_unsigned()) refuse(key, "a number, or a list of one to three");
      joined += fmt::format("{}{}", joined.empty() ? "" : ",", item.get<std::uint64_t>());
    };
    if (value.is_array()) {
      for (const Json& item : value) add(item);
    } else {
      add(value);
    }
    return parsed(key, [&] { return parse_extents(joined, key); });
  }

  void defines(const std::string& key, const Json& value) {
    if (!value.is_object()) refuse(key, "an object {\"NAME\": value, ...}");
    for (const auto& [name, item] : value.items()) {
      if (!item.is_string() && !item.is_number() && !item.is_boolean()) {
        refuse(key, "text or a number as each value");
      }
      const std::string define =
          fmt::format("{}={}", name, item.is_string() ? item.get<std::string>() : item.dump());
      description_.defines.push_back(parsed(key, [&] { return parse_define(define); }));
    }
  }

  LaunchArgument argument(const std::string& key, const std::string& written, bool may_be_shared) {
    LaunchArgument argument = parsed(key, [&] { return parse_argument(written, may_be_shared); });
    locate(argument);
    return argument;
  }

  /// The values of {"NAME": "TYPE[COUNT]=INIT", ...}.
  std::vector<LaunchArgument> named(const std::string& key, const Json& value) {
    if (!value.is_object()) refuse(key, "an object {\"NAME\": \"TYPE[COUNT]=INIT\", ...}");
    std::vector<LaunchArgument> read;
    for (const auto& [name, item] : value.items()) {
      read.push_back(argument(key, fmt::format("{}={}", name, text(key, item)), false));
      const LaunchArgument& last = read.back();
      if (last.name != name) refuse(key, "each name to be of letters, digits and _");
      if (key == "arrays" && !last.is_array) refuse(key, "arrays, TYPE[COUNT]=INIT");
    }
    return read;
  }

  /// Relative paths start from the file's folder.
  void locate(LaunchArgument& argument) const {
    if (!argument.load_from.empty()) argument.load_from = located(argument.load_from);
    if (!argument.save_to.empty()) argument.save_to = located(argument.save_to);
    for (LaunchArgument& member : argument.members) locate(member);
  }

  std::string located(const std::string& path) const { return (folder_ / path).string(); }

  std::string path_;
  std::filesystem::path folder_;
  LaunchDescription description_;
  std::vector<LaunchArgument> arrays_;
};

}  // namespace

LaunchDescription read_launch_file(const std::string& path) {
  return LaunchFile(path).read();
}

}  // namespace tilescope
