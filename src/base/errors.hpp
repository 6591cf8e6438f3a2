// Errors with a text that is formatted: throw usage_error("--tile {}: 1 to 32 are allowed", tile).
#pragma once

#include <fmt/format.h>

#include <tilescope/error.hpp>
#include <utility>

namespace tilescope {

template <typename... Values>
Error usage_error(fmt::format_string<Values...> text, Values&&... values) {
  return Error(ErrorKind::usage, fmt::format(text, std::forward<Values>(values)...));
}

template <typename... Values>
Error input_error(fmt::format_string<Values...> text, Values&&... values) {
  return Error(ErrorKind::bad_input, fmt::format(text, std::forward<Values>(values)...));
}

template <typename... Values>
Error device_error(fmt::format_string<Values...> text, Values&&... values) {
  return Error(ErrorKind::no_device, fmt::format(text, std::forward<Values>(values)...));
}

}  // namespace tilescope
