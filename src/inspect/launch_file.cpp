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
        parse_json_object(read_text_file(path_, std::uint64_t{1} << 24U), tilescope::quoted(path_));
    for (const auto& [key, value] : json.items()) member(key, value);
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

  void member(const std::string& key, const Json& value) {
    if (key == "kernel") {
      description_.kernel = text(key, value);
    } else if (key == "grid") {
      description_.grid = extents(key, value);
    } else if (key == "block") {
      description_.block = extents(key, value);
    } else if (key == "shared") {
      if (!value.is_number_unsigned()) refuse(key, "a number of bytes");
      description_.shared_bytes = value.get<std::uint64_t>();
    } else if (key == "cooperative") {
      if (!value.is_boolean()) refuse(key, "true or false");
      description_.cooperative = value.get<bool>();
    } else if (key == "defines") {
      defines(key, value);
    } else if (key == "include") {
      for (const Json& item : list(key, value)) {
        description_.include_directories.push_back(located(text(key, item)));
      }
    } else if (key == "args") {
      for (const Json& item : list(key, value)) argument(key, text(key, item));
    } else {
      const std::vector<std::string_view> keys = {"kernel",  "grid",    "block", "shared",
                                                  "defines", "include", "args",  "cooperative"};
      refuse(fmt::format("unknown key \"{}\"; the keys are {}", printable(key, 60),
                         fmt::join(keys, ", ")));
    }
  }

  std::string text(const std::string& key, const Json& value) const {
    if (!value.is_string()) refuse(key, "text");
    return value.get<std::string>();
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
      const std::string written = item.is_string() ? item.get<std::string>() : item.dump();
      description_.defines.push_back(
          parsed(key, [&] { return parse_define(fmt::format("{}={}", name, written)); }));
    }
  }

  void argument(const std::string& key, const std::string& written) {
    LaunchArgument argument = parsed(key, [&] { return parse_argument(written); });
    if (!argument.load_from.empty()) argument.load_from = located(argument.load_from);
    if (!argument.save_to.empty()) argument.save_to = located(argument.save_to);
    description_.arguments.push_back(std::move(argument));
  }

  std::string located(const std::string& path) const { return (folder_ / path).string(); }

  std::string path_;
  std::filesystem::path folder_;
  LaunchDescription description_;
};

}  // namespace

LaunchDescription read_launch_file(const std::string& path) {
  return LaunchFile(path).read();
}

}  // namespace tilescope
