// The assignments to shared variables in a kernel's source, found without compiling it. What the
// compiler has removed can only be told by comparison with the source.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::compile {

struct SharedStore {
  std::string variable;
  std::uint32_t line = 0;  ///< of the first assignment
};

/// The `__shared__` variables that the kernel ("scale", "lib::scale", "scale<16>") declares in its
/// body and assigns there, by name or by element. None if the body has preprocessor conditions.
/// Takes any text without failing.
std::vector<SharedStore> shared_stores(std::string_view source, std::string_view kernel);

}  // namespace tilescope::compile
