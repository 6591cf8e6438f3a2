#include "cudart/state/api_call.hpp"

#include <new>

#include "cudart/state/fault_code.hpp"
#include "inspect/program/program_watch.hpp"

namespace tilescope::cudart {

cudaError_t& last_error() noexcept {
  static thread_local cudaError_t error = cudaSuccess;
  return error;
}

cudaError_t code_of_exception() noexcept {
  try {
    throw;
  } catch (const Failure& failure) {
    if (!failure.message.empty()) complain(failure.message);
    return failure.code;
  } catch (const Error& error) {
    auto* const watch = inspect::ProgramWatch::instance();
    complain(watch != nullptr ? watch->in_source_words(error.what()) : error.what());
    return code_of(Context::instance(), error);
  } catch (const std::bad_alloc&) {
    return cudaErrorMemoryAllocation;
  } catch (const std::exception& error) {
    complain(error.what());
    return cudaErrorUnknown;
  }
}

}  // namespace tilescope::cudart
