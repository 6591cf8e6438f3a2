#include <algorithm>
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

// Adds (or takes away) a row's samples to column sums.
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

void blur_on_cpu(const std::uint8_t* in, std::uint8_t* out, const BlurProblem& p) {
  const std::int64_t pitch = p.width * p.channels;
  constexpr std::int64_t strip = 256;  // rows that one core marches down
  parallel_for(static_cast<std::size_t>((p.height + strip - 1) / strip), [&](std::size_t index) {
    const std::int64_t first = static_cast<std::int64_t>(index) * strip;
    const std::int64_t end = std::min(p.height, first + strip);
    std::vector<std::uint32_t> columns(static_cast<std::size_t>(pitch));
    Window held = window(first, p.height, p.radius);
    for (std::int64_t r = held.first; r < held.end; ++r) add_row<1>(columns, in + r * pitch);
    for (std::int64_t row = first; row < end; ++row) {
      const Window rows = window(row, p.height, p.radius);
      if (rows.end > held.end) add_row<1>(columns, in + held.end * pitch);
      if (rows.first > held.first) add_row<-1>(columns, in + held.first * pitch);
      held = rows;
      for (std::int64_t channel = 0; channel < p.channels; ++channel) {
        const auto column = [&](std::int64_t c) {
          return columns[static_cast<std::size_t>(c * p.channels + channel)];
        };
        Window summed{0, 0};
        std::uint32_t sum = 0;
        for (std::int64_t c = 0; c < p.width; ++c) {
          const Window wanted = window(c, p.width, p.radius);
          while (summed.end < wanted.end) sum += column(summed.end++);
          while (summed.first < wanted.first) sum -= column(summed.first++);
          out[row * pitch + c * p.channels + channel] =
              static_cast<std::uint8_t>(sum / (rows.length() * wanted.length()));
        }
      }
    }
  });
}

}  // namespace tilescope::operations
