#include "cudart/state/host_guard.hpp"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <utility>

#include "emulator/memory_map.hpp"

namespace tilescope::cudart {
namespace {

/// A lock that a signal handler may take: nobody touches protected memory while holding it.
class Spin {
 public:
  Spin() {
    while (busy.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~Spin() { busy.clear(std::memory_order_release); }

 private:
  static inline std::atomic_flag busy;
};

struct sigaction previous;

/// Whether an instruction is an atomic one, as programs use to share memory with running kernels:
/// with a lock prefix, or an exchange with memory.
bool is_atomic(const std::uint8_t* code) {
  constexpr std::uint8_t lock = 0xf0, exchange = 0x86, exchange_wide = 0x87;
  constexpr std::uint8_t prefixes[] = {0x66, 0x67, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65, 0xf2, 0xf3};
  while (*code == lock || (*code & 0xf0) == 0x40 ||
         std::ranges::find(prefixes, *code) != std::end(prefixes)) {
    if (*code++ == lock) return true;
  }
  return *code == exchange || *code == exchange_wide;
}

void on_fault(int signal, siginfo_t* info, void* context) {
  constexpr greg_t write_bit = 2;
  const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
  const bool is_write = (registers[REG_ERR] & write_bit) != 0;
  const bool is_shared = is_atomic(reinterpret_cast<const std::uint8_t*>(registers[REG_RIP]));
  if (HostGuard::instance().touch(reinterpret_cast<std::uint64_t>(info->si_addr), is_write,
                                  is_shared)) {
    return;
  }
  // A fault of the program's own: what would have happened without the guard happens now.
  HostGuard::instance().explain(reinterpret_cast<std::uint64_t>(info->si_addr), is_write);
  ::sigaction(signal, &previous, nullptr);
}

void catch_faults() {
  static std::atomic_flag done;
  if (done.test_and_set()) return;
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  ::sigaction(SIGSEGV, &action, &previous);
}

void set_access(std::uint64_t first, std::uint64_t end, int access) {
  ::mprotect(reinterpret_cast<void*>(first), end - first, access);
}

}  // namespace

HostGuard& HostGuard::instance() {
  static HostGuard& guard = *new HostGuard;
  return guard;
}

std::uint64_t HostGuard::claim(std::uint64_t address, std::size_t bytes,
                               const GuardedObject& object, PendingUse use,
                               const inspect::HostCall& call) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  Claim claim{.first = (address + page - 1) / page * page, .end = (address + bytes) / page * page};
  if (address + bytes == object.address + object.bytes) {  // its last page is its own
    claim.end = (address + bytes + page - 1) / page * page;
  }
  if (claim.first >= claim.end) return 0;
  catch_faults();
  claim.use = use;
  claim.report = {.memory = object, .work = call};
  const Spin lock;
  claim.id = ++last_id_;
  if (running_ == 0) protect(claim);
  claims_.push_back(std::move(claim));
  return last_id_;
}

void HostGuard::protect(const Claim& claim) const {
  if (claim.open) return;
  // Another claim may forbid more; the order does not matter, because each only adds.
  bool hidden = claim.use != PendingUse::reads;
  for (const Claim& other : claims_) {
    const bool overlaps = other.first < claim.end && claim.first < other.end;
    hidden = hidden || (overlaps && !other.open && other.use != PendingUse::reads);
  }
  set_access(claim.first, claim.end, hidden ? PROT_NONE : PROT_READ);
}

void HostGuard::open(const Claim& claim) const {
  set_access(claim.first, claim.end, PROT_READ | PROT_WRITE);
}

void HostGuard::know(const GuardedObject& device_memory) {
  catch_faults();
  const Spin lock;
  device_memory_[device_memory.address] = device_memory;
}

void HostGuard::explain(std::uint64_t address, bool is_write) const {
  if (address < emulator::kGlobalBase || address >= emulator::kGlobalEnd) return;
  const Spin lock;
  const auto after = device_memory_.upper_bound(address);
  const GuardedObject* block =
      after == device_memory_.begin() ? nullptr : &std::prev(after)->second;
  if (block != nullptr && address - block->address >= block->bytes) block = nullptr;
  const char* const verb = is_write ? "writes" : "reads";
  char line[512];  // standard streams may be locked where the fault was
  const int length =
      block == nullptr
          ? std::snprintf(line, sizeof line,
                          "tilescope: the host %s %#llx, an address of the device: kernels and "
                          "cudaMemcpy can use it\n",
                          verb, static_cast<unsigned long long>(address))
          : std::snprintf(
                line, sizeof line,
                "tilescope: the host %s byte %llu of %.200s, %llu bytes of device memory: "
                "copy %s the host with cudaMemcpy, or allocate with cudaMallocManaged\n",
                verb, static_cast<unsigned long long>(address - block->address),
                block->name.c_str(), static_cast<unsigned long long>(block->bytes),
                is_write ? "it from" : "it to");
  [[maybe_unused]] const auto written =
      ::write(STDERR_FILENO, line, static_cast<std::size_t>(length));
}

void HostGuard::begin_work() {
  const Spin lock;
  if (running_++ > 0) return;
  for (const Claim& claim : claims_) open(claim);
}

void HostGuard::end_work(const std::vector<std::uint64_t>& claims) {
  const Spin lock;
  std::erase_if(claims_, [&](Claim& claim) {
    if (std::find(claims.begin(), claims.end(), claim.id) == claims.end()) return false;
    keep_changed(claim);
    return true;
  });
  if (--running_ > 0) return;
  for (const Claim& claim : claims_) protect(claim);
}

void HostGuard::keep_changed(Claim& claim) {
  if (claim.before.empty()) return;
  const auto* const now = reinterpret_cast<const std::byte*>(claim.first);
  if (std::memcmp(claim.before.data(), now, claim.before.size()) != 0) {
    seen_.push_back(claim.report);
  }
}

void HostGuard::forget(std::uint64_t address, std::size_t bytes) {
  const Spin lock;
  device_memory_.erase(address);
  std::erase_if(claims_, [&](const Claim& claim) {
    const bool inside = claim.first >= address && claim.first - address < bytes;
    if (inside) open(claim);
    return inside;
  });
}

bool HostGuard::touch(std::uint64_t address, bool is_write, bool is_atomic) {
  const Spin lock;
  bool found = false;
  for (Claim& claim : claims_) {
    if (address < claim.first || address >= claim.end || claim.open) continue;
    if (!found) {
      for (const Claim& other : claims_) {
        if (address >= other.first && address < other.end) open(other);
      }
    }
    found = true;
    claim.open = true;
    if (is_atomic || (!is_write && claim.use == PendingUse::reads)) continue;
    claim.report.is_write = is_write;
    claim.report.place = inspect::HostCall::here("");
    if (!is_write && claim.use == PendingUse::may_write) {
      const auto* const data = reinterpret_cast<const std::byte*>(claim.first);
      claim.before.assign(data, data + (claim.end - claim.first));
    } else {
      seen_.push_back(claim.report);
    }
  }
  return found;
}

std::vector<EarlyTouch> HostGuard::take() {
  const Spin lock;
  return std::exchange(seen_, {});
}

}  // namespace tilescope::cudart
