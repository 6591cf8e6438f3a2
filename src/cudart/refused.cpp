// The functions of functions.def that are refused: each returns cudaErrorNotSupported, and names
// itself once on standard error. Their parameters do not matter here: the caller removes them.
#include "cudart/state/refusal.hpp"

#define DEFINE_done(name)
#define DEFINE_refused(name)                 \
  int refused_##name() __asm__(#name);       \
  int refused_##name() {                     \
    return tilescope::cudart::refuse(#name); \
  }
#define FUNCTION(name, state) DEFINE_##state(name)
#include "cudart/functions.def"
