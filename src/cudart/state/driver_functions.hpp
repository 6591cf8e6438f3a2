// The driver's functions that programs ask for by name: those for tensor maps, which need no
// context.
#pragma once

#include <string_view>

namespace tilescope::cudart {

/// Null for a name that is not among them.
void* driver_function(std::string_view name);

}  // namespace tilescope::cudart
