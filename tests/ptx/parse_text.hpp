// Short ways to get a module from a few lines of PTX.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <tilescope/error.hpp>

#include "ptx/module_parser.hpp"

namespace tilescope::ptx {

/// Behind the three directives that every module begins with: the first line of `text` is line 4.
inline std::string with_head(std::string_view text) {
  return ".version 9.0\n.target sm_90\n.address_size 64\n" + std::string(text);
}

inline Module parse_text(std::string_view text) {
  return parse(with_head(text), "t.ptx");
}

/// A kernel `k` with a few registers of each type. `body` begins on line 10.
inline std::string kernel(std::string_view body) {
  return with_head(
             ".entry k(.param .u64 k_param_0) {\n"
             ".reg .pred %p<9>; .reg .b16 %rs<9>;\n"
             ".reg .b32 %r<99>;\n"
             ".reg .b64 %rd<99>;\n"
             ".reg .f32 %f<9>; .reg .f64 %fd<9>;\n"
             "\n") +
         std::string(body) + "\n}\n";
}

inline Module parse_kernel(std::string_view body) {
  return parse(kernel(body), "t.ptx");
}

inline const Variable& variable(const Module& module, std::string_view name) {
  return module.variables.at(module.find_variable(name));
}

/// The error of parsing `text`; "" if it parses.
inline std::string error_of(std::string_view text) {
  try {
    parse(text, "t.ptx");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    return error.what();
  }
  return "";
}

}  // namespace tilescope::ptx
