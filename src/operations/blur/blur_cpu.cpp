#include <algorithm>
#include <array>
#include <thread>
#include <vector>

#include "base/parallel.hpp"
#include "operations/blur/blur.hpp"

namespace tilescope::operations {
namespace {

struct Window {
  std::int64_t first, end;
  std::uint32_t length() const { return static_cast<std::uint32_t>(end - first); }
};

// The positions around `at` that lie in [0, extent).
Window window(std::int64_t at, std::int64_t extent, int radius) {
  return {std::max<std::int64_t>(at - radius, 0), std::min(at + radius + 1, extent)};
}

// Adds a row's samples to column sums, or subtracts them.
template <int sign>
void add_row(std::vector<std::uint32_t>& sums, const std::uint8_t* row) {
  for (std::size_t s = 0; s < sums.size(); ++s) {
    sums[s] += sign > 0 ? std::uint32_t{row[s]} : 0U - std::uint32_t{row[s]};
  }
}

}  // namespace

void blur_by_definition(const std::uint8_t* in, std::uint8_t* out, const BlurProblem& p) {
  const std::int64_t pitch = p.width * p.channels;
  for (std::int64_t row = 0; row < p.height; ++row) {
    const Window rows = window(row, p.height, p.radius);
    for (std::int64_t sample = 0; sample < pitch; ++sample) {
      const Window columns = window(sample / p.channels, p.width, p.radius);
      std::uint32_t sum = 0;
      for (std::int64_t r = rows.first; r < rows.end; ++r) {
        for (std::int64_t c = columns.first; c < columns.end; ++c) {
          sum += in[r * pitch + c * p.channels + sample % p.channels];
        }
      }
      out[row * pitch + sample] =
          static_cast<std::uint8_t>(sum / (rows.length() * columns.length()));
    }
  }
}

namespace {

// One row of means, from the sums of `height` samples in every column of samples. `prefix` has room
// for the row and one pixel more.
template <std::int64_t channels>
void mean_row(const std::uint32_t* columns, std::uint32_t* prefix, std::uint8_t* out,
              std::uint32_t height, const BlurProblem& p) {
  // prefix[s] is the sum of the columns before s of its channel.
  std::array<std::uint32_t, channels> sum{};
  for (std::int64_t c = 0; c < p.width; ++c) {
    for (std::int64_t channel = 0; channel < channels; ++channel) {
      prefix[c * channels + channel] = sum[channel];
      sum[channel] += columns[c * channels + channel];
    }
  }
  std::copy_n(sum.begin(), channels, prefix + p.width * channels);

  const auto divided = [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t c = first; c < end; ++c) {
      const Window w = window(c, p.width, p.radius);
      for (std::int64_t channel = 0; channel < channels; ++channel) {
        const std::uint32_t box =
            prefix[w.end * channels + channel] - prefix[w.first * channels + channel];
        out[c * channels + channel] = static_cast<std::uint8_t>(box / (w.length() * height));
      }
    }
  };
  const std::int64_t whole_end = p.width - p.radius;
  if (whole_end <= p.radius) return divided(0, p.width);
  divided(0, p.radius);
  // Whole windows: box * ceil(2^52 / area) / 2^52 is box / area, rounded down, for every possible
  // box: at most 255 area, with area up to 129^2.
  constexpr unsigned shift = 52;
  const std::int64_t diameter = 2 * std::int64_t{p.radius} + 1;
  const std::uint64_t area = static_cast<std::uint64_t>(diameter) * height;
  const std::uint64_t reciprocal = ((std::uint64_t{1} << shift) + area - 1) / area;
  const std::uint32_t* const right = prefix + diameter * channels;
  for (std::int64_t s = 0; s < (whole_end - p.radius) * channels; ++s) {
    out[p.radius * channels + s] =
        static_cast<std::uint8_t>((right[s] - prefix[s]) * reciprocal >> shift);
  }
  divided(whole_end, p.width);
}

using MeanRow = void (*)(const std::uint32_t*, std::uint32_t*, std::uint8_t*, std::uint32_t,
                         const BlurProblem&);
constexpr std::array<MeanRow, 4> mean_rows{mean_row<1>, mean_row<2>, mean_row<3>, mean_row<4>};

}  // namespace

void blur_on_cpu(const std::uint8_t* in, std::uint8_t* out, const BlurProblem& p) {
  const std::int64_t pitch = p.width * p.channels;
  const MeanRow mean = mean_rows.at(static_cast<std::size_t>(p.channels - 1));
  // Rows that one core marches down: several strips for each, but each long beside the rows that it
  // adds up before its first.
  const auto cores = static_cast<std::int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  const std::int64_t strip = std::max(p.height / (4 * cores), 16 + std::int64_t{4} * p.radius);
  parallel_for(static_cast<std::size_t>((p.height + strip - 1) / strip), [&](std::size_t index) {
    const std::int64_t first = static_cast<std::int64_t>(index) * strip;
    const std::int64_t end = std::min(p.height, first + strip);
    std::vector<std::uint32_t> columns(static_cast<std::size_t>(pitch)),
        prefix(static_cast<std::size_t>(pitch + p.channels));
    Window held = window(first, p.height, p.radius);
    for (std::int64_t r = held.first; r < held.end; ++r) add_row<1>(columns, in + r * pitch);
    for (std::int64_t row = first; row < end; ++row) {
      const Window rows = window(row, p.height, p.radius);
      if (rows.end > held.end) add_row<1>(columns, in + held.end * pitch);
      if (rows.first > held.first) add_row<-1>(columns, in + held.first * pitch);
      held = rows;
      mean(columns.data(), prefix.data(), out + row * pitch, rows.length(), p);
    }
  });
}

}  // namespace tilescope::operations
