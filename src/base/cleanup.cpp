#include "base/cleanup.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>

#include "base/errors.hpp"

namespace tilescope {
namespace {

// A slot is free, busy (one thread fills or empties it), or live. Only a live slot's other members
// are valid.
enum class State : int { free, busy, live };
static_assert(std::atomic<State>::is_always_lock_free);

struct Slot {
  std::atomic<State> state{State::free};
  pid_t owner = 0;
  std::uintptr_t begin = 0;
  std::size_t size = 0;
  std::array<char, PATH_MAX> text{};
};

constexpr std::size_t slot_count = 256;
using Table = std::array<Slot, slot_count>;
Table temporaries;
Table mappings;

std::size_t claim(Table& table) {
  for (std::size_t i = 0; i < slot_count; ++i) {
    State expected = State::free;
    if (table[i].state.compare_exchange_strong(expected, State::busy)) return i;
  }
  return slot_count;
}

}  // namespace

TemporaryRegistration::TemporaryRegistration(const std::string& path) : slot_(claim(temporaries)) {
  if (slot_ == slot_count) {
    throw usage_error("more than {} output files are open at once; finish some of them first",
                      slot_count);
  }
  Slot& slot = temporaries[slot_];
  if (path.size() >= slot.text.size()) {
    slot.state = State::free;
    throw input_error("a path of {} bytes is too long; at most {} are possible", path.size(),
                      slot.text.size() - 1);
  }
  slot.owner = ::getpid();
  std::memcpy(slot.text.data(), path.c_str(), path.size() + 1);
  slot.state = State::live;
}

TemporaryRegistration::~TemporaryRegistration() {
  temporaries[slot_].state = State::free;
}

MappingRegistration::MappingRegistration(const void* begin, std::size_t size,
                                         const std::string& name)
    : slot_(claim(mappings)) {
  if (slot_ == slot_count) return;
  Slot& slot = mappings[slot_];
  slot.begin = reinterpret_cast<std::uintptr_t>(begin);
  slot.size = size;
  const std::size_t length = std::min(name.size(), slot.text.size() - 1);
  std::memcpy(slot.text.data(), name.data(), length);
  slot.text[length] = '\0';
  slot.state = State::live;
}

MappingRegistration::~MappingRegistration() {
  if (slot_ != slot_count) mappings[slot_].state = State::free;
}

void remove_temporaries() noexcept {
  const int saved = errno;
  const pid_t self = ::getpid();
  for (const Slot& slot : temporaries) {
    if (slot.state == State::live && slot.owner == self) ::unlink(slot.text.data());
  }
  errno = saved;
}

const char* mapped_file_at(const void* address) noexcept {
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  for (const Slot& slot : mappings) {
    if (slot.state == State::live && place - slot.begin < slot.size) return slot.text.data();
  }
  return nullptr;
}

}  // namespace tilescope
