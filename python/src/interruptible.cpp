#include "interruptible.hpp"

#include <chrono>
#include <exception>
#include <future>
#include <optional>

#include "bindings.hpp"

namespace tilescope::python {

void run_interruptibly(const std::function<void(const CancelFlag& cancel)>& work) {
  constexpr std::chrono::milliseconds between_looks(20);
  CancelFlag cancel = false;
  std::optional<nb::python_error> raised;
  std::future<void> done = std::async(std::launch::async, [&] { work(cancel); });
  const nb::gil_scoped_release others_run;
  while (done.wait_for(between_looks) != std::future_status::ready) {
    if (raised) continue;
    const nb::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) {
      raised.emplace();
      cancel = true;
    }
  }
  if (raised) {
    const nb::gil_scoped_acquire lock;
    try {
      done.get();
    } catch (const std::exception&) {
      // The interrupt is the reason why the work failed.
    }
    nb::python_error error = std::move(*raised);
    raised.reset();
    throw error;
  }
  done.get();
}

}  // namespace tilescope::python
