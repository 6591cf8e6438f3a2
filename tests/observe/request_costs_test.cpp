// Requests and sectors of textures, surfaces and distributed shared memory, beside those that a
// profiler counted on an H200.
#include <gtest/gtest.h>

#include <bit>
#include <fstream>
#include <map>
#include <sstream>

#include "emulator/texture_table.hpp"
#include "kernel_run.hpp"
#include "observe/count/count_observer.hpp"
#include "support/cluster_cases.hpp"
#include "support/texture_count_cases.hpp"
#include "support/texture_objects.hpp"

namespace tilescope::observe {
namespace {

using namespace texture_cases;
using testing::KernelRun;

/// The numbers of each line of a table behind its name.
std::map<std::string, std::vector<std::uint64_t>> recorded(const std::string& file) {
  std::map<std::string, std::vector<std::uint64_t>> rows;
  std::istringstream in(testing::read_text(TILESCOPE_TEST_DATA "/ncu/" + file));
  for (std::string line; std::getline(in, line);) {
    const std::size_t tab = line.find('\t');
    std::istringstream numbers(line.substr(tab));
    std::vector<std::uint64_t>& row = rows[line.substr(0, tab)];
    for (std::uint64_t number; numbers >> number;) row.push_back(number);
  }
  return rows;
}

// --- distributed shared memory

/// How far the chip's sectors may be from the rule's. Atomics and asynchronous operations take a
/// few more in accesses without any order.
std::uint64_t cluster_allowance(const std::string& name) {
  const bool plain = name.starts_with("ld.") || name.starts_with("st.shared");
  return !plain && name.find("scattered") != std::string::npos ? 2 : 0;
}

TEST(RequestCosts, DistributedSharedMemoryIsCountedAsOnTheChip) {
  const auto chip = recorded("dshared_h200.txt");
  ASSERT_EQ(chip.size(), 247u);
  std::size_t exact = 0;
  for (const testing::MatrixCase& c : testing::cluster_cases()) {
    KernelRun run(c.ptx);
    const std::uint64_t in = run.array("in", c.in), out = run.uninitialised("out", 128);
    CountObserver counter;
    Launch launch{{c.blocks}, {c.threads}};
    const emulator::LaunchSummary done = run.launch(launch, {&counter}, in, out);
    ASSERT_TRUE(done.complete()) << c.name;
    ASSERT_EQ(done.fault_count, 0u) << c.name << ": " << done.faults.front().text;
    const Counts& t = counter.result().totals;
    const UnitCounts units[] = {t.dshared_load, t.dshared_store, t.dshared_atomic,
                                t.dshared_async_reduction};
    const std::vector<std::uint64_t>& expected = chip.at(c.name);
    bool equal = true;
    for (std::size_t i = 0; i < std::size(units); ++i) {
      EXPECT_EQ(units[i].requests, expected[2 * i]) << c.name;
      EXPECT_LE(units[i].sectors, expected[2 * i + 1]) << c.name;
      EXPECT_LE(expected[2 * i + 1] - units[i].sectors, cluster_allowance(c.name)) << c.name;
      equal &= units[i].sectors == expected[2 * i + 1];
    }
    if (equal) ++exact;
  }
  EXPECT_EQ(exact, 242u);
}

// --- textures

std::string geometry(const Case& c) {
  constexpr const char* names[] = {"1d", "2d", "1d", "2d", "3d", "a1d", "a2d", "cube", "acube"};
  return names[static_cast<int>(c.shape)];
}

/// The instruction that samples a case; %p0 to %p9 are the words of its point.
std::string texture_instruction(const Case& c) {
  const bool whole = c.operation == Operation::fetch;
  const std::string x = whole ? "%i0" : "%p0", y = whole ? "%i1" : "%p1";
  const std::string at = c.shape == Shape::layered_1d         ? "{%p3, %p0}"
                         : c.shape == Shape::layered_2d       ? "{%p3, %p0, %p1, %p1}"
                         : c.is_cube() || c.dimensions() == 3 ? "{%p0, %p1, %p2, %p2}"
                         : c.dimensions() == 1                ? "{" + x + "}"
                                                              : "{" + x + ", " + y + "}";
  const std::string from = geometry(c) + ".v4.f32." + (whole ? "s32" : "f32") +
                           " {%r0, %r1, %r2, %r3}, [%texture, " + at + "]";
  switch (c.operation) {
    case Operation::level:
      return "tex.level." + from + ", %p4;\n";
    case Operation::gradient:
      return "tex.grad." + from + ", {%p5, %p6}, {%p7, %p8};\n";
    case Operation::gather:
      return "tld4.r." + from + ";\n";
    default:
      return "tex." + from + ";\n";
  }
}

std::string texture_kernel(const Case& c) {
  std::string text =
      ".version 8.7\n.target sm_90\n.address_size 64\n"
      ".visible .entry k(.param .u64 texture, .param .u64 points, .param .u64 out)\n{\n"
      ".reg .b64 %texture, %from, %to;\n.reg .b32 %t, %p<9>, %r<4>, %i<2>;\n"
      "ld.param.u64 %texture, [texture];\nld.param.u64 %from, [points];\n"
      "ld.param.u64 %to, [out];\nmov.u32 %t, %tid.x;\nmad.wide.u32 %from, %t, 36, %from;\n"
      "mad.wide.u32 %to, %t, 4, %to;\n";
  for (int i = 0; i < 9; ++i) {
    const std::string n = std::to_string(i);
    text += "ld.global.b32 %p" + n + ", [%from+" + std::to_string(4 * i) + "];\n";
  }
  return text + "cvt.rzi.s32.f32 %i0, %p0;\ncvt.rzi.s32.f32 %i1, %p1;\n" + texture_instruction(c) +
         "st.global.b32 [%to], %r0;\nret;\n}\n";
}

std::uint64_t texture_of(KernelRun& run, const Case& c) {
  emulator::TextureTable& textures = run.machine().textures();
  tilescope::TextureRequest request{.sampler = sampler_of(c)};
  if (c.shape != Shape::linear && c.shape != Shape::pitch) {
    request.array = textures.create_array(request_of(c), "image");
    return textures.create_texture(request);
  }
  request.format = request_of(c).format;
  request.width = static_cast<std::size_t>(c.width);
  const std::size_t row = request.width * request.format.bytes();
  if (c.shape == Shape::pitch) {
    request.height = static_cast<std::size_t>(c.height);
    request.pitch = (row + 511) / 512 * 512;
  }
  request.address =
      run.uninitialised("image", request.height == 0 ? row : request.height * request.pitch);
  return textures.create_texture(request);
}

UnitCounts counted_texture(const Case& c, Layout layout, std::uint32_t number) {
  KernelRun run(texture_kernel(c));
  std::vector<std::uint32_t> words;
  for (unsigned lane = 0; lane < lanes_of(layout); ++lane) {
    const Point p = counted_point(c, layout, number, lane);
    const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
    words.insert(words.end(),
                 {bits(p.x), bits(p.y), bits(p.z), static_cast<std::uint32_t>(p.layer),
                  bits(p.level), bits(p.dx[0]), bits(p.dx[1]), bits(p.dy[0]), bits(p.dy[1])});
  }
  const std::uint64_t points = run.array("points", words), out = run.uninitialised("out", 128);
  const std::uint64_t texture = texture_of(run, c);
  CountObserver counter;
  const Launch launch{{1}, {lanes_of(layout)}};
  const emulator::LaunchSummary done = run.launch(launch, {&counter}, texture, points, out);
  EXPECT_EQ(done.fault_count, 0u) << c.name << ": " << done.faults.front().text;
  return counter.result().totals.texture;
}

/// The recorder's kernels have two instructions in the branches of these, of which one is switched
/// off by its guard; the chip counts it as a request.
bool has_guarded_twin(const Case& c) {
  return c.operation == Operation::fetch || c.operation == Operation::level;
}

/// The share by which the chip's sectors may be others than the rule's. Lanes without any order
/// share sectors in ways that no rule has explained: if a filter takes half a quad at a time, and
/// where it blends levels.
double texture_allowance(const Case& c, Layout layout) {
  const bool in_order = layout == Layout::row || layout == Layout::tile || layout == Layout::same;
  if (in_order || !c.linear) return 0;
  if (c.linear_levels) return 0.04;
  return c.dimensions() == 3 || c.element_bytes() == 16 ? 0.065 : 0;
}

TEST(RequestCosts, TexturesAreCountedAsOnTheChip) {
  const auto chip = recorded("textures_h200.txt");
  std::uint32_t number = 0;
  int launches = 0, exact = 0;
  for (const Case& c : counted()) {
    ++number;
    if (c.anisotropy > 1) continue;  // the samples of an anisotropic filter are not known
    for (const Layout layout : kLayouts) {
      const std::string name = c.name + " " + text(layout);
      const auto expected = chip.find(name);
      if (expected == chip.end()) continue;
      ++launches;
      const UnitCounts counts = counted_texture(c, layout, number);
      const std::uint64_t requests = expected->second[0] - (has_guarded_twin(c) ? 1 : 0);
      const auto sectors = static_cast<double>(expected->second[1]);
      // One lane of a quad, which filters 16-byte elements in three dimensions: not counted.
      const bool lone = name == "3d f32x4 linear part";
      EXPECT_EQ(counts.requests, requests + (lone ? 1 : 0)) << name;
      EXPECT_NEAR(static_cast<double>(counts.sectors), sectors,
                  texture_allowance(c, layout) * sectors)
          << name;
      if (counts == UnitCounts{requests, expected->second[1]}) ++exact;
    }
  }
  EXPECT_EQ(launches, 570);
  EXPECT_EQ(exact, 548);
}

// --- surfaces

/// A kernel of one warp that loads from or stores to the coordinates in %x (in bytes), %y and %z.
std::string surface_kernel(const std::string& instruction) {
  return ".version 8.7\n.target sm_90\n.address_size 64\n"
         ".visible .entry k(.param .u64 surface, .param .u64 points)\n{\n"
         ".reg .b64 %surface, %from;\n.reg .b32 %t, %x, %y, %z, %r<4>;\n"
         "ld.param.u64 %surface, [surface];\nld.param.u64 %from, [points];\n"
         "mov.u32 %t, %tid.x;\nmad.wide.u32 %from, %t, 12, %from;\n"
         "ld.global.b32 %x, [%from];\nld.global.b32 %y, [%from+4];\n"
         "ld.global.b32 %z, [%from+8];\n" +
         instruction + ";\nret;\n}\n";
}

UnitCounts counted_surface(const std::string& kernel, const ArrayRequest& request,
                           const std::vector<std::uint32_t>& points) {
  KernelRun run(kernel);
  emulator::TextureTable& textures = run.machine().textures();
  const std::uint64_t surface = textures.create_surface(textures.create_array(request, "image"), 0);
  const std::uint64_t from = run.array("points", points);
  CountObserver counter;
  const auto lanes = static_cast<std::uint32_t>(points.size() / 3);
  const emulator::LaunchSummary done = run.launch(Launch{{1}, {lanes}}, {&counter}, surface, from);
  EXPECT_EQ(done.fault_count, 0u) << done.faults.front().text;
  EXPECT_EQ(counter.result().totals.texture, UnitCounts{});
  return counter.result().totals.surface;
}

UnitCounts counted_load(const Case& c, Layout layout, std::uint32_t number) {
  const auto bytes = static_cast<unsigned>(c.element_bytes());
  const std::string type = bytes == 8 ? ".v2.b32" : ".b32";
  const std::string data = bytes == 8 ? "{%r0, %r1}" : "%r0";
  const std::string at = c.shape == Shape::d2   ? "2d" + type + "|{%x, %y}"
                         : c.shape == Shape::d3 ? "3d" + type + "|{%x, %y, %z, %z}"
                                                : "a2d" + type + "|{%z, %x, %y, %y}";
  const std::size_t bar = at.find('|');
  const std::string mode = c.operation == Operation::load ? ".clamp " : ".zero ";
  std::vector<std::uint32_t> points;
  for (unsigned lane = 0; lane < lanes_of(layout); ++lane) {
    const Point p = counted_point(c, layout, number, lane);
    const float z = c.shape == Shape::d3 ? p.z : p.layer;
    for (const float value : {p.x * static_cast<float>(bytes), p.y, z}) {
      points.push_back(static_cast<std::uint32_t>(value));
    }
  }
  ArrayRequest request = request_of(c);
  request.writable = true;
  return counted_surface(surface_kernel("suld.b." + at.substr(0, bar) + mode + data +
                                        ", [%surface, " + at.substr(bar + 1) + "]"),
                         request, points);
}

UnitCounts counted_rows(bool stores, unsigned bytes, unsigned wide) {
  const std::string type = bytes == 16 ? "v4.b32.trap " : "b32.trap ";
  const std::string data = bytes == 16 ? "{%r0, %r1, %r2, %r3}" : "%r0";
  const std::string at = "[%surface, {%x, %y}]";
  std::vector<std::uint32_t> points;
  for (unsigned lane = 0; lane < 32; ++lane) {
    points.insert(points.end(), {lane % wide * bytes, lane / wide, 0});
  }
  const ArrayRequest request{.format = {.channels = bytes / 4, .kind = TexelKind::floating},
                             .width = 128,
                             .height = 128,
                             .writable = true};
  return counted_surface(surface_kernel(stores ? "sust.b.2d." + type + at + ", " + data
                                               : "suld.b.2d." + type + data + ", " + at),
                         request, points);
}

TEST(RequestCosts, SurfacesAreCountedAsOnTheChip) {
  const auto chip = recorded("surfaces_h200.txt");
  std::size_t launches = 0;
  const auto compare = [&](const std::string& name, const UnitCounts& counts) {
    const std::vector<std::uint64_t>& expected = chip.at(name);
    EXPECT_EQ(counts.requests, expected[0]) << name;
    EXPECT_EQ(counts.sectors, expected[1]) << name;
    ++launches;
  };
  std::uint32_t number = 0;
  for (const Case& c : counted()) {
    ++number;
    if (c.operation != Operation::load && c.operation != Operation::load_zero) continue;
    for (const Layout layout : kLayouts) {
      compare(c.name + " " + text(layout), counted_load(c, layout, number));
    }
  }
  for (const bool stores : {false, true}) {
    for (const unsigned bytes : {4u, 16u}) {
      for (const unsigned wide : {32u, 16u, 8u, 4u, 1u}) {
        compare(std::string("surface ") + (stores ? "store " : "load ") + std::to_string(bytes) +
                    " bytes in rows of " + std::to_string(wide),
                counted_rows(stores, bytes, wide));
      }
    }
  }
  EXPECT_EQ(launches, 92u);
}

}  // namespace
}  // namespace tilescope::observe
