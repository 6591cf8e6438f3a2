#include <gmock/gmock.h>

#include <tilescope/matmul.hpp>
#include <tilescope/types.hpp>

#include "support/temporary_folder.hpp"

namespace tilescope {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

constexpr DataType all[] = {
    DataType::float16, DataType::bfloat16, DataType::float32, DataType::float64, DataType::int8,
    DataType::int16,   DataType::int32,    DataType::int64,   DataType::uint8,   DataType::uint16,
    DataType::uint32,  DataType::uint64,   DataType::boolean};

TEST(Types, NamesAndParsingAreInverse) {
  for (const DataType type : all) EXPECT_EQ(parse_data_type(name_of(type)), type) << name_of(type);
  EXPECT_EQ(name_of(DataType::uint16), "uint16");
  EXPECT_EQ(name_of(DataType::boolean), "bool");
}

TEST(Types, ShortNames) {
  EXPECT_EQ(parse_data_type("bf16"), DataType::bfloat16);
  EXPECT_EQ(parse_data_type("f32"), DataType::float32);
  EXPECT_EQ(parse_data_type("i64"), DataType::int64);
}

TEST(Types, SizesAreTheDigitsOfTheName) {
  for (const DataType type : all) {
    const std::string name(name_of(type));
    const std::size_t digits = name.find_first_of("0123456789");
    const int bits = digits == std::string::npos ? 8 : std::stoi(name.substr(digits));
    EXPECT_EQ(size_of(type) * 8, static_cast<std::size_t>(bits)) << name;
  }
}

TEST(Types, FloatingTypes) {
  for (const DataType type : all) {
    EXPECT_EQ(is_floating(type), name_of(type).find("float") != std::string_view::npos);
  }
}

TEST(Types, UnknownNameSuggestsTheNearest) {
  EXPECT_THAT(error_of(ErrorKind::usage, [] { parse_data_type("flaot32"); }),
              HasSubstr("did you mean 'float32'"));
  EXPECT_THAT(error_of(ErrorKind::usage, [] { parse_data_type("\n"); }), HasSubstr("use one of"));
}

TEST(Precisions, NamesAndParsingAreInverse) {
  for (const Precision precision :
       {Precision::automatic, Precision::fp32, Precision::fp32_fast, Precision::tf32,
        Precision::bf16, Precision::fp16, Precision::fp64}) {
    EXPECT_EQ(parse_precision(name_of(precision)), precision) << name_of(precision);
  }
}

TEST(Precisions, OtherNamesAreErrorsThatSuggest) {
  EXPECT_THAT(error_of(ErrorKind::usage, [] { parse_precision("fp32_fats"); }),
              HasSubstr("did you mean fp32_fast?"));
  EXPECT_THAT(error_of(ErrorKind::usage, [] { parse_precision("quadruple"); }),
              HasSubstr("there are auto, fp32"));
}

}  // namespace
}  // namespace tilescope
