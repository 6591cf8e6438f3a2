
#include <gmock/gmock.h>

#include <fstream>
#include <tilescope/error.hpp>
#include <tilescope/launch_description.hpp>

#include "support/temporary_folder.hpp"

namespace tilescope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

template <typename Function>
std::string failure(ErrorKind kind, Function&& function) {
  try {
    function();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

TEST(Extents, OneToThree) {
  EXPECT_EQ(parse_extents("256", "block"), (Dim3{256, 1, 1}));
  EXPECT_EQ(parse_extents("16, 8", "block"), (Dim3{16, 8, 1}));
  EXPECT_EQ(parse_extents("1,2,3", "grid"), (Dim3{1, 2, 3}));
  EXPECT_EQ(parse_extents("4294967295", "grid").x, 4294967295U);
}

TEST(Extents, Refused) {
  const auto refused = [](const char* text) {
    return failure(ErrorKind::usage, [&] { parse_extents(text, "grid"); });
  };
  EXPECT_EQ(refused("0"), "--grid 0: every extent must be at least 1");
  EXPECT_THAT(refused("4,0"), HasSubstr("at least 1"));
  EXPECT_THAT(refused("1,2,3,4"), HasSubstr("at most three"));
  EXPECT_THAT(refused("4294967296"), HasSubstr("at most 4294967295"));
  for (const char* text : {"", "x", "-1", "4,", ",4", "4x4", "1.5"}) {
    EXPECT_THAT(refused(text), HasSubstr("one to three numbers")) << text;
  }
}

TEST(Define, NameAndValue) {
  EXPECT_THAT(parse_define("TILE=16"), Pair("TILE", "16"));
  EXPECT_THAT(parse_define("_a1=x=y"), Pair("_a1", "x=y"));
  EXPECT_THAT(parse_define("FAST"), Pair("FAST", "1"));
  EXPECT_THAT(parse_define("EMPTY="), Pair("EMPTY", ""));
  for (const char* text : {"", "=1", "1A=2", "a b=1", "f(x)=x"}) {
    EXPECT_THAT(failure(ErrorKind::usage, [&] { parse_define(text); }), HasSubstr("NAME=VALUE"));
  }
}

class LaunchFile : public ::testing::Test {
 protected:
  std::string write(const std::string& text) {
    const std::string path = folder_ / "launch.json";
    std::ofstream(path) << text;
    return path;
  }
  LaunchDescription read(const std::string& text) { return read_launch_file(write(text)); }
  std::string refused(const std::string& text) {
    return failure(ErrorKind::bad_input, [&] { read(text); });
  }
  tilescope::testing::TemporaryFolder folder_;
};

TEST_F(LaunchFile, Everything) {
  const LaunchDescription d = read(R"({
    "kernel": "scale<4>", "grid": [4, 2], "block": 64, "shared": 1024, "cooperative": true,
    "defines": {"TILE": 16, "NAME": "x"}, "include": ["headers"],
    "args": ["x=f32[]=@x.npy>/tmp/y.npy", "i32:4"]})");
  EXPECT_EQ(d.kernel, "scale<4>");
  EXPECT_EQ(d.grid, (Dim3{4, 2, 1}));
  EXPECT_EQ(d.block, (Dim3{64, 1, 1}));
  EXPECT_EQ(d.shared_bytes, 1024U);
  EXPECT_TRUE(d.cooperative);
  EXPECT_THAT(d.defines, ElementsAre(Pair("NAME", "x"), Pair("TILE", "16")));
  EXPECT_THAT(d.include_directories, ElementsAre(folder_ / "headers"));
  ASSERT_EQ(d.arguments.size(), 2U);
  EXPECT_EQ(d.arguments[0].load_from, folder_ / "x.npy");
  EXPECT_EQ(d.arguments[0].save_to, "/tmp/y.npy");
  EXPECT_EQ(read(R"({"block": "8,8"})").block, (Dim3{8, 8, 1}));
  EXPECT_FALSE(read("{}").grid.has_value());
}

TEST_F(LaunchFile, SeveralLaunches) {
  const LaunchDescription d = read(R"({
    "arrays": {"x": "f32[8]=iota>x.npy", "y": "f32[8]=zeros"},
    "block": 8, "defines": {"TILE": 16}, "args": ["x", "{y, i32:4}"],
    "launches": [{"kernel": "a", "grid": 2, "cluster": 2, "guessed": ["grid"]},
                 {"kernel": "b", "grid": 1, "args": ["y", "f32[2]=ones"],
                  "constants": {"coef": "f32[4]=ones"}}]})");
  ASSERT_EQ(d.arrays.size(), 2U);
  EXPECT_EQ(d.arrays[0].name, "x");
  EXPECT_EQ(d.arrays[0].save_to, folder_ / "x.npy");
  EXPECT_EQ(d.kernel, "a");
  EXPECT_EQ(d.cluster, Dim3{2});
  EXPECT_THAT(d.guessed, ElementsAre("grid"));
  ASSERT_EQ(d.arguments.size(), 2U);
  EXPECT_EQ(d.arguments[0].initial, Initial::shared);
  EXPECT_EQ(d.arguments[1].members.at(0).name, "y");
  ASSERT_EQ(d.following.size(), 1U);
  const LaunchDescription& second = d.following[0];
  EXPECT_EQ(second.kernel, "b");
  EXPECT_EQ(second.block, Dim3{8});
  EXPECT_EQ(second.defines, d.defines);
  EXPECT_TRUE(second.guessed.empty());
  ASSERT_EQ(second.arguments.size(), 2U);
  EXPECT_EQ(second.arguments[1].initial, Initial::ones);
  EXPECT_EQ(second.constants.at(0).name, "coef");

  const LaunchDescription list = read(R"([{"kernel": "a"}, {"kernel": "b"}, {"kernel": "c"}])");
  EXPECT_EQ(list.kernel, "a");
  ASSERT_EQ(list.following.size(), 2U);
  EXPECT_EQ(list.following[1].kernel, "c");
}

