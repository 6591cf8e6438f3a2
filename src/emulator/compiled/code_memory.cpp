#include "emulator/compiled/code_memory.hpp"

#include <sys/mman.h>

#include <cstring>

namespace tilescope::emulator::compiled {

CodeMemory::CodeMemory(std::span<const std::uint8_t> code) {
  constexpr std::size_t kPage = 4096;
  bytes_ = (code.size() + kPage - 1) / kPage * kPage;
  void* const pages =
      mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return;
  std::memcpy(pages, code.data(), code.size());
  if (mprotect(pages, bytes_, PROT_READ | PROT_EXEC) != 0) {
    munmap(pages, bytes_);
    return;
  }
  data_ = pages;
}

CodeMemory::~CodeMemory() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

}  // namespace tilescope::emulator::compiled
