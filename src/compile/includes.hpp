// The user's own headers that a source includes: their content belongs to the cache key.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compile/compilation.hpp"

namespace tilescope::compile {

/// The texts of all files that `#include` directives of the source reach, directly or through one
/// another, in the compilation's own include directories (not in CUDA's). Conditions are not
/// evaluated: one header too many in the key costs a compilation, one too few a wrong result.
std::vector<std::string> included_texts(const Compilation& compilation);

/// The names in the `#include` directives of `text`, in order.
std::vector<std::string> included_names(std::string_view text);

}  // namespace tilescope::compile
