#include "native_kernels.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace tilescope::bench {
namespace {

constexpr std::size_t kList = 1 << 20, kSide = 1024, kProduct = 256, kTile = 16;

std::vector<float> values(std::size_t count) {
  std::vector<float> result(count);
  for (std::size_t i = 0; i < count; ++i) result[i] = static_cast<float>(i % 1000) / 1000.0F - 0.5F;
  return result;
}

/// Results that the compiler must believe to be read.
volatile float sink_value;
volatile std::uint32_t sink_count;

void saxpb(const std::vector<float>& x, std::vector<float>& y) {
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = 2.5F * x[i] + 1.5F;
  sink_value = y[x.size() / 2];
}

void laplacian(const std::vector<float>& in, std::vector<float>& out) {
  for (std::size_t y = 1; y + 1 < kSide; ++y) {
    for (std::size_t x = 1; x + 1 < kSide; ++x) {
      const std::size_t i = y * kSide + x;
      out[i] = in[i - 1] + in[i + 1] + in[i - kSide] + in[i + kSide] - 4.0F * in[i];
    }
  }
  sink_value = out[kSide * kSide / 2];
}

void reduce(const std::vector<float>& x) {
  float sum = 0;
  for (const float value : x) sum += value;
  sink_value = sum;
}

void histogram(const std::vector<std::uint8_t>& x) {
  std::array<std::uint32_t, 256> counts{};
  for (const std::uint8_t value : x) ++counts[value];
  sink_count = counts[7];
}

void tiled_product(const std::vector<float>& a, const std::vector<float>& b,
                   std::vector<float>& c) {
  for (std::size_t i0 = 0; i0 < kProduct; i0 += kTile) {
    for (std::size_t j0 = 0; j0 < kProduct; j0 += kTile) {
      float sum[kTile][kTile] = {};
      for (std::size_t k0 = 0; k0 < kProduct; k0 += kTile) {
        for (std::size_t i = 0; i < kTile; ++i) {
          for (std::size_t k = 0; k < kTile; ++k) {
            const float left = a[(i0 + i) * kProduct + k0 + k];
            for (std::size_t j = 0; j < kTile; ++j) {
              sum[i][j] += left * b[(k0 + k) * kProduct + j0 + j];
            }
          }
        }
      }
      for (std::size_t i = 0; i < kTile; ++i) {
        for (std::size_t j = 0; j < kTile; ++j) c[(i0 + i) * kProduct + j0 + j] = sum[i][j];
      }
    }
  }
  sink_value = c[0];
}

}  // namespace

std::vector<NativeKernel> native_kernels() {
  const auto list = std::make_shared<std::vector<float>>(values(kList));
  const auto other = std::make_shared<std::vector<float>>(kList);
  const auto left = std::make_shared<std::vector<float>>(values(kProduct * kProduct));
  const auto product = std::make_shared<std::vector<float>>(kProduct * kProduct);
  const auto bytes = std::make_shared<std::vector<std::uint8_t>>(kList);
  for (std::size_t i = 0; i < kList; ++i) {
    (*bytes)[i] = static_cast<std::uint8_t>(i * 2654435761U >> 24);
  }
  return {{"saxpb", [=] { saxpb(*list, *other); }},
          {"laplacian", [=] { laplacian(*list, *other); }},
          {"reduce", [=] { reduce(*list); }},
          {"histogram", [=] { histogram(*bytes); }},
          {"tiled_16", [=] { tiled_product(*left, *left, *product); }}};
}

}  // namespace tilescope::bench
