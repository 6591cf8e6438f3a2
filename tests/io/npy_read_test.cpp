// Arrays that NumPy wrote (tests/data/npy/make.py).
#include <unistd.h>

#include <cstring>
#include <tilescope/npy.hpp>

#include "base/half.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope {
namespace {

using ::testing::AllOf;
using testing::error_of;
using ::testing::HasSubstr;
using testing::read_file;
using testing::TemporaryFolder;
using testing::write_file;

std::string data(const std::string& name) {
  return TILESCOPE_TEST_DATA "/npy/" + name;
}

// Element `i` in the order of the file, as a number.
double element(const NpyFile& file, std::size_t i) {
  const std::byte* const at = file.data().data() + i * size_of(file.header().type);
  const auto load = [at]<typename T>(T value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (file.header().type) {
    case DataType::float16:
      return float16_to_float32(load(std::uint16_t{}));
    case DataType::float32:
      return load(float{});
    case DataType::float64:
      return load(double{});
    case DataType::int8:
      return load(std::int8_t{});
    case DataType::int16:
      return load(std::int16_t{});
    case DataType::int32:
      return load(std::int32_t{});
    case DataType::int64:
      return static_cast<double>(load(std::int64_t{}));
    case DataType::uint16:
      return load(std::uint16_t{});
    case DataType::uint32:
      return load(std::uint32_t{});
    case DataType::uint64:
      return static_cast<double>(load(std::uint64_t{}));
    default:
      return load(std::uint8_t{});
  }
}

// The value that make.py puts at row-major position `i`.
double expected(DataType type, std::size_t i) {
  if (type == DataType::boolean) return i == 0 ? 0 : 1;
  return is_floating(type) ? static_cast<double>(i) / 2 - 1 : static_cast<double>(i);
}

class EveryType : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryType, IsRead) {
  const NpyFile file(data("c_") + GetParam() + ".npy");
  EXPECT_EQ(name_of(file.header().type), GetParam());
  EXPECT_EQ(file.header().shape, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_FALSE(file.header().fortran_order);
  ASSERT_EQ(file.data().size(), 6 * size_of(file.header().type));
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(element(file, i), expected(file.header().type, i)) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Npy, EveryType,
                         ::testing::Values("float16", "float32", "float64", "bool", "int8", "int16",
                                           "int32", "int64", "uint8", "uint16", "uint32",
                                           "uint64"));

TEST(NpyRead, FortranOrder) {
  for (const char* const type : {"float16", "float32", "float64"}) {
    const NpyFile file(data("fortran_") + type + ".npy");
    EXPECT_TRUE(file.header().fortran_order);
    const ConstMatrixView matrix = require_matrix(file);
    EXPECT_EQ(matrix.order, Order::column_major);
    EXPECT_EQ(matrix.leading, 2);
    for (std::size_t row = 0; row < 2; ++row) {
      for (std::size_t column = 0; column < 3; ++column) {
        EXPECT_EQ(element(file, row + column * 2), expected(matrix.type, row * 3 + column));
      }
    }
  }
}

TEST(NpyRead, EveryVersion) {
  for (const char* const name : {"c_float32.npy", "version2.npy", "version3.npy"}) {
    const NpyFile file(data(name));
    EXPECT_EQ(file.header().shape, (std::vector<std::uint64_t>{2, 3})) << name;
    EXPECT_EQ(element(file, 5), 1.5) << name;
  }
}

TEST(NpyRead, EveryNumberOfDimensions) {
  const NpyFile number(data("number.npy"));
  EXPECT_TRUE(number.header().shape.empty());
  EXPECT_EQ(number.header().count(), 1u);
  EXPECT_EQ(element(number, 0), -1);
  EXPECT_EQ(require_list(NpyFile(data("list.npy"))), 5u);
  EXPECT_EQ(NpyFile(data("cube.npy")).header().shape, (std::vector<std::uint64_t>{2, 3, 4}));
  EXPECT_TRUE(NpyFile(data("cube_fortran.npy")).header().fortran_order);
  EXPECT_EQ(NpyFile(data("many_dimensions.npy")).header().shape.size(), 32u);
}

TEST(NpyRead, EmptyArrays) {
  const NpyFile file(data("empty.npy"));
  EXPECT_TRUE(file.data().empty());
  const ConstMatrixView matrix = require_matrix(file);
  EXPECT_EQ(matrix.rows, 0);
  EXPECT_EQ(matrix.columns, 3);
  EXPECT_EQ(require_list(NpyFile(data("empty_list.npy"))), 0u);
}

TEST(NpyRead, OtherThanMatricesAreRefusedAsMatrices) {
  const auto refusal = [](const char* name) {
    const NpyFile file(data(name));
    return error_of(ErrorKind::bad_input, [&] { require_matrix(file); });
  };
  EXPECT_THAT(refusal("list.npy"), AllOf(HasSubstr("shape (5,) has 1"), HasSubstr("reshape")));
  EXPECT_THAT(refusal("cube.npy"), HasSubstr("2 dimensions, and shape (2, 3, 4) has 3"));
  EXPECT_THAT(refusal("number.npy"), HasSubstr("shape () has 0"));
  EXPECT_THAT(error_of(ErrorKind::bad_input, [] { require_list(NpyFile(data("cube.npy"))); }),
              HasSubstr("1 dimension"));
}

TEST(NpyRead, TypesThatAreNotTaken) {
  const auto refusal = [](const char* name) {
    return error_of(ErrorKind::bad_input, [&] { NpyFile file(data(name)); });
  };
  EXPECT_THAT(refusal("big_endian.npy"),
              AllOf(HasSubstr("'>f4' is big-endian"), HasSubstr("a.astype('<f4')")));
  EXPECT_THAT(refusal("structured.npy"), HasSubstr("structured"));
  EXPECT_THAT(refusal("nested.npy"), HasSubstr("structured"));
  EXPECT_THAT(refusal("object.npy"), HasSubstr("Python objects"));
  EXPECT_THAT(refusal("text.npy"), HasSubstr("holds text"));
  EXPECT_THAT(refusal("bytes.npy"), HasSubstr("holds text"));
  EXPECT_THAT(refusal("dates.npy"), HasSubstr("dates"));
  EXPECT_THAT(refusal("complex.npy"), HasSubstr("complex"));
  EXPECT_THAT(refusal("raw.npy"), HasSubstr("bfloat16"));
  EXPECT_THAT(refusal("long_double.npy"), HasSubstr("unusual size"));
}

TEST(NpyRead, OtherFormatsAreNamed) {
  const TemporaryFolder folder;
  const auto refusal = [&](std::string_view contents) {
    write_file(folder / "a.npy", contents);
    return error_of(ErrorKind::bad_input, [&] { NpyFile file(folder / "a.npy"); });
  };
  EXPECT_THAT(error_of(ErrorKind::bad_input, [] { NpyFile file(data("archive.npz")); }),
              AllOf(HasSubstr("not a .npy file"), HasSubstr(".npz archive")));
  EXPECT_THAT(refusal("\x89PNG\r\n\x1a\nxxxx"), HasSubstr("PNG"));
  EXPECT_THAT(refusal("1.0,2.0\n3.0,4.0\n"), HasSubstr("looks like text"));
  EXPECT_THAT(refusal("\x80\x04\x95"), HasSubstr("pickle"));
  EXPECT_THAT(refusal("\x1f\x8b\x08"), HasSubstr("gunzip"));
  EXPECT_THAT(refusal(std::string(100, '\0')), HasSubstr("not a .npy file; save"));
  EXPECT_THAT(refusal(""), HasSubstr("the file is empty"));
  EXPECT_THAT(refusal("\x93NUM"), HasSubstr("truncated"));
}

// Every prefix of a good file, and the file with more behind it.
TEST(NpyRead, WrongSizesAreRefused) {
  const TemporaryFolder folder;
  for (const char* const name : {"c_float32.npy", "version2.npy"}) {
    const std::string good = read_file(data(name));
    for (std::size_t size = 0; size < good.size(); ++size) {
      write_file(folder / "a.npy", good.substr(0, size));
      const std::string text =
          error_of(ErrorKind::bad_input, [&] { NpyFile file(folder / "a.npy"); });
      ASSERT_THAT(text, ::testing::AnyOf(HasSubstr("truncated"), HasSubstr("is empty"))) << size;
      if (size + 3 == good.size()) {
        EXPECT_THAT(text, HasSubstr("needs 24 bytes of data, and the file has 21"));
      }
    }
    write_file(folder / "a.npy", good + "x");
    EXPECT_THAT(error_of(ErrorKind::bad_input, [&] { NpyFile file(folder / "a.npy"); }),
                HasSubstr("longer than its header says: shape (2, 3) of float32 needs 24 bytes of "
                          "data, and the file has 25"));
  }
}

// A front whose length is not a multiple of the element's size: legal, though NumPy pads.
TEST(NpyRead, ElementsAtOddOffsetsAreAligned) {
  const TemporaryFolder folder;
  const std::string text = "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), } \n";
  for (std::size_t spaces = 0; spaces < 8; ++spaces) {
    const std::string padded = text + std::string(spaces, ' ');
    std::string contents = std::string("\x93NUMPY\1\0", 8);
    contents += {static_cast<char>(padded.size()), '\0'};
    const double values[2] = {1.5, -2.5};
    contents += padded + std::string(reinterpret_cast<const char*>(values), sizeof values);
    write_file(folder / "a.npy", contents);
    const NpyFile file(folder / "a.npy");
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file.data().data()) % alignof(double), 0u);
    EXPECT_EQ(element(file, 0), 1.5);
    EXPECT_EQ(element(file, 1), -2.5);
  }
}

