#include <fmt/format.h>

#include <cstring>

#include "base/errors.hpp"
#include "base/format.hpp"
#include "base/mapped_file.hpp"
#include "base/text.hpp"
#include "io/png.hpp"
#include "io/png_session.hpp"

namespace tilescope::io {
namespace {

// At most 1 GiB of samples when unpacked, four channels to a pixel.
constexpr std::uint64_t most_pixels = std::uint64_t{1} << 28;

class PngReader : PngSession {
 public:
  explicit PngReader(const std::string& path) : file_(path), rest_(file_.bytes()) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, static_cast<PngSession*>(this), on_error,
                                  on_warning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      refuse("libpng could not be started");
    }
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }

  Picture read() {
    constexpr std::size_t signature = 8;
    if (rest_.size() < signature ||
        png_sig_cmp(reinterpret_cast<png_const_bytep>(rest_.data()), 0, signature) != 0) {
      refuse(rest_.empty() ? "the file is empty" : "it is not a PNG picture; convert it to PNG");
    }
    read_information();
    read_samples();
    file_.require_unchanged();
    return drop_alpha();
  }

 private:
  void read_information() {
    const auto calls = [this] {
      png_set_read_fn(png_, static_cast<PngSession*>(this), give_bytes);
      png_set_chunk_malloc_max(png_, 8u << 20);  // texts and profiles, of which none is used
      png_set_user_limits(png_, 0x7fffffffu, 0x7fffffffu);  // judged below, with clearer messages
      png_read_info(png_, info_);
    };
    if (!guarded(calls)) refuse_damaged();
    width_ = png_get_image_width(png_, info_);
    height_ = png_get_image_height(png_, info_);
    if (png_get_bit_depth(png_, info_) == 16) {
      refuse("it has 16 bits a sample; expected 8; convert it to 8 bits");
    }
    require_reasonable_size();
    const auto transform = [this] {
      png_set_expand(png_);  // palettes, fewer than 8 bits, transparent colours
      png_set_interlace_handling(png_);
      png_read_update_info(png_, info_);
    };
    if (!guarded(transform)) refuse_damaged();
    channels_ = png_get_channels(png_, info_);
  }

  // Runs before libpng allocates anything that depends on the size.
  void require_reasonable_size() const {
    const std::uint64_t pixels = std::uint64_t{width_} * height_;
    if (pixels > most_pixels) {
      refuse(fmt::format("{} x {} pixels are more than the {} that are accepted; scale it down",
                         width_, height_, format_count(most_pixels)));
    }
    // Deflate packs at most 1,032 bytes into one, and a pixel may have as little as one bit: a tiny
    // file cannot force a huge allocation.
    constexpr std::uint64_t densest = 1032 * 8;
    if (pixels > (file_.bytes().size() + 1) * densest) {
      refuse(fmt::format("it claims {} x {} pixels, more than {} bytes can hold; copy it again",
                         width_, height_, format_count(file_.bytes().size())));
    }
  }

  void read_samples() {
    const std::size_t row_bytes = std::size_t{width_} * channels_;
    samples_.resize(row_bytes * height_);
    rows_.resize(height_);
    for (std::size_t y = 0; y < rows_.size(); ++y) rows_[y] = samples_.data() + y * row_bytes;
    const auto calls = [this] {
      png_read_image(png_, rows_.data());
      png_read_end(png_, nullptr);  // also a file that lacks only its end is truncated
    };
    if (!guarded(calls)) refuse_damaged();
  }

  Picture drop_alpha() {
    const bool alpha = channels_ == 2 || channels_ == 4;
    const std::size_t kept = alpha ? channels_ - 1 : channels_;
    if (alpha) {
      std::size_t out = 0;
      for (std::size_t i = 0; i < samples_.size(); i += channels_) {
        if (samples_[i + kept] != 0xff) {
          const std::size_t pixel = i / channels_;
          refuse(
              fmt::format("pixel ({}, {}) is transparent, and only opaque pictures are accepted; "
                          "flatten it onto a background",
                          pixel % width_, pixel / width_));
        }
        for (std::size_t c = 0; c < kept; ++c) samples_[out++] = samples_[i + c];
      }
      samples_.resize(out);
    }
    return {.width = width_,
            .height = height_,
            .channels = static_cast<std::uint32_t>(kept),
            .samples = std::move(samples_)};
  }

  static void give_bytes(png_structp png, png_bytep to, std::size_t count) {
    auto& self = static_cast<PngReader&>(*static_cast<PngSession*>(png_get_io_ptr(png)));
    if (count > self.rest_.size()) png_error(png, "the file ends too early");
    std::memcpy(to, self.rest_.data(), count);
    self.rest_ = self.rest_.subspan(count);
  }

  [[noreturn]] void refuse_damaged() const {
    refuse(fmt::format("the picture is damaged: {}; copy it again", printable(message())));
  }
  [[noreturn]] void refuse(const std::string& why) const {
    throw input_error("cannot read {}: {}", quoted(file_.path()), why);
  }

  MappedFile file_;
  std::span<const std::byte> rest_;
  std::uint32_t width_ = 0, height_ = 0, channels_ = 0;
  std::vector<std::uint8_t> samples_;
  std::vector<png_bytep> rows_;
};

}  // namespace

Picture read_png(const std::string& path) {
  return PngReader(path).read();
}

}  // namespace tilescope::io
