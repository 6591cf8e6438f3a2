// The frame around every function of the API: the lock, the error of the thread, the end of
// exceptions.
#pragma once

#include <utility>

#include "cudart/state/failure.hpp"
#include "cudart/state/primary_context.hpp"

namespace tilescope::cudart {

/// The error that cudaGetLastError returns, of this thread.
cudaError_t& last_error() noexcept;

/// The code of the exception that is being handled, with its line on standard error if CUDA's code
/// says less.
cudaError_t code_of_exception() noexcept;

/// Keeps an error for cudaGetLastError, and returns `code`.
inline cudaError_t remember(cudaError_t code) noexcept {
  if (code != cudaSuccess) last_error() = code;
  return code;
}

/// The code that `body` returns, or that of its exception.
template <typename Body>
cudaError_t guarded(Body&& body) noexcept {
  try {
    return std::forward<Body>(body)();
  } catch (...) {
    return code_of_exception();
  }
}

/// Runs `body`, which needs no device and returns the code.
template <typename Body>
cudaError_t plain_call(Body&& body) noexcept {
  return remember(guarded(std::forward<Body>(body)));
}

/// Runs `body(context)`, which returns nothing or the code, for the API's function `name`: one
/// thread at a time, and not after an error that ended the context.
template <typename Body>
cudaError_t api_call(const char* name, Body&& body) noexcept {
  return plain_call([&] {
    Context& context = Context::instance();
    const Context::Call call(context, name);
    const cudaError_t code = guarded([&] {
      context.require_intact();
      if constexpr (std::is_void_v<decltype(body(context))>) {
        std::forward<Body>(body)(context);
        return cudaSuccess;
      } else {
        return std::forward<Body>(body)(context);
      }
    });
    context.settle(code);
    return code;
  });
}

}  // namespace tilescope::cudart
