#include "base/host_pages.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <limits>

namespace tilescope {
namespace {

std::size_t page_size() {
  static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

/// 0 if that many pages cannot exist.
std::size_t whole_pages(std::size_t bytes) {
  const std::size_t page = page_size();
  if (bytes > std::numeric_limits<std::size_t>::max() - 4 * page) return 0;
  return std::max(page, (bytes + page - 1) / page * page);
}

constexpr std::size_t kLargePage = std::size_t{2} << 20;

}  // namespace

void* allocate_pages(std::size_t bytes) noexcept {
  const std::size_t page = page_size(), inside = whole_pages(bytes);
  if (inside == 0) return nullptr;
  void* const all = mmap(nullptr, inside + 2 * page, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) return nullptr;
  void* const pages = static_cast<std::byte*>(all) + page;
  if (mprotect(pages, inside, PROT_READ | PROT_WRITE) == 0) return pages;
  munmap(all, inside + 2 * page);
  return nullptr;
}

void free_pages(void* pages, std::size_t bytes) noexcept {
  if (pages == nullptr) return;
  const std::size_t page = page_size();
  munmap(static_cast<std::byte*>(pages) - page, whole_pages(bytes) + 2 * page);
}

void ask_for_large_pages(void* memory, std::size_t bytes) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t first = (begin + kLargePage - 1) / kLargePage * kLargePage,
                       end = (begin + bytes) / kLargePage * kLargePage;
  if (first >= end) return;
  madvise(static_cast<std::byte*>(memory) + (first - begin), end - first, MADV_HUGEPAGE);
}

void* allocate_large_pages(std::size_t bytes) noexcept {
  const std::size_t inside = whole_pages(bytes);
  if (inside == 0 || inside > std::numeric_limits<std::size_t>::max() - kLargePage) return nullptr;
  void* const all = mmap(nullptr, inside + kLargePage, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) return nullptr;
  const auto before = static_cast<std::size_t>(-reinterpret_cast<std::uintptr_t>(all) % kLargePage);
  std::byte* const pages = static_cast<std::byte*>(all) + before;
  if (before != 0) munmap(all, before);
  munmap(pages + inside, kLargePage - before);
  ask_for_large_pages(pages, inside);
  return pages;
}

void free_large_pages(void* pages, std::size_t bytes) noexcept {
  if (pages != nullptr) munmap(pages, whole_pages(bytes));
}

bool is_readable(std::uint64_t address) noexcept {
  // The system reads the eight bytes of a signal mask there before it refuses the request.
  constexpr int no_request = -1;
  constexpr std::size_t mask_bytes = 8;
  const int before = errno;
  const std::uint64_t aligned = address / mask_bytes * mask_bytes;
  const long result = syscall(SYS_rt_sigprocmask, no_request,
                              reinterpret_cast<const void*>(aligned), nullptr, mask_bytes);
  const bool readable = result == -1 && errno != EFAULT;
  errno = before;
  return readable && aligned != 0;
}

}  // namespace tilescope
