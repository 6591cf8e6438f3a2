#include "emulator/aligned_bytes.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <vector>

namespace tilescope::emulator {
namespace {

constexpr std::align_val_t kAlignment{64};
constexpr std::size_t kLeast = 64;
constexpr std::size_t kLarge = 64 << 10;  // bytes from which memory is kept
#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t kMostKept = 0;  // the sanitizer is to see what has been freed
#else
constexpr std::size_t kMostKept = 32 << 20;  // bytes, in all
#endif

/// Large pieces that are free.
class Kept {
 public:
  /// Null: there is none of this size.
  std::uint8_t* take(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(pieces_.begin(), pieces_.end(),
                                    [&](const Piece& piece) { return piece.bytes == bytes; });
    if (found == pieces_.end()) return nullptr;
    std::uint8_t* const begin = found->begin;
    pieces_.erase(found);
    bytes_ -= bytes;
    return begin;
  }
  /// Instead of pieces that have been free for longer. False: it is too large.
  bool keep(std::uint8_t* begin, std::size_t bytes) {
    if (bytes > kMostKept) return false;
    const std::lock_guard lock(mutex_);
    for (; bytes_ + bytes > kMostKept; pieces_.erase(pieces_.begin())) {
      bytes_ -= pieces_.front().bytes;
      ::operator delete[](pieces_.front().begin, kAlignment);
    }
    pieces_.push_back({begin, bytes});
    bytes_ += bytes;
    return true;
  }

 private:
  struct Piece {
    std::uint8_t* begin;
    std::size_t bytes;
  };
  std::mutex mutex_;
  std::vector<Piece> pieces_;  ///< in the order in which they were freed
  std::size_t bytes_ = 0;
};

/// Never destroyed: objects that outlive main() may free memory.
Kept& kept() {
  static Kept& all = *new Kept;
  return all;
}

}  // namespace

void FreeAligned::operator()(std::uint8_t* p) const {
  if (bytes >= kLarge && kept().keep(p, bytes)) return;
  ::operator delete[](p, kAlignment);
}

AlignedBytes allocate_aligned(std::size_t bytes) {
  bytes = std::max(bytes, kLeast);
  std::uint8_t* memory = bytes >= kLarge ? kept().take(bytes) : nullptr;
  if (memory == nullptr) {
    memory = static_cast<std::uint8_t*>(::operator new[](bytes, kAlignment));
  }
  return AlignedBytes(memory, FreeAligned{bytes});
}

}  // namespace tilescope::emulator
