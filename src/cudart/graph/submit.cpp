#include "cudart/graph/submit.hpp"

namespace tilescope::cudart {

void submit(Context& context, CUstream_st& stream, Operation operation) {
  perform(context, operation, stream, context.here());
}

}  // namespace tilescope::cudart
