// The common part of reading and writing through libpng. libpng reports an error by a jump out of
// its C code; only `guarded` receives such a jump.
#pragma once

#include <png.h>

#include <array>
#include <csetjmp>
#include <cstdio>

namespace tilescope::io {

class PngSession {
 public:
  PngSession(const PngSession&) = delete;
  PngSession& operator=(const PngSession&) = delete;

 protected:
  PngSession() = default;
  ~PngSession() = default;

  /// Runs `calls`; false if libpng gave up, with the reason in `message()`. The jump skips
  /// destructors, so `calls` and its callbacks from libpng own nothing at that moment.
  template <typename Calls>
  bool guarded(const Calls& calls) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    calls();
    return true;
  }

  const char* message() const { return message_.data(); }

  static void on_error(png_structp png, png_const_charp text) {
    auto& self = *static_cast<PngSession*>(png_get_error_ptr(png));
    std::snprintf(self.message_.data(), self.message_.size(), "%s", text);
    png_longjmp(png, 1);
  }
  static void on_warning(png_structp, png_const_charp) {}  // the picture is usable

  png_structp png_ = nullptr;
  png_infop info_ = nullptr;

 private:
  std::array<char, 200> message_{};
};

}  // namespace tilescope::io
