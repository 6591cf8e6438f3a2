#include "cudart/state/refusal.hpp"

#include <fmt/format.h>

#include <mutex>
#include <set>
#include <string_view>

#include "cudart/state/api_call.hpp"
#include "inspect/program/program_watch.hpp"

namespace tilescope::cudart {
namespace {

bool named_before(const char* function) {
  static std::mutex mutex;
  static auto& named = *new std::set<std::string_view>;
  const std::lock_guard lock(mutex);
  return !named.insert(function).second;
}

}  // namespace

int refuse(const char* function) noexcept {
  return plain_call([&] {
    if (!named_before(function)) {
      const std::string text = fmt::format("{} is not supported", function);
      complain(text);
      if (auto* watch = inspect::ProgramWatch::instance()) watch->note(text);
    }
    return cudaErrorNotSupported;
  });
}

}  // namespace tilescope::cudart
