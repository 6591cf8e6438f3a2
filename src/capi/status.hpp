// The edge between C++ and C: errors become a status and one line of text.
#pragma once

#include <tilescope.h>

#include <new>
#include <stdexcept>
#include <string>
#include <tilescope/error.hpp>

namespace tilescope::capi {

/// Keeps the calling thread's tilescope_last_error(). Returns `status`.
tilescope_status failed(tilescope_status status, const std::string& message) noexcept;

/// Runs a call of the C interface. No exception leaves it.
template <typename Call>
tilescope_status guarded(const Call& call) noexcept {
  try {
    call();
    return TILESCOPE_OK;
  } catch (const Error& error) {
    return failed(static_cast<tilescope_status>(error.exit_code()), error.what());
  } catch (const std::bad_alloc&) {
    return failed(TILESCOPE_NO_DEVICE, "out of memory on the host; use a smaller problem");
  } catch (const std::length_error&) {  // more elements than a container can have
    return failed(TILESCOPE_NO_DEVICE, "out of memory on the host; use a smaller problem");
  } catch (const std::exception& error) {
    return failed(TILESCOPE_INTERNAL, std::string("internal error: ") + error.what());
  }
}

/// Throws Error(usage) for a pointer that must not be null.
void require(const void* pointer, const char* name);
/// The same where there is something to read or write.
inline void require_if(bool is_used, const void* pointer, const char* name) {
  if (is_used) require(pointer, name);
}

/// Throws Error(usage) unless the value of an enumeration is one of 0 to `count` - 1.
void require_enumerator(int value, int count, const char* name);

/// The C++ value of a C enumeration with `count` values from 0, in the same order.
template <typename To, typename From>
To value_of(From value, int count, const char* name) {
  require_enumerator(static_cast<int>(value), count, name);
  return static_cast<To>(value);
}

}  // namespace tilescope::capi
