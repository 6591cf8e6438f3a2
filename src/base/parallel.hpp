// A loop shared by all cores.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace tilescope {

/// How many cores this process uses; 0: all that the system gives it. Processes that share a
/// machine set it before they compute.
inline std::atomic<std::size_t> core_limit = 0;

/// How many threads run at the same time.
inline std::size_t core_count() {
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  return core_limit == 0 ? cores : std::min(cores, core_limit.load());
}

/// Calls body(i) for every i below `count`, on `cores` cores, in no particular order; on fewer
/// where the system starts no more threads. The first exception that a body throws is thrown again
/// here, after all threads have ended.
template <typename Body>
void parallel_for(std::size_t count, const Body& body, std::size_t cores = core_count()) {
  const std::size_t workers = std::min(count, cores);
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto work = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) body(i);
    } catch (...) {
      next = count;
      const std::lock_guard lock(failure_mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::jthread> threads;
  try {
    for (std::size_t i = 1; i < workers; ++i) threads.emplace_back(work);
  } catch (const std::system_error&) {
    // The running threads do the work.
  }
  work();
  threads.clear();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace tilescope
