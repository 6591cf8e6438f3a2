#include "capi/status.hpp"

#include "base/errors.hpp"

namespace tilescope::capi {
namespace {

thread_local std::string last_error;

}  // namespace

tilescope_status failed(tilescope_status status, const std::string& message) noexcept {
  try {
    last_error = message;
  } catch (const std::bad_alloc&) {
    last_error.clear();
  }
  return status;
}

void require(const void* pointer, const char* name) {
  if (pointer == nullptr) throw usage_error("{} is NULL", name);
}

void require_enumerator(int value, int count, const char* name) {
  if (value < 0 || value >= count) {
    throw usage_error("{} is {}: expected a value from 0 to {} of tilescope.h", name, value,
                      count - 1);
  }
}

}  // namespace tilescope::capi

extern "C" {

const char* tilescope_last_error() {
  return tilescope::capi::last_error.c_str();
}

const char* tilescope_version() {
  return TILESCOPE_VERSION;
}

const char* tilescope_status_name(tilescope_status status) {
  switch (status) {
    case TILESCOPE_OK:
      return "ok";
    case TILESCOPE_WRONG_RESULT:
      return "wrong_result";
    case TILESCOPE_USAGE:
      return "usage";
    case TILESCOPE_NO_DEVICE:
      return "no_device";
    case TILESCOPE_BAD_INPUT:
      return "bad_input";
    case TILESCOPE_INTERNAL:
      break;
  }
  return "internal";
}

}  // extern "C"
