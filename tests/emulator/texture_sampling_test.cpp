// Sampling against a reference that is written the other way round: it walks over all elements of
// the image and adds up what each contributes to a coordinate.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "emulator/textures/addressing.hpp"
#include "emulator/textures/cube_map.hpp"
#include "emulator/textures/sampling.hpp"
#include "emulator/textures/surfaces.hpp"
#include "emulator/textures/texels.hpp"

namespace tilescope::emulator {
namespace {

constexpr TexelFormat kFloat{.channels = 1, .bits = 32, .kind = TexelKind::floating};

/// An image with memory of its own, filled with random numbers in [-1, 1].
struct RandomImage {
  explicit RandomImage(const ArrayRequest& request) : image(image_of(request)) {
    std::mt19937 random(7);
    std::uniform_real_distribution<float> values(-1, 1);
    memory.resize(image.bytes() / sizeof(float));
    for (float& value : memory) value = values(random);
    place(image, 0x1000, reinterpret_cast<const std::uint8_t*>(memory.data()));
  }
  float at(std::size_t x, std::size_t y, std::size_t z) const {
    const ImageLevel& level = image.levels.front();
    return memory[(z * level.height + y) * level.width + x];
  }
  Image image;
  std::vector<float> memory;
};

Sampler sampler_with(AddressMode mode, Filter filter, bool normalized) {
  Sampler sampler;
  sampler.address = {mode, mode, mode};
  sampler.filter = filter;
  sampler.normalized = normalized;
  return sampler;
}

float value_of(const Texel& texel) {
  return std::bit_cast<float>(texel.bits[0]);
}

/// The share of element `index` of `extent` in the value at `coordinate`, with weights of 1/256.
/// A periodic axis repeats the elements, a clamped one continues the first and the last.
double share(double coordinate, int index, int extent, AddressMode mode) {
  const double position = std::floor((coordinate - 0.5) * 256 + 0.5) / 256;
  const auto hat = [&](int at) { return std::max(0.0, 1 - std::fabs(position - at)); };
  double sum = 0;
  for (int copy = -40 * extent; copy < 41 * extent; ++copy) {
    const int period = ((copy % (2 * extent)) + 2 * extent) % (2 * extent);
    int meant = copy;
    if (mode == AddressMode::wrap) meant = period % extent;
    if (mode == AddressMode::mirror) meant = period < extent ? period : 2 * extent - 1 - period;
    if (mode == AddressMode::clamp) meant = std::min(std::max(copy, 0), extent - 1);
    if (meant == index) sum += hat(copy);
  }
  return sum;
}

class Addressing : public ::testing::TestWithParam<std::tuple<AddressMode, bool>> {
 protected:
  /// The value at a random point, and the sum over all elements of an image of these extents.
  std::pair<double, double> got_and_expected(const RandomImage& random, unsigned dimensions) {
    const auto [mode, normalized] = GetParam();
    Sampler sampler = sampler_with(mode, Filter::linear, normalized);
    const AddressMode expected_mode = effective_mode(sampler, 0);
    if (dimensions == 1) sampler.address[1] = AddressMode::clamp;
    const ImageLevel& level = random.image.levels.front();
    const std::uint32_t extents[] = {level.width, level.height, level.depth};
    std::uniform_real_distribution<float> coordinates(-1.5f, 2.5f);
    SamplePoint point;
    std::array<double, 3> texels{};
    for (std::size_t axis = 0; axis < dimensions; ++axis) {
      const float unit = coordinates(generator_);
      point.at[axis] = normalized ? unit : unit * static_cast<float>(extents[axis]);
      texels[axis] = normalized ? double{unit} * extents[axis] : double{point.at[axis]};
    }
    const auto part = [&](std::size_t axis, std::uint32_t at) {
      if (axis >= dimensions) return 1.0;
      return share(texels[axis], static_cast<int>(at), static_cast<int>(extents[axis]),
                   expected_mode);
    };
    double expected = 0;
    for (std::uint32_t z = 0; z < extents[2]; ++z) {
      for (std::uint32_t y = 0; y < extents[1]; ++y) {
        for (std::uint32_t x = 0; x < extents[0]; ++x) {
          expected += random.at(x, y, z) * part(0, x) * part(1, y) * part(2, z);
        }
      }
    }
    return {value_of(sample(random.image, sampler, point, nullptr)), expected};
  }

