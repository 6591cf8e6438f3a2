// A thread for each device.
#pragma once

#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace tilescope::distribute {

/// Runs `work` for every device at once, and throws the first failure when all have ended.
template <typename Work>
void on_each(std::size_t count, const Work& work) {
  std::vector<std::exception_ptr> failures(count);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        try {
          work(i);
        } catch (...) {
          failures[i] = std::current_exception();
        }
      });
    }
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace tilescope::distribute
