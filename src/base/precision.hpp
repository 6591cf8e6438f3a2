// The names of all precisions, for options that take one.
#pragma once

#include <span>
#include <string_view>
#include <tilescope/matmul.hpp>

namespace tilescope {

/// By the value of Precision: "auto" first.
std::span<const std::string_view> precision_names();

}  // namespace tilescope
