
#include "base/errors.hpp"
#include "operations/elementwise/elementwise.hpp"

namespace tilescope::operations {

void require_like(const char* operation, const ConstArrayView& input,
                  const ConstArrayView& output) {
  if (input.type == output.type && input.count == output.count) return;
  throw usage_error("{}: {} elements of {} do not match {} of {}", operation, input.count,
                    name_of(input.type), output.count, name_of(output.type));
}

void require_real(const char* operation, const ConstArrayView& input) {
  if (input.type == DataType::float32 || input.type == DataType::float64) return;
  throw usage_error("{} takes float32 and float64, not {}", operation, name_of(input.type));
}

}  // namespace tilescope::operations
