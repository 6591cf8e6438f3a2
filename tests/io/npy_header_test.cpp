// Headers that NumPy would not write: the message must name the defect of each.
#include "io/npy_header.hpp"

#include <random>

#include "support/temporary_folder.hpp"

namespace tilescope::io {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::TemporaryFolder;
using testing::write_file;

const std::string path = "a.npy";

struct Hostile {
  const char* description;
  std::string text;
  const char* expected;
};

void PrintTo(const Hostile& hostile, std::ostream* out) {
  *out << hostile.description;
}

std::string with_shape(const std::string& shape) {
  return "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }\n";
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

class HostileHeader : public ::testing::TestWithParam<Hostile> {};

TEST_P(HostileHeader, IsRefusedInOneLine) {
  const std::string text =
      error_of(ErrorKind::bad_input, [] { parse_npy_dictionary(GetParam().text, path); });
  EXPECT_THAT(text, HasSubstr(GetParam().expected));
  EXPECT_THAT(text, HasSubstr("'a.npy'"));
  EXPECT_LT(text.size(), 400u);
}

INSTANTIATE_TEST_SUITE_P(
    Npy, HostileHeader,
    ::testing::Values(
        Hostile{"nothing", "", "'{' is needed to open the dictionary, but the header ends"},
        Hostile{"spaces", "     \n", "but the header ends"},
        Hostile{"no dictionary", "('descr', '<f4')", "'{' is needed"},
        Hostile{"not closed", "{'descr': '<f4'", "',' or '}' is needed after a value"},
        Hostile{"name not closed", "{'descr': '<f4", "ends inside a quoted name"},
        Hostile{"no keys", "{}", "'descr' is missing"},
        Hostile{"no order", "{'descr': '<f4', 'shape': (3,)}", "'fortran_order' is missing"},
        Hostile{"no shape", "{'descr': '<f4', 'fortran_order': True}", "'shape' is missing"},
        Hostile{"no descr", "{'shape': (3,), 'fortran_order': True}", "'descr' is missing"},
        Hostile{"twice", "{'descr': '<f4', 'descr': '<f4'}", "'descr' occurs twice"},
        Hostile{"shape twice", "{'shape': (3,), 'shape': (4,)}", "'shape' occurs twice"},
        Hostile{"foreign key", "{'colour': 'red'}", "'colour' is unknown"},
        Hostile{"number as key", "{1: 2}", "a key in quotes is needed, not '1' at offset 1"},
        Hostile{"no colon", "{'descr' '<f4'}", "':' is needed after a key"},
        Hostile{"no comma", "{'descr': '<f4' 'shape': (3,)}", "',' or '}' is needed"},
        Hostile{"two commas", "{'descr': '<f4',, 'shape': (3,)}", "a key in quotes is needed"},
        Hostile{"text behind", with_shape("(3,)") + "x", "nothing may follow the dictionary"},
        Hostile{"code behind", with_shape("(3,)") + "; import os", "nothing may follow"},
        Hostile{"NUL behind", with_shape("(3,)") + std::string(1, '\0'), "byte 0x00"},
        Hostile{"expression", with_shape("(3*4,)"),
                "',' or ')' is needed after an extent, not '*'"},
        Hostile{"call", with_shape("tuple([3])"), "'(' is needed to open the shape"},
        Hostile{"list as shape", with_shape("[3]"), "'(' is needed to open the shape"},
        Hostile{"number as shape", with_shape("3"), "'(' is needed to open the shape"},
        Hostile{"number in brackets", with_shape("(3)"), "a tuple is needed: (3,)"},
        Hostile{"negative", with_shape("(-3, 4)"), "the extent -3 is negative"},
        Hostile{"fraction", with_shape("(3.5, 4)"), "',' or ')' is needed after an extent"},
        Hostile{"letters", with_shape("(a, 4)"), "must be a whole number, not 'a'"},
        Hostile{"hexadecimal", with_shape("(0x10, 4)"), "',' or ')' is needed"},
        Hostile{"leading zero", with_shape("(010, 4)"), "010 has a leading zero"},
        Hostile{"only a comma", with_shape("(,)"), "must be a whole number"},
        Hostile{"gap", with_shape("(3,,4)"), "must be a whole number"},
        Hostile{"64 bits", with_shape("(9223372036854775808,)"), "does not fit in 63 bits"},
        Hostile{"many digits", with_shape("(" + std::string(50000, '9') + ",)"),
                "does not fit in 63 bits"},
        Hostile{"many extents", with_shape("(" + repeated("1,", 65) + ")"), "more than 64"},
        Hostile{"nested shape", with_shape("((3,), 4)"), "must be a whole number"},
        Hostile{"deep nesting", with_shape(std::string(60000, '(')), "must be a whole number"},
        Hostile{"deep lists", "{'descr': " + std::string(60000, '['), "structured"},
        Hostile{"deep dictionaries", std::string(60000, '{'), "a key in quotes is needed"},
        Hostile{"0 for False", "{'fortran_order': 0}", "must be True or False, not '0'"},
        Hostile{"lower case", "{'fortran_order': true}", "must be True or False"},
        Hostile{"None as descr", "{'descr': None}", "type name in quotes"},
        Hostile{"records", "{'descr': [('x', '<f4')]}", "save one field, a['name']"},
        Hostile{"sub-array", "{'descr': ('<f4', (2,))}", "structured"},
        Hostile{"non-ASCII", "{'descr': '<f4\xe9'}",
                "printable ASCII characters only, not byte 0xe9"},
        Hostile{"non-ASCII outside", "\xc3\xa9", "byte 0xc3"},
        Hostile{"escape", "{'de\\x73cr': '<f4'}", "printable ASCII"},
        Hostile{"line break in a name", "{'de\nscr': '<f4'}", "byte 0x0a"},
        Hostile{"empty type", "{'descr': '', 'fortran_order': True, 'shape': ()}", "''"},
        Hostile{"one letter", "{'descr': '<', 'fortran_order': True, 'shape': ()}", "not a NumPy"},
        Hostile{"long type",
                "{'descr': '" + std::string(9999, 'f') + "', 'fortran_order': True, 'shape': ()}",
                "..."},
        Hostile{"no byte order", "{'descr': '|f4', 'fortran_order': True, 'shape': ()}",
                "no byte order"},
        Hostile{"odd size", "{'descr': '<f3', 'fortran_order': True, 'shape': ()}",
                "unusual size"}));

TEST(NpyHeader, AcceptsWhatOthersWrite) {
  const NpyHeader wanted{.type = DataType::float32, .fortran_order = true, .shape = {3, 4}};
  for (const char* const text : {
           "{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4), }     \n",
           "{\"shape\":(3,4,),\"fortran_order\":True,\"descr\":\"<f4\"}",
           "  {'shape': (3L, 4L), 'descr': '<f4', 'fortran_order': True}",
           "\n{\t'shape' : ( 3 , 4 ) , 'descr' : '<f4' , 'fortran_order' : True }\r\n",
       }) {
    EXPECT_EQ(parse_npy_dictionary(text, path), wanted) << text;
  }
}

TEST(NpyHeader, ByteOrderOfSingleBytesDoesNotMatter) {
  for (const char* const type : {"|u1", "<u1", ">u1", "=u1"}) {
    const std::string text =
        std::string("{'descr': '") + type + "', 'fortran_order': False, 'shape': ()}";
    EXPECT_EQ(parse_npy_dictionary(text, path).type, DataType::uint8) << type;
  }
}

// Random damage to a good header: an error or a header, never anything else.
TEST(NpyHeader, DamageIsAnErrorOrAHeader) {
  std::mt19937 random(3);
  const std::string good = with_shape("(3, 4)");
  int errors = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = good;
    for (auto changes = random() % 4 + 1; changes > 0; --changes) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, random() % 5 + 1);
          break;
        default:
          text.insert(at, good.substr(random() % good.size(), random() % 5));
      }
      if (text.empty()) text = " ";
    }
    try {
      parse_npy_dictionary(text, path);
    } catch (const Error& error) {
      ++errors;
      ASSERT_EQ(error.kind(), ErrorKind::bad_input);
    }
  }
  EXPECT_GT(errors, 15000);
  EXPECT_LT(errors, 20000);
}

