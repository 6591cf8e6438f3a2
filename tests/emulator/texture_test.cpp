// Texture and surface instructions, and the faults of wrong handles and coordinates.
#include <tilescope/error.hpp>

#include "emulator/harness.hpp"
#include "emulator/texture_table.hpp"

namespace tilescope::emulator::test {
namespace {

using ::testing::HasSubstr;

constexpr TexelFormat kFloat{.channels = 1, .bits = 32, .kind = TexelKind::floating};
constexpr TexelFormat kWord{.channels = 1, .bits = 32, .kind = TexelKind::natural};

/// A kernel of 32 threads: %h is its first argument, %i the lane, %f the lane as float; each thread
/// stores the register %r.
std::string texture_kernel(const std::string& body, const std::string& module = "") {
  return std::string(kHeader) + module +
         ".visible .entry k(.param .u64 handle, .param .u64 out)\n{\n"
         ".reg .pred %p; .reg .b16 %h<5>; .reg .b32 %i, %j, %r, %s<9>; .reg .f32 %f, %g<9>;\n"
         ".reg .b64 %handle, %to, %at;\n"
         "ld.param.u64 %handle, [handle]; ld.param.u64 %to, [out]; mov.u32 %i, %tid.x;\n"
         "cvt.rn.f32.u32 %f, %i; mov.u32 %r, 0;\n" +
         body +
         "\nmul.wide.u32 %at, %i, 4; add.u64 %at, %at, %to; st.global.b32 [%at], %r;\nret;\n}\n";
}

/// A machine with an 8 x 4 array whose elements are 0, 1, 2, ...
class TextureBench : public Bench {
 public:
  explicit TextureBench(const std::string& text, TexelFormat format = kFloat, std::size_t depth = 0,
                        bool layered = false)
      : Bench(text),
        array(machine.textures().create_array({.format = format,
                                               .width = 8,
                                               .height = 4,
                                               .depth = depth,
                                               .layered = layered,
                                               .writable = true},
                                              "image")),
        out(machine.allocate(128, "out")) {
    const std::size_t count = 32 * std::max<std::size_t>(depth, 1);
    std::vector<std::uint32_t> words(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto number = static_cast<std::uint32_t>(i);
      words[i] = format.kind == TexelKind::floating
                     ? std::bit_cast<std::uint32_t>(static_cast<float>(number))
                     : number;
    }
    machine.copy_to_device(array, words.data(), words.size() * 4);
  }
  std::uint64_t texture(Sampler sampler = {}) {
    sampler.address = {AddressMode::clamp, AddressMode::clamp, AddressMode::clamp};
    return machine.textures().create_texture({.array = array, .sampler = sampler});
  }
  std::vector<std::uint32_t> words(std::uint64_t handle) {
    EXPECT_EQ(summary(handle).fault_count, 0u);
    return download<std::uint32_t>(out, 32);
  }
  std::vector<float> floats(std::uint64_t handle) {
    EXPECT_EQ(summary(handle).fault_count, 0u);
    return download<float>(out, 32);
  }
  LaunchSummary summary(std::uint64_t handle) { return run("k", {1}, {32}, {}, handle, out); }
  std::string fault(std::uint64_t handle) {
    const LaunchSummary done = summary(handle);
    return done.faults.empty() ? "" : done.faults.front().text;
  }

