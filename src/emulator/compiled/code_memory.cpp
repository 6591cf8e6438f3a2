#include "emulator/compiled/code_memory.hpp"

#include <sys/mman.h>

#include <cstring>

namespace tilescope::emulator::compiled {

CodeMemory::CodeMemory(std::span<const std::uint8_t> code, std::size_t number) {
  // Caches of code find their sets by the place in a page. Regions of the warps of a block are much
  // alike, and would all lie in the same sets. Steps of about the golden ratio spread them.
  constexpr std::size_t kPage = 4096, kLine = 64, kStep = 39;
  begin_ = number * kStep * kLine % kPage;
  bytes_ = (begin_ + code.size() + kPage - 1) / kPage * kPage;
  void* const pages =
      mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return;
  std::memcpy(static_cast<std::uint8_t*>(pages) + begin_, code.data(), code.size());
  if (mprotect(pages, bytes_, PROT_READ | PROT_EXEC) != 0) {
    munmap(pages, bytes_);
    return;
  }
  pages_ = pages;
}

CodeMemory::~CodeMemory() {
  if (pages_ != nullptr) munmap(pages_, bytes_);
}

}  // namespace tilescope::emulator::compiled
