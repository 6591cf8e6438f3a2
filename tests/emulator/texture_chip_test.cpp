// Textures as an H200 sampled them: bench/texture_samples.cu recorded the file, with the cases of
// support/texture_cases.hpp. Most cases are equal to the bit. The others have a bound of their own,
// for what is not known of the chip.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>

#include "emulator/textures/sampling.hpp"
#include "emulator/textures/surfaces.hpp"
#include "support/texture_case_list.hpp"
#include "support/texture_objects.hpp"

namespace tilescope::emulator {
namespace {

using namespace texture_cases;

Texel surface_load(const Case& c, const Image& image, const Point& p) {
  const unsigned bytes = c.element_bytes() == 4 ? 4 : 8;
  SurfacePoint point{.at = {static_cast<int>(p.x) * static_cast<int>(bytes), static_cast<int>(p.y),
                            static_cast<int>(p.z)},
                     .layer = static_cast<std::uint32_t>(static_cast<int>(p.layer))};
  const SurfacePlace place =
      surface_place(image, point, bytes, false,
                    c.operation == Operation::load ? SurfaceBounds::clamp : SurfaceBounds::zero);
  Texel texel;
  if (place.inside) std::memcpy(texel.bits.data(), image.levels[0].data + place.offset, bytes);
  return texel;
}

Texel run_case(const Case& c, const Image& image, const Sampler& sampler, const Point& p) {
  SamplePoint point{.at = {p.x, p.y, p.z},
                    .layer = static_cast<std::uint32_t>(static_cast<int>(p.layer)),
                    .level = p.level};
  std::copy(p.dx, p.dx + 3, point.dx.begin());
  std::copy(p.dy, p.dy + 3, point.dy.begin());
  switch (c.operation) {
    case Operation::sample:
      return sample(image, sampler, point, nullptr);
    case Operation::level:
      point.choice = LevelChoice::given;
      return sample(image, sampler, point, nullptr);
    case Operation::gradient:
      point.choice = LevelChoice::by_gradient;
      return sample(image, sampler, point, nullptr);
    case Operation::gather:
      return gather(image, sampler, point, static_cast<unsigned>(c.component), nullptr);
    case Operation::fetch: {
      const std::int64_t y = c.dimensions() == 1 ? 0 : static_cast<int>(p.y);
      return fetch(image, sampler, {static_cast<int>(p.x), y, 0}, 0, 0, nullptr);
    }
    default:
      return surface_load(c, image, p);
  }
}

bool has(const Case& c, std::string_view part) {
  return c.name.find(part) != std::string::npos;
}

/// A case's points that may differ, and by how much. Elements lie in [-1, 1], so that one unit of a
/// weight is at most 2/256.
struct Allowance {
  int points = 0;
  double difference = 0;
};
Allowance allowance_of(const Case& c) {
  constexpr double kOneWeight = 2.0 / 256;
  // The several samples of an anisotropic filter, and the level that gradients give.
  if (has(c, "anisotropic")) return {c.points, has(c, "levels") ? 1.0 : 2.0};
  if (has(c, "gradient")) return {has(c, "linear") ? c.points : 12, has(c, "linear") ? 0.2 : 2.0};
  if (c.srgb && c.linear && c.width == 16) return {c.points, 0.006};
  // A direction on the very edge of two faces.
  if (c.is_cube() && !c.linear) return {20, 2};
  if (c.is_cube()) return {64, kOneWeight};
  if (has(c, "mip 3d")) return {32, 2 * kOneWeight};
  if (c.dimensions() == 3 && c.linear) return {8, kOneWeight};
  if (has(c, "mip") && c.linear) return {7, kOneWeight};
  if (c.kind == Kind::integer && c.bits == 8) return {9, 1.01 / 32767};
  if (c.kind == Kind::floating && c.bits == 16) return {1, 0x1p-11};
  return {};
}

TEST(TextureChip, SamplesAreThoseOfTheChip) {
  std::ifstream file(TILESCOPE_TEST_DATA "/emulator/texture_samples.bin", std::ios::binary);
  ASSERT_TRUE(file.good());
  std::uint32_t number = 0;
  int exact = 0;
  for (const Case& c : all()) {
    ++number;
    std::uint32_t status = 0;
    file.read(reinterpret_cast<char*>(&status), 4);
    std::vector<std::uint32_t> chip(static_cast<std::size_t>(c.points) * 4);
    file.read(reinterpret_cast<char*>(chip.data()), static_cast<std::streamsize>(chip.size() * 4));
    ASSERT_TRUE(file.good()) << c.name;
    ASSERT_EQ(status, 0u) << c.name;
    Image image = image_of(request_of(c));
    std::vector<std::uint8_t> memory;
    for (int level = 0; level < c.levels; ++level) {
      const std::vector<std::uint8_t> bytes = contents(c, number, level);
      memory.insert(memory.end(), bytes.begin(), bytes.end());
    }
    place(image, 0x1000, memory.data());
    const Sampler sampler = sampler_of(c);
    const Allowance allowed = allowance_of(c);
    const bool floats = c.kind == Kind::floating || c.as_float;
    int different = 0;
    for (int i = 0; i < c.points; ++i) {
      const Texel texel = run_case(c, image, sampler, point(c, number, static_cast<unsigned>(i)));
      bool equal = true;
      for (std::size_t k = 0; k < 4; ++k) {
        const std::uint32_t expected = chip[static_cast<std::size_t>(i) * 4 + k];
        if (texel.bits[k] == expected) continue;
        equal = false;
        ASSERT_TRUE(floats) << c.name << " " << i;
        EXPECT_NEAR(std::bit_cast<float>(texel.bits[k]), std::bit_cast<float>(expected),
                    allowed.difference)
            << c.name << ", point " << i;
      }
      different += equal ? 0 : 1;
    }
    EXPECT_LE(different, allowed.points) << c.name;
    exact += different == 0 ? 1 : 0;
  }
  EXPECT_EQ(file.peek(), std::ifstream::traits_type::eof());
  EXPECT_GE(exact, 260);
}

}  // namespace
}  // namespace tilescope::emulator