TEST_F(LaunchFile, RefusedWithFileAndKey) {
  EXPECT_THAT(refused("{"), HasSubstr("launch.json': expected JSON: line 1, column 2: "));
  EXPECT_THAT(refused("[]"), HasSubstr("\"launches\": expected a list of launches {...}"));
  EXPECT_THAT(refused("5"), HasSubstr("expected a launch {...} or a list of them"));
  EXPECT_THAT(refused(R"({"launches": [[]]})"), HasSubstr("\"launches\": expected a list of"));
  EXPECT_THAT(refused(R"({"launches": {}})"), HasSubstr("\"launches\": expected a list of"));
  EXPECT_THAT(refused(R"([{"launches": []}])"), HasSubstr("unknown key \"launches\""));
  EXPECT_THAT(refused(R"({"arrays": {"x": "i32:4"}})"), HasSubstr("\"arrays\": expected arrays"));
  EXPECT_THAT(refused(R"({"arrays": {"1": "f32[1]=ones"}})"), HasSubstr("a name begins with"));
  EXPECT_THAT(refused(R"({"constants": ["a"]})"), HasSubstr("\"constants\": expected an object"));
  EXPECT_THAT(refused(R"({"guessed": "n"})"), HasSubstr("\"guessed\": expected a list"));
  EXPECT_THAT(refused(R"({"args": ["x"]})"), HasSubstr("write TYPE:VALUE"));
  EXPECT_THAT(refused(R"({"gird": 4})"), HasSubstr("unknown key \"gird\"; the keys are kernel"));
  EXPECT_THAT(refused(R"({"grid": 0})"), HasSubstr("\"grid\": --grid 0: every extent"));
  EXPECT_THAT(refused(R"({"grid": -1})"), HasSubstr("\"grid\": expected a number"));
  EXPECT_THAT(refused(R"({"grid": [1,2,3,4]})"), HasSubstr("at most three"));
  EXPECT_THAT(refused(R"({"grid": []})"), HasSubstr("one to three numbers"));
  EXPECT_THAT(refused(R"({"block": {}})"), HasSubstr("\"block\": expected a number"));
  EXPECT_THAT(refused(R"({"shared": "1"})"), HasSubstr("\"shared\": expected a number of bytes"));
  EXPECT_THAT(refused(R"({"kernel": 1})"), HasSubstr("\"kernel\": expected text"));
  EXPECT_THAT(refused(R"({"cooperative": 1})"), HasSubstr("true or false"));
  EXPECT_THAT(refused(R"({"defines": ["A"]})"), HasSubstr("\"defines\": expected an object"));
  EXPECT_THAT(refused(R"({"defines": {"A": []}})"), HasSubstr("text or a number"));
  EXPECT_THAT(refused(R"({"defines": {"1": 1}})"), HasSubstr("NAME=VALUE"));
  EXPECT_THAT(refused(R"({"include": "a"})"), HasSubstr("\"include\": expected a list"));
  EXPECT_THAT(refused(R"({"args": [5]})"), HasSubstr("\"args\": expected text"));
  EXPECT_THAT(refused(R"({"args": ["i32"]})"), HasSubstr("\"args\": --arg i32: write TYPE:VALUE"));
  EXPECT_THAT(failure(ErrorKind::bad_input, [&] { read_launch_file("/nonexistent/l.json"); }),
              HasSubstr("/nonexistent/l.json"));
}

}  // namespace
}  // namespace tilescope