// Pages of this process in memory, of 4 KiB.
std::int64_t resident_pages() {
  std::int64_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident;
}

TEST(NpyRead, IsMappedAndNotCopied) {
  const TemporaryFolder folder;
  const std::uint64_t count = std::uint64_t{1} << 32;  // 4 GiB, a hole on disk
  std::string front = read_file(data("c_uint8.npy")).substr(0, 128);
  const std::size_t shape = front.find("(2, 3), }");
  front.replace(shape, 17, "(4294967296,), } ");
  write_file(folder / "a.npy", front);
  ASSERT_EQ(::truncate((folder / "a.npy").c_str(), static_cast<off_t>(128 + count)), 0);
  const std::int64_t before = resident_pages();
  const NpyFile file(folder / "a.npy");
  EXPECT_EQ(require_list(file), count);
  EXPECT_EQ(file.data()[count - 1], std::byte{0});
  EXPECT_LT(resident_pages() - before, 16384) << "64 MiB for touching one element";
}

TEST(NpyRead, ChangesAreNoticed) {
  const TemporaryFolder folder;
  write_file(folder / "a.npy", read_file(data("c_float32.npy")));
  const NpyFile file(folder / "a.npy");
  EXPECT_NO_THROW(file.require_unchanged());
  ASSERT_EQ(::truncate((folder / "a.npy").c_str(), 64), 0);
  EXPECT_THAT(error_of(ErrorKind::bad_input, [&] { file.require_unchanged(); }),
              HasSubstr("changed while it was read"));
}

TEST(NpyRead, CanBeMoved) {
  NpyFile first(data("c_float32.npy"));
  const NpyFile second(std::move(first));
  EXPECT_EQ(element(second, 5), 1.5);
  EXPECT_THAT(second.path(), HasSubstr("c_float32.npy"));
}

}  // namespace
}  // namespace tilescope
