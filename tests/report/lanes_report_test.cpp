#include "report/lanes_report.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <tilescope/error.hpp>

#include "report/json/json_renderer.hpp"
#include "report/text/text_renderer.hpp"

namespace tilescope::report {
namespace {

using observe::LaneSample;

LaneSample sample(emulator::Space space, std::uint64_t stride) {
  LaneSample s;
  s.place = {"a.cu", 2};
  s.space = space;
  s.bytes = 4;
  s.mask = 0xffffffff;
  s.object = "A";
  s.object_base = 4096;
  s.cost = s.ideal = s.ways = 4;
  for (std::size_t lane = 0; lane < 32; ++lane) s.addresses[lane] = 4096 + stride * lane;
  return s;
}

std::string report(const std::vector<LaneSample>& samples, std::uint32_t line = 2) {
  SourceTexts sources;
  sources.add("a.cu", "first\n  A[i] = 0;\n");
  Page page("explain");
  add_lanes(page, samples, {32, 1, 1}, line, sources);
  return render_text(page);
}

TEST(LanesReport, DrawsSectors) {
  EXPECT_EQ(report({sample(emulator::Space::global, 4)}), R"(a.cu:2:   A[i] = 0;

global load of 4 bytes in A, warp 0 of block (0,0,0), 32 lanes:
  4 sectors, ideal 4
                                lane 0         1         2         3
    sector  bytes                    01234567890123456789012345678901
         0  0 to 31                  ########........................
         1  32 to 63                 ........########................
         2  64 to 95                 ................########........
         3  96 to 127                ........................########
)");
}

TEST(LanesReport, DrawsBanksWithAMarkForEachWord) {
  EXPECT_THAT(report({sample(emulator::Space::shared, 64)}), ::testing::HasSubstr(R"(
  bank  words  (a mark for each word)01234567890123456789012345678901
     0     16                        0.1.2.3.4.5.6.7.8.9.a.b.c.d.e.f.
    16     16                        .0.1.2.3.4.5.6.7.8.9.a.b.c.d.e.f
)"));
}

TEST(LanesReport, ShowsWhatLooksAlikeOnce) {
  const LaneSample one = sample(emulator::Space::global, 4);
  LaneSample moved = one, other = sample(emulator::Space::global, 8);
  for (std::uint64_t& address : moved.addresses) address += 128;
  EXPECT_EQ(report({one, moved}), report({one}));
  EXPECT_NE(report({one, other}), report({one}));
}

TEST(LanesReport, CutsTheQuotedLineToTheTerminal) {
  SourceTexts sources;
  sources.add("a.cu", "\n  A[i] = " + std::string(90, 'x') + ";\n");
  Page page("explain");
  add_lanes(page, {sample(emulator::Space::global, 4)}, {32, 1, 1}, 2, sources);
  const std::string text = render_text(page);
  EXPECT_EQ(text.substr(0, text.find('\n')), "a.cu:2:   A[i] = " + std::string(61, 'x') + "..");
}

TEST(LanesReport, NamesTheLinesThatHaveAccesses) {
  try {
    report({sample(emulator::Space::global, 4)}, 1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "--lanes 1: no memory is accessed there; the lines that do are 2");
  }
}

TEST(LanesReport, JsonHasTheOffsets) {
  LaneSample s = sample(emulator::Space::global, 4);
  s.mask = 1;
  SourceTexts sources;
  Page page("explain");
  add_lanes(page, {s}, {32, 1, 1}, 2, sources);
  const nlohmann::json json = json_of(page).at("lanes");
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0].at("byte_offsets")[0], 0);
  EXPECT_TRUE(json[0].at("byte_offsets")[1].is_null());
  EXPECT_EQ(json[0].at("sectors"), 4);
}

}  // namespace
}  // namespace tilescope::report
