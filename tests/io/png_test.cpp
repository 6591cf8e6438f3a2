// Pictures made by tests/data/png/make.py, which knows nothing of libpng.
#include "io/png.hpp"

#include <random>

#include "support/temporary_folder.hpp"

namespace tilescope::io {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::read_file;
using testing::TemporaryFolder;
using testing::write_file;

const std::string data = TILESCOPE_TEST_DATA "/png/";

std::string refusal(const std::string& path) {
  return error_of(ErrorKind::bad_input, [&] { read_png(path); });
}

std::vector<std::uint8_t> expected_samples(std::uint32_t channels) {
  std::vector<std::uint8_t> samples;
  for (unsigned y = 0; y < 3; ++y) {
    for (unsigned x = 0; x < 5; ++x) {
      for (unsigned c = 0; c < channels; ++c) {
        samples.push_back(static_cast<std::uint8_t>(40 * x + 10 * y + c));
      }
    }
  }
  return samples;
}

TEST(Png, ReadsGreyAndRgb) {
  const std::pair<const char*, std::uint32_t> cases[] = {
      {"grey", 1},           {"rgb", 3},         {"grey_interlaced", 1},
      {"rgb_interlaced", 3}, {"rgba_opaque", 3}, {"grey_alpha_opaque", 1}};
  for (const auto& [name, channels] : cases) {
    const Picture picture = read_png(data + name + ".png");
    EXPECT_EQ(picture.width, 5u) << name;
    EXPECT_EQ(picture.height, 3u) << name;
    EXPECT_EQ(picture.channels, channels) << name;
    EXPECT_EQ(picture.samples, expected_samples(channels)) << name;
  }
}

TEST(Png, ExpandsPalettesAndBits) {
  const Picture palette = read_png(data + "palette.png");
  ASSERT_EQ(palette.channels, 3u);
  for (std::size_t i = 0; i < 15; ++i) {
    const auto entry = static_cast<std::uint8_t>(i % 5 + i / 5);
    EXPECT_EQ(palette.samples[3 * i], entry);
    EXPECT_EQ(palette.samples[3 * i + 1], 2 * entry);
    EXPECT_EQ(palette.samples[3 * i + 2], 3 * entry);
  }
  const Picture bits = read_png(data + "one_bit.png");
  ASSERT_EQ(bits.channels, 1u);
  for (std::size_t i = 0; i < 15; ++i) {
    EXPECT_EQ(bits.samples[i], (i % 5 + i / 5) % 2 == 0 ? 255 : 0) << i;
  }
}

TEST(Png, WhatIsNotTakenIsSaid) {
  EXPECT_THAT(refusal(data + "grey_16.png"), HasSubstr("16 bits a sample"));
  EXPECT_THAT(refusal(data + "rgba_transparent.png"), HasSubstr("pixel (3, 1) is transparent"));
  EXPECT_THAT(refusal(data + "palette_transparent.png"), HasSubstr("pixel (4, 2) is transparent"));
  EXPECT_THAT(refusal(data + "none.png"), HasSubstr("no such file"));
  EXPECT_THAT(refusal(data), HasSubstr("folder"));
  const TemporaryFolder folder;
  write_file(folder / "a.png", "");
  EXPECT_THAT(refusal(folder / "a.png"), HasSubstr("the file is empty"));
  write_file(folder / "a.png", "\xff\xd8\xff\xe0 a JPEG");
  EXPECT_THAT(refusal(folder / "a.png"), HasSubstr("not a PNG picture"));
}

TEST(Png, SizesThatTheFileCannotHold) {
  EXPECT_THAT(refusal(data + "huge.png"), HasSubstr("more than the 268,435,456 that are accepted"));
  EXPECT_THAT(refusal(data + "bomb.png"), HasSubstr("claims 16000 x 16000 pixels"));
  EXPECT_THAT(refusal(data + "no_pixels.png"), HasSubstr("the picture is damaged"));
}

TEST(Png, EveryTruncationIsRefused) {
  const TemporaryFolder folder;
  for (const char* const name : {"rgb.png", "palette.png", "grey_interlaced.png"}) {
    const std::string good = read_file(data + name);
    for (std::size_t size = 0; size < good.size(); ++size) {
      write_file(folder / "a.png", good.substr(0, size));
      refusal(folder / "a.png");
    }
  }
}

// Every single byte changed: checksums catch all but those in the lengths' and types' meaning, and
// nothing may crash. The signature, header, data and checksums must all be refused.
TEST(Png, DamageIsRefused) {
  const TemporaryFolder folder;
  const std::string good = read_file(data + "rgb.png");
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const char flip : {'\x01', '\x80', '\xff'}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ flip);
      write_file(folder / "a.png", bad);
      refusal(folder / "a.png");
    }
  }
}

TEST(Png, APaletteEntryThatDoesNotExistDoesNotCrash) {
  try {
    EXPECT_EQ(read_png(data + "palette_overrun.png").samples.size(), 45u);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
  }
}

TEST(Png, RandomPicturesComeBack) {
  const TemporaryFolder folder;
  std::mt19937 random(5);
  for (int round = 0; round < 40; ++round) {
    Picture picture{.width = static_cast<std::uint32_t>(random() % 80 + 1),
                    .height = static_cast<std::uint32_t>(random() % 80 + 1),
                    .channels = random() % 2 == 0 ? 1u : 3u,
                    .samples = {}};
    picture.samples.resize(std::size_t{picture.width} * picture.height * picture.channels);
    for (std::uint8_t& sample : picture.samples) sample = static_cast<std::uint8_t>(random());
    write_png(folder / "a.png", picture);
    const Picture back = read_png(folder / "a.png");
    ASSERT_EQ(back.width, picture.width);
    ASSERT_EQ(back.height, picture.height);
    ASSERT_EQ(back.channels, picture.channels);
    ASSERT_EQ(back.samples, picture.samples);
  }
  EXPECT_THAT(folder.names(), ElementsAre("a.png"));
}

TEST(Png, TheSamePictureGivesTheSameBytes) {
  const TemporaryFolder folder;
  const Picture picture = read_png(data + "rgb.png");
  write_png(folder / "a.png", picture);
  write_png(folder / "b.png", picture);
  EXPECT_EQ(read_file(folder / "a.png"), read_file(folder / "b.png"));
}

TEST(Png, WritingIsRefusedBeforeAFileExists) {
  const TemporaryFolder folder;
  const std::vector<std::uint8_t> samples(12);
  const auto refused = [&](std::uint32_t width, std::uint32_t height, std::uint32_t channels) {
    return error_of(ErrorKind::usage,
                    [&] { write_png(folder / "a.png", width, height, channels, samples); });
  };
  EXPECT_THAT(refused(0, 3, 1), HasSubstr("not 0 x 3"));
  EXPECT_THAT(refused(0x80000000u, 1, 1), HasSubstr("not 2147483648 x 1"));
  EXPECT_THAT(refused(3, 2, 2), HasSubstr("1 channel (grey) or 3 (RGB), not 2"));
  EXPECT_THAT(refused(5, 3, 1), HasSubstr("need 15 samples, not 12"));
  EXPECT_THAT(
      error_of(ErrorKind::bad_input, [&] { write_png(folder / "none/a.png", 4, 3, 1, samples); }),
      HasSubstr("does not exist"));
  EXPECT_THAT(folder.names(), IsEmpty());
}

}  // namespace
}  // namespace tilescope::io
