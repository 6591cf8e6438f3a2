// C++ text as words and punctuation, for reading a source without compiling it.
#pragma once

#include <string_view>
#include <vector>

namespace tilescope::compile {

/// Words, numbers, literals and single punctuation marks, as views into `text`. Comments and
/// preprocessor lines are passed over, and so is what stands behind #else where both alternatives
/// open a brace. Takes any text without failing.
std::vector<std::string_view> cpp_tokens(std::string_view text);

/// Is the token an identifier or a keyword?
bool is_word(std::string_view token);

}  // namespace tilescope::compile
