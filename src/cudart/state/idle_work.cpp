#include "cudart/state/idle_work.hpp"

#include <chrono>
#include <functional>
#include <thread>

#include "cudart/state/api_call.hpp"

namespace tilescope::cudart {
namespace {

/// So long after the last call the program is taken to wait for work.
constexpr std::chrono::seconds idle_time{2};

void serve(Context& context) {
  std::uint64_t seen = 0, served = 0;
  while (true) {
    std::this_thread::sleep_for(idle_time);
    const std::uint64_t now = context.calls();
    if (std::exchange(seen, now) != now || served == now) continue;
    const Context::Call call(context, "an idle program");
    if (context.is_open() && context.ended() == cudaSuccess) {
      guarded([&] {
        context.device().synchronize();
        return cudaSuccess;
      });
    }
    served = seen = context.calls();
  }
}

}  // namespace

void serve_idle_program() {
  static const bool started = [] {
    std::thread(serve, std::ref(Context::instance())).detach();  // the context is never destroyed
    return true;
  }();
  static_cast<void>(started);
}

}  // namespace tilescope::cudart