class NpyLayoutTest : public ::testing::Test {
 protected:
  std::string refusal(const std::string& contents) {
    write_file(folder_ / "a.npy", contents);
    return error_of(ErrorKind::bad_input, [&] { NpyFile file(folder_ / "a.npy"); });
  }
  // A front of version 1 or 2 that claims `length` bytes of header.
  static std::string front(char major, std::uint32_t length, const std::string& text) {
    std::string all = "\x93NUMPY";
    all += {major, '\0'};
    for (int i = 0; i < (major == 1 ? 2 : 4); ++i) all += static_cast<char>(length >> (8 * i));
    return all + text;
  }

  const TemporaryFolder folder_;
};

TEST_F(NpyLayoutTest, LengthsThatLie) {
  EXPECT_THAT(refusal(front(2, 0xffffffffu, "{}")),
              HasSubstr("needs 4,294,967,307 bytes, and the file has 14"));
  EXPECT_THAT(refusal(front(1, 0xffff, "{}")), HasSubstr("needs 65,545 bytes"));
  EXPECT_THAT(refusal(front(2, 70000, std::string(70000, ' '))), HasSubstr("at most 65,536"));
  EXPECT_THAT(refusal(front(1, 0, "")), HasSubstr("the header ends"));
  EXPECT_THAT(refusal(front(1, 10, with_shape("(3,)"))), HasSubstr("malformed"));
}

TEST_F(NpyLayoutTest, UnknownVersions) {
  EXPECT_THAT(refusal(front(4, 2, "{}")), HasSubstr("version 4.0"));
  EXPECT_THAT(refusal(front(0, 2, "{}")), HasSubstr("version 0.0"));
  EXPECT_THAT(refusal(std::string("\x93NUMPY\1\1\2\0{}", 12)), HasSubstr("version 1.1"));
}

TEST_F(NpyLayoutTest, ShapesWhoseBytesOverflow) {
  for (const char* const shape :
       {"(4294967296, 4294967296)", "(9223372036854775807,)", "(3, 3074457345618258603)"}) {
    const std::string text = with_shape(shape);
    EXPECT_THAT(refusal(front(1, static_cast<std::uint32_t>(text.size()), text)),
                HasSubstr("does not fit in 63 bits"))
        << shape;
  }
}

TEST_F(NpyLayoutTest, AZeroExtentMakesAShapeEmptyWhoseOthersFit) {
  const auto write = [&](const std::string& text) {
    write_file(folder_ / "a.npy", front(1, static_cast<std::uint32_t>(text.size()), text));
  };
  write(with_shape("(2147483648, 536870912, 0)"));
  EXPECT_TRUE(NpyFile(folder_ / "a.npy").data().empty());
  // NumPy does not load it either.
  write(with_shape("(9223372036854775807, 4294967296, 0)"));
  EXPECT_THAT(error_of(ErrorKind::bad_input, [&] { NpyFile file(folder_ / "a.npy"); }),
              ::testing::HasSubstr("does not fit in 63 bits"));
}

}  // namespace
}  // namespace tilescope::io
