#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <tilescope/error.hpp>
#include <tilescope/launch_description.hpp>

#include "inspect/scalar_value.hpp"

namespace tilescope {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

template <typename T>
T value(const std::string& text) {
  const LaunchArgument argument = parse_argument(text);
  EXPECT_FALSE(argument.is_array);
  EXPECT_EQ(argument.value.size(), sizeof(T)) << text;
  T result{};
  std::memcpy(&result, argument.value.data(), std::min(sizeof result, argument.value.size()));
  return result;
}

std::string failure(const std::string& text) {
  try {
    parse_argument(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  ADD_FAILURE() << text << " was taken";
  return {};
}

TEST(LaunchArgument, IntegersOfEveryWidthUpToTheirLimits) {
  EXPECT_EQ(value<std::int8_t>("i8:-128"), -128);
  EXPECT_EQ(value<std::int8_t>("i8:127"), 127);
  EXPECT_EQ(value<std::int16_t>("i16:-32768"), -32768);
  EXPECT_EQ(value<std::int32_t>("i32:256"), 256);
  EXPECT_EQ(value<std::int32_t>("i32:+7"), 7);
  EXPECT_EQ(value<std::int32_t>("i32:-2147483648"), INT32_MIN);
  EXPECT_EQ(value<std::int64_t>("i64:-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(value<std::uint8_t>("u8:255"), 255);
  EXPECT_EQ(value<std::uint16_t>("u16:0xffff"), 65535);
  EXPECT_EQ(value<std::uint32_t>("u32:0XDEADbeef"), 0xdeadbeefU);
  EXPECT_EQ(value<std::uint64_t>("u64:18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(value<std::int32_t>("i32:-0x10"), -16);
}

TEST(LaunchArgument, IntegersBeyondTheirLimitsAreNamed) {
  EXPECT_EQ(failure("i8:128"), "--arg i8:128: \"128\" is no value of i8: it holds -128 to 127");
  EXPECT_THAT(failure("i8:-129"), HasSubstr("it holds -128 to 127"));
  EXPECT_THAT(failure("u8:256"), HasSubstr("it holds 0 to 255"));
  EXPECT_THAT(failure("u32:-1"), HasSubstr("it holds 0 to 4294967295"));
  EXPECT_THAT(failure("i32:2147483648"), HasSubstr("it holds -2147483648 to 2147483647"));
  EXPECT_THAT(failure("u64:18446744073709551616"), HasSubstr("it holds 0 to"));
  EXPECT_THAT(failure("i64:99999999999999999999999"), HasSubstr("it holds"));
}

TEST(LaunchArgument, TextThatIsNoIntegerIsRefused) {
  for (const char* text : {"i32:", "i32:abc", "i32:1.5", "i32:1 2", "i32:0x", "i32:--1", "i32:1e3",
                           "i32:,", "i32:1,"}) {
    EXPECT_THAT(failure(text), HasSubstr("an integer such as")) << text;
  }
}

TEST(LaunchArgument, FloatingPointValues) {
  EXPECT_EQ(value<float>("f32:2.5"), 2.5F);
  EXPECT_EQ(value<float>("f32:-1e-3"), -1e-3F);
  EXPECT_EQ(value<float>("f32:0x1.8p1"), 3.0F);
  EXPECT_EQ(value<float>("f32:-inf"), -INFINITY);
  EXPECT_TRUE(std::isnan(value<float>("f32:nan")));
  EXPECT_EQ(value<float>("f32:16777217"), 16777216.0F);  // rounded, ties to even
  EXPECT_EQ(value<float>("f32:1e-60"), 0.0F);
  EXPECT_TRUE(std::signbit(value<float>("f32:-0")));
  EXPECT_EQ(value<double>("f64:0.1"), 0.1);
  EXPECT_EQ(value<double>("f64:1e308"), 1e308);
  EXPECT_EQ(value<std::uint16_t>("f16:1"), 0x3c00);
  EXPECT_EQ(value<std::uint16_t>("f16:65504"), 0x7bff);
  EXPECT_EQ(value<std::uint16_t>("f16:inf"), 0x7c00);
  EXPECT_EQ(value<std::uint16_t>("bf16:-2"), 0xc000);
}

TEST(LaunchArgument, FloatingPointValuesNeverRoundToInfinity) {
  EXPECT_THAT(failure("f32:1e39"), HasSubstr("exceeds the largest finite value"));
  EXPECT_THAT(failure("f64:1e309"), HasSubstr("exceeds the largest finite value"));
  EXPECT_THAT(failure("f16:65520"), HasSubstr("its largest finite value is 65504"));
  EXPECT_THAT(failure("bf16:3.4e38"), HasSubstr("its largest finite value is 3.3895e+38"));
}

TEST(LaunchArgument, TextThatIsNoFloatIsRefused) {
  for (const char* text : {"f32:", "f32:x", "f32:1.5.2", "f32:--1", "f16:1e", "f64:0x"}) {
    EXPECT_THAT(failure(text), HasSubstr("a number such as 2.5")) << text;
  }
}

TEST(LaunchArgument, BooleansAndLongTypeNames) {
  EXPECT_EQ(value<std::uint8_t>("bool:true"), 1);
  EXPECT_EQ(value<std::uint8_t>("bool:0"), 0);
  EXPECT_THAT(failure("bool:2"), HasSubstr("it holds 0 (false) and 1 (true)"));
  EXPECT_EQ(value<std::int32_t>("int32:5"), 5);
  EXPECT_EQ(value<float>("float32:5"), 5.0F);
}

TEST(LaunchArgument, VectorsArePackedOneAfterTheOther) {
  const LaunchArgument argument = parse_argument("f32:1,2, 3");
  ASSERT_EQ(argument.value.size(), 12U);
  float values[3];
  std::memcpy(values, argument.value.data(), sizeof values);
  EXPECT_THAT(values, ::testing::ElementsAre(1.0F, 2.0F, 3.0F));
  EXPECT_THAT(failure("i8:1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17"), HasSubstr("at most 16"));
}

TEST(LaunchArgument, ArraysOfEveryInit) {
  EXPECT_EQ(parse_argument("f32[1024]=zeros").initial, Initial::zeros);
  EXPECT_EQ(parse_argument("f32[1024]=ones").initial, Initial::ones);
  EXPECT_EQ(parse_argument("f32[1024]=iota").initial, Initial::iota);
  EXPECT_EQ(parse_argument("f32[1024]=uninitialised").initial, Initial::uninitialised);
  EXPECT_EQ(parse_argument("f32[1024]=uninitialized").initial, Initial::uninitialised);
  const LaunchArgument random = parse_argument("u8[64*64]=random:42");
  EXPECT_TRUE(random.is_array);
  EXPECT_EQ(random.type, DataType::uint8);
  EXPECT_EQ(random.count, 4096U);
  EXPECT_EQ(random.initial, Initial::random);
  EXPECT_EQ(random.seed, 42U);
  EXPECT_EQ(parse_argument("u8[1]=random").seed, 1U);
  const LaunchArgument filled = parse_argument("f32[8]=-2.5");
  EXPECT_EQ(filled.initial, Initial::value);
  EXPECT_EQ(filled.value, inspect::parse_scalar("-2.5", DataType::float32));
  EXPECT_EQ(parse_argument("i32[0]=zeros").count, 0U);
}

TEST(LaunchArgument, FilesToLoadAndToSave) {
  const LaunchArgument both = parse_argument("f32[]=@in.npy>out.npy");
  EXPECT_EQ(both.initial, Initial::file);
  EXPECT_EQ(both.load_from, "in.npy");
  EXPECT_EQ(both.save_to, "out.npy");
  EXPECT_FALSE(both.count.has_value());
  EXPECT_EQ(parse_argument("f32[16]=@a b.npy").load_from, "a b.npy");
  EXPECT_EQ(parse_argument("f32[16]=zeros>c.npy").save_to, "c.npy");
  EXPECT_THAT(failure("f32[]=@"), HasSubstr("after @ comes a .npy file"));
  EXPECT_THAT(failure("f32[4]=zeros>"), HasSubstr("after > comes the .npy file"));
  EXPECT_THAT(failure("i32:5>c.npy"), HasSubstr("only an array can be saved"));
  EXPECT_THAT(failure("bf16[4]=zeros>c.npy"), HasSubstr("declare the array as u16"));
  EXPECT_THAT(failure("bf16[]=@c.npy"), HasSubstr("declare the array as u16"));
}

TEST(LaunchArgument, Names) {
  const LaunchArgument array = parse_argument("a_1=f32[4]=iota");
  EXPECT_EQ(array.name, "a_1");
  EXPECT_EQ(array.initial, Initial::iota);
  EXPECT_EQ(parse_argument("n=i32:4").name, "n");
  EXPECT_EQ(parse_argument("n=i32:4").text, "n=i32:4");
  EXPECT_EQ(parse_argument("i32:4").name, "");
  EXPECT_THAT(failure("1a=i32:4"), HasSubstr("a name begins with a letter"));
}

TEST(LaunchArgument, CountsThatNoGpuHolds) {
  EXPECT_THAT(failure("f32[274877906945]=zeros"), HasSubstr("exceed 1 TiB"));
  EXPECT_EQ(parse_argument("f32[274877906944]=zeros").count, 274877906944U);
  EXPECT_THAT(failure("u8[99999999999999999999]=zeros"), HasSubstr("exceed 1 TiB"));
  EXPECT_THAT(failure("u8[4294967296*4294967296]=zeros"), HasSubstr("exceed 1 TiB"));
  EXPECT_THAT(failure("f32[-1]=zeros"), HasSubstr("is no number such as 1024 or 64*64"));
  EXPECT_THAT(failure("f32[1.5]=zeros"), HasSubstr("is no number"));
  EXPECT_THAT(failure("f32[4*]=zeros"), HasSubstr("is no number"));
  EXPECT_THAT(failure("f32[]=zeros"), HasSubstr("only with @FILE.npy"));
}

TEST(LaunchArgument, Structures) {
  const LaunchArgument whole =
      parse_argument("s={f32[1024]=iota>x.npy, i32:4, {u8[16]=zeros, f64:1,-2}, n=u8:1 ,2*bool:1}");
  EXPECT_EQ(whole.name, "s");
  EXPECT_FALSE(whole.is_array);
  ASSERT_EQ(whole.members.size(), 6U);
  EXPECT_EQ(whole.members[0].save_to, "x.npy");
  EXPECT_EQ(whole.members[0].text, "f32[1024]=iota>x.npy");
  EXPECT_EQ(whole.members[1].value, inspect::parse_scalar("4", DataType::int32));
  ASSERT_EQ(whole.members[2].members.size(), 2U);
  EXPECT_EQ(whole.members[2].members[0].count, 16U);
  EXPECT_EQ(whole.members[2].members[1].value.size(), 16U);
  EXPECT_EQ(whole.members[3].name, "n");
  EXPECT_EQ(whole.members[4], whole.members[5]);
  EXPECT_EQ(parse_argument("{42*f32[8]=zeros}").members.size(), 42U);
  EXPECT_EQ(parse_argument("{2*{u8:1,2, inf=f32:inf,nan}}").members[1].members[1].name, "inf");
}

TEST(LaunchArgument, StructuresThatAreNone) {
  EXPECT_THAT(failure("{}"), HasSubstr("write TYPE:VALUE"));
  EXPECT_THAT(failure("{i32:1"), HasSubstr("the } at a structure's end is missing"));
  EXPECT_THAT(failure("{i32:1}, i32:2"), HasSubstr("nothing may follow the last }"));
  EXPECT_THAT(failure("{i32:1,}"), HasSubstr("--arg {i32:1,}: "));
  EXPECT_THAT(failure("{0*i32:1}"), HasSubstr("1 to 4096 times"));
  EXPECT_THAT(failure("{99999999999999999999*i32:1}"), HasSubstr("1 to 4096 times"));
  EXPECT_THAT(failure("{4000*i32:1, 4000*i32:1}"), HasSubstr("at most 4096 members"));
  EXPECT_THAT(failure("{x}"), HasSubstr("write TYPE:VALUE"));
  EXPECT_THAT(failure(std::string(40, '{')), HasSubstr("at most 16 deep"));
}

TEST(LaunchArgument, NamesOfSharedArrays) {
  const LaunchArgument shared = parse_argument("x", true);
  EXPECT_EQ(shared.initial, Initial::shared);
  EXPECT_EQ(shared.name, "x");
  EXPECT_EQ(parse_argument("{i32:1, x}", true).members.at(1).initial, Initial::shared);
  EXPECT_THAT(failure("x"), HasSubstr("write TYPE:VALUE"));
}

TEST(LaunchArgument, ConstantsHaveANameAndAValue) {
  EXPECT_EQ(parse_constant("coef=f32[4]=ones").name, "coef");
  EXPECT_EQ(parse_constant("n=i32:4").value.size(), 4U);
  try {
    parse_constant("f32[4]=ones");
    FAIL() << "it has no name";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("the variable's name and = come first"));
  }
  try {
    parse_constant("coef=f32[4]=one");
    FAIL() << "one is no INIT";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), StartsWith("--constant coef=f32[4]=one: "));
  }
}

TEST(LaunchArgument, ShapesThatAreNoArgument) {
  EXPECT_THAT(failure(""), HasSubstr("write TYPE:VALUE"));
  EXPECT_THAT(failure("42"), HasSubstr("write TYPE:VALUE"));
  EXPECT_THAT(failure(":5"), HasSubstr("write TYPE:VALUE"));
  EXPECT_THAT(failure("x="), HasSubstr("write TYPE:VALUE"));
  EXPECT_THAT(failure("int:5"), HasSubstr("unknown data type 'int'"));
  EXPECT_THAT(failure("f32[4"), HasSubstr("the ] after the count is missing"));
  EXPECT_THAT(failure("f32[4]"), HasSubstr("after the count comes =INIT"));
  EXPECT_THAT(failure("f32[4]zeros"), HasSubstr("after the count comes =INIT"));
  EXPECT_THAT(failure("f32[4]="), HasSubstr("is no INIT"));
  EXPECT_THAT(failure("f32[4]=zeroes"), HasSubstr("did you mean zeros?"));
  EXPECT_THAT(failure("f32[4]=random:x"), HasSubstr("the seed \"x\""));
  EXPECT_THAT(failure("f32[4]=random:-1"), HasSubstr("the seed \"-1\""));
  EXPECT_THAT(failure("i8[4]=300"), HasSubstr("it holds -128 to 127"));
  EXPECT_THAT(failure("i32:\x01\n"), StartsWith("--arg i32:\\x01\\x0a: "));
}

}  // namespace
}  // namespace tilescope