 private:
  std::mt19937 generator_{3};
};

TEST_P(Addressing, LinearFiltersAreSumsOfAllElements) {
  const RandomImage row({.format = kFloat, .width = 7});
  for (int round = 0; round < 60; ++round) {
    const auto [got, expected] = got_and_expected(row, 1);
    EXPECT_NEAR(got, expected, 1e-6);
  }
}

/// Products of weights are rounded to 1/256: four of two axes, eight of three.
TEST_P(Addressing, WeightsOfSeveralAxesAreRoundedProducts) {
  const RandomImage flat({.format = kFloat, .width = 5, .height = 3});
  const RandomImage deep({.format = kFloat, .width = 5, .height = 3, .depth = 4});
  for (int round = 0; round < 60; ++round) {
    const auto [got, expected] = got_and_expected(flat, 2);
    EXPECT_NEAR(got, expected, 4 * 0.5 / 256);
    const auto [got_3d, expected_3d] = got_and_expected(deep, 3);
    EXPECT_NEAR(got_3d, expected_3d, 8 * 1.0 / 256);
  }
}

TEST(TextureWeights, OfCornersAddUpTo1) {
  for (std::uint32_t x = 0; x < 256; x += 5) {
    for (std::uint32_t y = 0; y < 256; y += 7) {
      for (std::uint32_t z = 0; z < 256; z += 11) {
        const CornerWeights weights = corner_weights({Taps{0, 1, x}, Taps{0, 1, y}, Taps{0, 1, z}});
        std::uint32_t sum = 0;
        for (const std::uint32_t weight : weights) sum += weight;
        ASSERT_EQ(sum, kWholeWeight);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, Addressing,
                         ::testing::Combine(::testing::Values(AddressMode::wrap, AddressMode::clamp,
                                                              AddressMode::mirror,
                                                              AddressMode::border),
                                            ::testing::Bool()));

TEST(TextureSampling, PointsTakeTheElementBelowTheCoordinate) {
  const RandomImage random({.format = kFloat, .width = 6, .height = 2});
  const Sampler sampler = sampler_with(AddressMode::clamp, Filter::point, false);
  const auto at = [&](float x, float y) {
    return value_of(sample(random.image, sampler, {.at = {x, y, 0}}, nullptr));
  };
  EXPECT_EQ(at(2.99f, 1.0f), random.at(2, 1, 0));
  EXPECT_EQ(at(3.0f, 0.99f), random.at(3, 0, 0));
  EXPECT_EQ(at(-5, 0), random.at(0, 0, 0));
  EXPECT_EQ(at(1e30f, 7), random.at(5, 1, 0));
}

TEST(TextureSampling, FiltersTouchTheElementsThatHaveWeight) {
  const RandomImage random({.format = kFloat, .width = 8, .height = 8});
  const Sampler sampler = sampler_with(AddressMode::clamp, Filter::linear, false);
  TouchedTexels touched;
  sample(random.image, sampler, {.at = {2.5f, 3.5f, 0}}, &touched);
  EXPECT_EQ(touched, (TouchedTexels{0x1000 + 4 * (3 * 8 + 2)}));
  touched.clear();
  sample(random.image, sampler, {.at = {2.75f, 3.25f, 0}}, &touched);
  EXPECT_EQ(touched.size(), 4u);
}

TEST(TextureSampling, BordersHaveTheirColor) {
  const RandomImage random({.format = kFloat, .width = 4});
  Sampler sampler = sampler_with(AddressMode::border, Filter::point, false);
  sampler.address[1] = AddressMode::clamp;
  sampler.border = {0.25f, 0, 0, 0};
  EXPECT_EQ(value_of(sample(random.image, sampler, {.at = {-1, 0, 0}}, nullptr)), 0.25f);
  sampler.filter = Filter::linear;
  EXPECT_EQ(value_of(sample(random.image, sampler, {.at = {0, 0, 0}}, nullptr)),
            static_cast<float>((0.25 + double{random.at(0, 0, 0)}) / 2));
  // One dimension is two with y = 0: with a border in y, half of it.
  const float inside = value_of(sample(random.image, sampler, {.at = {1.5f, 0, 0}}, nullptr));
  sampler.address[1] = AddressMode::border;
  EXPECT_EQ(value_of(sample(random.image, sampler, {.at = {1.5f, 0, 0}}, nullptr)),
            static_cast<float>((0.25 + double{inside}) / 2));
}

TEST(TextureSampling, GathersFourElementsFromBelowLeft) {
  const RandomImage random({.format = kFloat, .width = 8, .height = 8});
  const Sampler sampler = sampler_with(AddressMode::clamp, Filter::point, false);
  const Texel texel = gather(random.image, sampler, {.at = {3, 5, 0}}, 0, nullptr);
  const float expected[] = {random.at(2, 5, 0), random.at(3, 5, 0), random.at(3, 4, 0),
                            random.at(2, 4, 0)};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(std::bit_cast<float>(texel.bits[i]), expected[i]) << i;
  }
}

TEST(TextureSampling, LevelsAreChosenAndBlended) {
  RandomImage random({.format = kFloat, .width = 16, .height = 16, .levels = 5});
  std::size_t at = 0;
  for (std::size_t level = 0; level < 5; ++level) {
    const ImageLevel& one = random.image.levels[level];
    for (std::size_t i = 0; i < std::size_t{one.width} * one.height; ++i) {
      random.memory[at++] = static_cast<float>(level);
    }
  }
  Sampler sampler = sampler_with(AddressMode::wrap, Filter::linear, true);
  sampler.most_level = 10;
  const auto value = [&](float level) {
    return value_of(sample(random.image, sampler,
                           {.at = {0.3f, 0.6f, 0}, .choice = LevelChoice::given, .level = level},
                           nullptr));
  };
  EXPECT_EQ(value(1.4f), 1);
  EXPECT_EQ(value(1.6f), 2);
  EXPECT_EQ(value(-3), 0);
  EXPECT_EQ(value(99), 4);
  sampler.level_filter = Filter::linear;
  EXPECT_EQ(value(1.25f), 1.25f);
  sampler.bias = 0.5f;
  EXPECT_EQ(value(1.25f), 1.75f);
  sampler.most_level = 1.5f;
  EXPECT_EQ(value(3), 1.5f);
  sampler.bias = 0;
  sampler.most_level = 10;
  SamplePoint point{.at = {0.3f, 0.6f, 0}, .choice = LevelChoice::by_gradient};
  point.dx = {0.25f, 0, 0};  // four elements of level 0
  EXPECT_EQ(value_of(sample(random.image, sampler, point, nullptr)), 2);
}

TEST(CubeMap, DirectionsHitTheFaceOfTheLongestAxis) {
  const std::array<float, 3> directions[] = {{2, 1, -1},  {-2, 1, -1}, {1, 2, -1},
                                             {1, -2, -1}, {1, -1, 2},  {1, -1, -2}};
  // s and t of each face as OpenGL's table of cube maps has them.
  const double s[] = {0.75, 0.25, 0.75, 0.75, 0.75, 0.25};
  const double t[] = {0.25, 0.25, 0.25, 0.75, 0.75, 0.75};
  for (unsigned face = 0; face < 6; ++face) {
    const CubePlace place = cube_place(directions[face]);
    EXPECT_EQ(place.face, face);
    EXPECT_DOUBLE_EQ(place.s, s[face]) << face;
    EXPECT_DOUBLE_EQ(place.t, t[face]) << face;
  }
}

/// Crossing an edge and coming back is no move.
TEST(CubeMap, NeighboursAcrossEdgesAreNeighboursOfEachOther) {
  constexpr std::int64_t kExtent = 5;
  for (unsigned face = 0; face < 6; ++face) {
    for (std::int64_t i = 0; i < kExtent; ++i) {
      for (const auto& [x, y] :
           {std::pair<std::int64_t, std::int64_t>{-1, i}, {kExtent, i}, {i, -1}, {i, kExtent}}) {
        const auto there = across_edge({face, x, y}, kExtent);
        ASSERT_TRUE(there);
        EXPECT_NE(there->face, face);
        const std::int64_t inside_x = std::min(std::max<std::int64_t>(x, 0), kExtent - 1);
        const std::int64_t inside_y = std::min(std::max<std::int64_t>(y, 0), kExtent - 1);
        int ways_back = 0;
        for (const auto& [dx, dy] : {std::pair<int, int>{-1, 0}, {1, 0}, {0, -1}, {0, 1}}) {
          const auto back = across_edge({there->face, there->x + dx, there->y + dy}, kExtent);
          ways_back += back && back->face == face && back->x == inside_x && back->y == inside_y;
        }
        EXPECT_EQ(ways_back, 1) << face << " " << x << " " << y;
      }
    }
  }
  EXPECT_FALSE(across_edge({0, -1, -1}, kExtent));
}

TEST(Texels, FormatsAreReadAsNumbersAndAsFractions) {
  const std::uint8_t bytes[] = {0x80, 0xff, 0x7f, 0x00};
  const TexelFormat signed8{.channels = 4, .bits = 8, .kind = TexelKind::integer};
  const Texel whole = read_texel(signed8, bytes, false, false);
  EXPECT_EQ(whole.bits, (std::array<std::uint32_t, 4>{0xffffff80, 0xffffffff, 0x7f, 0}));
  const Texel fraction = read_texel(signed8, bytes, true, false);
  EXPECT_EQ(std::bit_cast<float>(fraction.bits[0]), -1.0f);
  EXPECT_EQ(std::bit_cast<float>(fraction.bits[1]), -1.0f / 127);
  EXPECT_EQ(std::bit_cast<float>(fraction.bits[2]), 1.0f);
  const TexelFormat natural8{.channels = 4, .bits = 8, .kind = TexelKind::natural};
  const Texel color = read_texel(natural8, bytes, true, true);
  EXPECT_NEAR(std::bit_cast<float>(color.bits[0]), 0.2158605, 1e-3);  // 128 in sRGB
  EXPECT_EQ(std::bit_cast<float>(color.bits[3]), 0.0f);               // alpha is linear
  const TexelFormat half{.channels = 1, .bits = 16, .kind = TexelKind::floating};
  const std::uint8_t one[] = {0x00, 0x3c};
  EXPECT_EQ(value_of(read_texel(half, one, false, false)), 1.0f);
}

TEST(Texels, FormattedStoresStayInTheFormat) {
  std::uint8_t bytes[4] = {};
  write_texel({.channels = 4, .bits = 8, .kind = TexelKind::integer}, bytes,
              {{200, static_cast<std::uint32_t>(-200), 5, static_cast<std::uint32_t>(-5)}});
  EXPECT_EQ(bytes[0], 127);
  EXPECT_EQ(bytes[1], 0x80);
  EXPECT_EQ(bytes[2], 5);
  EXPECT_EQ(bytes[3], 0xfb);
}

TEST(Surfaces, PlacesOutsideAreDroppedOrMovedInside) {
  const RandomImage random({.format = kFloat, .width = 6, .height = 3});
  const auto place = [&](int x, int y, SurfaceBounds bounds) {
    return surface_place(random.image, {.at = {x, y, 0}}, 4, false, bounds);
  };
  EXPECT_EQ(place(8, 2, SurfaceBounds::trap).offset, 8u + 2 * 24);
  EXPECT_FALSE(place(24, 0, SurfaceBounds::trap).inside);
  EXPECT_FALSE(place(-4, 0, SurfaceBounds::zero).inside);
  EXPECT_FALSE(place(0, 3, SurfaceBounds::zero).inside);
  EXPECT_EQ(place(99, -7, SurfaceBounds::clamp).offset, 20u);
  EXPECT_TRUE(place(99, -7, SurfaceBounds::clamp).inside);
}

}  // namespace
}  // namespace tilescope::emulator
