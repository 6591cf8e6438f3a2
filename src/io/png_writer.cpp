#include <fmt/format.h>

#include <exception>

#include "base/errors.hpp"
#include "base/output_file.hpp"
#include "io/png.hpp"
#include "io/png_session.hpp"

namespace tilescope::io {
namespace {

class PngWriter : PngSession {
 public:
  explicit PngWriter(const std::string& path) : file_(path) {
    png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, static_cast<PngSession*>(this), on_error,
                                   on_warning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_write_struct(&png_, nullptr);
      fail("libpng could not be started");
    }
  }
  ~PngWriter() { png_destroy_write_struct(&png_, &info_); }

  void write(std::uint32_t width, std::uint32_t height, std::uint32_t channels,
             std::span<const std::uint8_t> samples) {
    const auto calls = [&] {
      png_set_write_fn(png_, static_cast<PngSession*>(this), take_bytes, nullptr);
      png_set_user_limits(png_, 0x7fffffffu, 0x7fffffffu);  // PNG's own
      png_set_IHDR(png_, info_, width, height, 8,
                   channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                   PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
      png_write_info(png_, info_);
      const std::size_t row_bytes = std::size_t{width} * channels;
      for (std::size_t y = 0; y < height; ++y) {
        png_write_row(png_, samples.data() + y * row_bytes);
      }
      png_write_end(png_, nullptr);
    };
    if (!guarded(calls)) {
      if (failure_) std::rethrow_exception(failure_);
      fail(message());
    }
    file_.commit();
  }

 private:
  // An exception must not pass through libpng's C code: it is stored, and thrown after the call.
  static void take_bytes(png_structp png, png_bytep bytes, std::size_t count) {
    auto& self = static_cast<PngWriter&>(*static_cast<PngSession*>(png_get_io_ptr(png)));
    if (!self.append({reinterpret_cast<const std::byte*>(bytes), count})) {
      png_error(png, "the file could not be written");
    }
  }

  bool append(std::span<const std::byte> bytes) noexcept {
    try {
      file_.append(bytes);
      return true;
    } catch (...) {
      failure_ = std::current_exception();
      return false;
    }
  }

  [[noreturn]] void fail(const std::string& why) const {
    throw input_error("cannot write {}: {}", quoted(file_.path()), why);
  }

  OutputFile file_;
  std::exception_ptr failure_;
};

}  // namespace

void write_png(const std::string& path, std::uint32_t width, std::uint32_t height,
               std::uint32_t channels, std::span<const std::uint8_t> samples) {
  const auto refuse = [&](const std::string& why) {
    throw usage_error("cannot write {}: {}", quoted(path), why);
  };
  if (channels != 1 && channels != 3) {
    refuse(fmt::format("a picture has 1 channel (grey) or 3 (RGB), not {}", channels));
  }
  constexpr std::uint32_t longest_side = 0x7fffffffu;
  if (width == 0 || height == 0 || width > longest_side || height > longest_side) {
    refuse(
        fmt::format("a PNG has 1 to {} pixels a side, not {} x {}", longest_side, width, height));
  }
  // Below 2^62 times 3: no overflow.
  const std::uint64_t needed = std::uint64_t{width} * height * channels;
  if (samples.size() != needed) {
    refuse(fmt::format("{} x {} pixels of {} channels need {} samples, not {}", width, height,
                       channels, needed, samples.size()));
  }
  PngWriter(path).write(width, height, channels, samples);
}

void write_png(const std::string& path, const Picture& picture) {
  write_png(path, picture.width, picture.height, picture.channels, picture.samples);
}

}  // namespace tilescope::io