  std::uint64_t array, out;
};

const std::string kSample =
    "rem.u32 %j, %i, 8; cvt.rn.f32.u32 %g0, %j; div.u32 %j, %i, 8; cvt.rn.f32.u32 %g1, %j;\n";

TEST(Textures, ReadByFloatAndByWholeCoordinates) {
  TextureBench real(
      texture_kernel(kSample + "tex.2d.v4.f32.f32 {%g2, %g3, %g4, %g5}, [%handle, {%g0, %g1}];\n"
                               "mov.b32 %r, %g2;"));
  const std::vector<float> values = real.floats(real.texture());
  for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(values[i], static_cast<float>(i));
  TextureBench whole(texture_kernel("rem.u32 %s0, %i, 8; div.u32 %s1, %i, 8;\n"
                                    "tex.2d.v4.u32.s32 {%r, _, _, %s2}, [%handle, {%s0, %s1}];\n"),
                     kWord);
  const std::vector<std::uint32_t> words = whole.words(whole.texture());
  for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(words[i], i);
}

TEST(Textures, FilterBetweenElementsAndTakeOffsets) {
  TextureBench bench(
      texture_kernel(kSample +
                     "add.f32 %g0, %g0, 0f3F400000;\n"  // 0.75: a quarter to the next
                     "tex.2d.v4.f32.f32 {%g2, %g3, %g4, %g5}|%p, [%handle, {%g0, 0f3F000000}]"
                     ", {-1, 2};\n"
                     "selp.f32 %g2, %g2, 0f00000000, %p;\n"
                     "mov.b32 %r, %g2;"));
  const std::vector<float> values = bench.floats(bench.texture({.filter = Filter::linear}));
  for (std::size_t x = 1; x < 8; ++x) {
    EXPECT_EQ(values[x], 16 + static_cast<float>(x) - 1 + 0.25f) << x;
  }
}

TEST(Textures, LayersAreClamped) {
  TextureBench bench(texture_kernel("tex.a2d.v4.f32.f32 {%g2, %g3, %g4, %g5}, "
                                    "[%handle, {%i, 0f00000000, 0f00000000, 0f00000000}];\n"
                                    "mov.b32 %r, %g2;"),
                     kFloat, 3, true);
  const std::vector<float> values = bench.floats(bench.texture());
  EXPECT_EQ(values[0], 0);
  EXPECT_EQ(values[1], 32);
  EXPECT_EQ(values[2], 64);
  EXPECT_EQ(values[31], 64);
}

TEST(Textures, GatherReturnsFourNeighbours) {
  TextureBench bench(texture_kernel("tld4.r.2d.v4.u32.f32 {%s0, %s1, %s2, %s3}, "
                                    "[%handle, {0f40000000, 0f3F800000}];\n"
                                    "setp.eq.u32 %p, %i, 0; selp.u32 %r, %s0, %s3, %p;\n"
                                    "setp.eq.u32 %p, %i, 1; selp.u32 %r, %s1, %r, %p;\n"
                                    "setp.eq.u32 %p, %i, 2; selp.u32 %r, %s2, %r, %p;\n"),
                     kWord);
  const std::vector<std::uint32_t> words = bench.words(bench.texture());
  EXPECT_EQ(words[0], 9u);
  EXPECT_EQ(words[1], 10u);
  EXPECT_EQ(words[2], 2u);
  EXPECT_EQ(words[3], 1u);
}

TEST(Textures, ResultsMayBeHalves) {
  TextureBench bench(
      texture_kernel("tex.2d.v4.f16.f32 {%h0, %h1, %h2, %h3}, [%handle, {%f, 0f00000000}];\n"
                     "cvt.u32.u16 %r, %h0;"));
  EXPECT_EQ(bench.words(bench.texture())[3], 0x4200u);
  TextureBench pairs(
      texture_kernel("tex.2d.v2.f16x2.f32 {%r, %s0}, [%handle, {%f, 0f00000000}];\n"));
  EXPECT_EQ(pairs.words(pairs.texture())[3], 0x4200u);
}

TEST(Textures, AnswerQueries) {
  const auto answer = [](const std::string& what, const std::string& more = "") {
    TextureBench bench(texture_kernel("txq." + what + ".b32 %r, [%handle]" + more + ";"), kFloat,
                       3);
    return bench.words(bench.texture({.filter = Filter::linear}))[0];
  };
  EXPECT_EQ(answer("width"), 8u);
  EXPECT_EQ(answer("height"), 4u);
  EXPECT_EQ(answer("depth"), 3u);
  EXPECT_EQ(answer("array_size"), 0u);
  EXPECT_EQ(answer("num_mipmap_levels"), 1u);
  EXPECT_EQ(answer("filter_mode"), 1u);
  EXPECT_EQ(answer("level.width", ", 0"), 8u);
}

/// A variable of the module that holds the object, as texture references have it.
TEST(Textures, ReferencesHoldTheObject) {
  TextureBench bench(
      texture_kernel("tex.2d.v4.f32.f32 {%g2, %g3, %g4, %g5}, [image_ref, {%f, 0f00000000}];\n"
                     "mov.b32 %r, %g2;",
                     ".global .texref image_ref;\n"));
  const std::uint64_t handle = bench.texture();
  EXPECT_THAT(bench.fault(0), HasSubstr("0x0 is no texture object"));
  bench.machine.copy_to_device(bench.machine.variable(*bench.module, "image_ref").address, &handle,
                               8);
  EXPECT_EQ(bench.floats(0)[5], 5);
}

TEST(Textures, SamplerReferencesReplaceTheSampler) {
  TextureBench bench(
      texture_kernel(kSample + "tex.2d.v4.f32.f32 {%g2, %g3, %g4, %g5}, "
                               "[%handle, smooth, {%g0, 0f3F000000}];\n"
                               "mov.b32 %r, %g2;",
                     ".global .samplerref smooth = { filter_mode = linear, "
                     "addr_mode_0 = clamp_to_edge, addr_mode_1 = clamp_to_edge };\n"));
  EXPECT_EQ(bench.floats(bench.texture())[5], 4.5f);
}

TEST(Textures, IsTypeTellsObjectsApart) {
  TextureBench bench(
      texture_kernel("istypep.texref %p, %handle; selp.u32 %r, 1, 0, %p;\n"
                     "istypep.surfref %p, %handle; selp.u32 %s0, 2, 0, %p;\n"
                     "or.b32 %r, %r, %s0;"));
  EXPECT_EQ(bench.words(bench.texture())[0], 1u);
  EXPECT_EQ(bench.words(bench.machine.textures().create_surface(bench.array, 0))[0], 2u);
  EXPECT_EQ(bench.words(17)[0], 0u);
}

const std::string kReadLane = "tex.2d.v4.f32.f32 {%g2, %g3, %g4, %g5}, [%handle, {%f, %f}];\n";

TEST(TextureFaults, NameTheWrongHandle) {
  TextureBench bench(texture_kernel(kReadLane));
  EXPECT_THAT(bench.fault(0x1234), HasSubstr("0x1234 is no texture object"));
  EXPECT_THAT(bench.fault(bench.machine.textures().create_surface(bench.array, 0)),
              HasSubstr("is no texture object"));
  const std::uint64_t texture = bench.texture();
  EXPECT_EQ(bench.fault(texture), "");
  bench.machine.textures().destroy(texture);
  EXPECT_THAT(bench.fault(texture), HasSubstr("was destroyed"));
  EXPECT_EQ(bench.summary(texture).fault_count, 32u);
}

TEST(TextureFaults, TellOfFreedMemory) {
  TextureBench bench(texture_kernel(kReadLane));
  const std::uint64_t texture = bench.texture();
  bench.machine.textures().destroy_array(bench.array);
  EXPECT_THAT(bench.fault(texture), HasSubstr("in 'image', which was freed"));
}

TEST(TextureFaults, TellOfOtherDimensions) {
  TextureBench bench(texture_kernel("tex.1d.v4.f32.f32 {%g2, %g3, %g4, %g5}, [%handle, {%f}];\n"));
  EXPECT_THAT(bench.fault(bench.texture()), HasSubstr("has other dimensions"));
}

TEST(Surfaces, LoadStoreAndReduce) {
  TextureBench bench(texture_kernel("rem.u32 %s0, %i, 8; div.u32 %s1, %i, 8; shl.b32 %s2, %s0, 2;\n"
                                    "suld.b.2d.b32.trap %r, [%handle, {%s2, %s1}];\n"
                                    "add.u32 %r, %r, 100;\n"
                                    "sust.b.2d.b32.trap [%handle, {%s2, %s1}], %r;\n"
                                    "sured.b.add.2d.u32.trap [%handle, {0, %s1}], 1;\n"
                                    "sured.p.max.2d.b32.trap [%handle, {1, 1}], %i;\n"),
                     kWord);
  const std::uint64_t surface = bench.machine.textures().create_surface(bench.array, 0);
  EXPECT_EQ(bench.words(surface)[31], 131u);
  const auto image = bench.download<std::uint32_t>(bench.array, 32);
  EXPECT_EQ(image[31], 131u);
  EXPECT_EQ(image[0], 108u);
  EXPECT_EQ(image[8], 116u);
  EXPECT_EQ(image[9], 109u);
}

TEST(Surfaces, FormattedAccessesConvert) {
  TextureBench bench(
      texture_kernel("rem.u32 %s0, %i, 8; div.u32 %s1, %i, 8;\n"
                     "sust.p.2d.v4.b32.clamp [%handle, {%s0, %s1}], {%i, 300, 7, 8};\n"
                     "suld.p.2d.v4.b32.clamp {%s2, %r, %s4, %s5}, [%handle, {%s0, %s1}];\n"),
      {.channels = 4, .bits = 8, .kind = TexelKind::natural});
  const std::uint64_t surface = bench.machine.textures().create_surface(bench.array, 0);
  EXPECT_EQ(bench.words(surface)[5], 255u);
  EXPECT_EQ(bench.download<std::uint32_t>(bench.array, 32)[5], 0x0807ff05u);
}

TEST(Surfaces, CoordinatesOutsideFaultClampOrRead0) {
  const auto text = [](const std::string& bounds) {
    return texture_kernel("shl.b32 %s0, %i, 2; suld.b.2d.b32." + bounds +
                          " %r, [%handle, {%s0, 1}];\n");
  };
  TextureBench trap(text("trap"), kWord);
  EXPECT_THAT(trap.fault(trap.machine.textures().create_surface(trap.array, 0)),
              HasSubstr("surface load at (8, 1), outside its 8 x 4 elements"));
  EXPECT_EQ(trap.summary(trap.machine.textures().create_surface(trap.array, 0)).fault_count, 24u);
  TextureBench clamp(text("clamp"), kWord);
  EXPECT_EQ(clamp.words(clamp.machine.textures().create_surface(clamp.array, 0))[31], 15u);
  TextureBench zero(text("zero"), kWord);
  EXPECT_EQ(zero.words(zero.machine.textures().create_surface(zero.array, 0))[31], 0u);
  TextureBench misaligned(texture_kernel("suld.b.2d.b32.trap %r, [%handle, {%i, 1}];\n"), kWord);
  EXPECT_THAT(misaligned.fault(misaligned.machine.textures().create_surface(misaligned.array, 0)),
              HasSubstr("no multiple of 4"));
}

TEST(TextureObjects, NeedSenseInTheirRequest) {
  TextureBench bench(texture_kernel(""));
  TextureTable& textures = bench.machine.textures();
  EXPECT_THROW(textures.create_texture({.array = 5}), Error);
  EXPECT_THROW(textures.create_texture({.address = bench.out, .format = kFloat, .width = 33}),
               Error);
  EXPECT_NO_THROW(textures.create_texture({.address = bench.out, .format = kFloat, .width = 32}));
  const std::uint64_t words = textures.create_array({.format = kWord, .width = 8}, "words");
  EXPECT_THROW(textures.create_texture({.array = words, .sampler = {.filter = Filter::linear}}),
               Error);
  EXPECT_THROW(textures.create_surface(words, 0), Error);  // not made for surfaces
  EXPECT_THROW(textures.create_array({.format = {.channels = 3}, .width = 8}, "x"), Error);
  EXPECT_THROW(textures.create_array(
                   {.format = kFloat, .width = 8, .height = 4, .depth = 6, .cube = true}, "x"),
               Error);
  EXPECT_THROW(textures.create_array({.format = kFloat, .width = 8, .levels = 5}, "x"), Error);
}

/// An instruction that needs something not emulated is not decoded, and the reason names it.
TEST(Textures, WhatIsNotEmulatedIsRefusedByName) {
  const auto refusal = [](const std::string& body) -> std::string {
    Bench bench(texture_kernel(body));
    try {
      bench.module->program("k");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal("tex.2dms.v4.f32.s32 {%g2, %g3, %g4, %g5}, [%handle, {%i, %i, %i, %i}];"),
              HasSubstr("several samples"));
  EXPECT_THAT(refusal("tex.2d.v4.f32.f32 {%g2, %g3, %g4, %g5}, [%handle, {%f, %f}], %f;"),
              HasSubstr("compares depths"));
  EXPECT_THAT(refusal("txq.channel_order.b32 %r, [%handle];"), HasSubstr("codes"));
}

}  // namespace
}  // namespace tilescope::emulator::test
