#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <random>
#include <tilescope/npy.hpp>

#include "base/signals.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope {
namespace {

namespace fs = std::filesystem;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::read_file;
using testing::TemporaryFolder;

const std::string samples = TILESCOPE_TEST_DATA "/npy/";

void copy_into(std::span<std::byte> to, std::span<const std::byte> from) {
  ASSERT_EQ(to.size(), from.size());
  std::copy(from.begin(), from.end(), to.begin());
}

class SameBytesAsNumpy : public ::testing::TestWithParam<const char*> {};

// Read, and written again in both ways: NumPy's file must come out.
TEST_P(SameBytesAsNumpy, Written) {
  const TemporaryFolder folder;
  const std::string original = samples + GetParam() + ".npy";
  const NpyFile file(original);
  NpyWriter mapped(folder / "mapped.npy", file.header());
  copy_into(mapped.data(), file.data());
  mapped.commit();
  EXPECT_EQ(read_file(folder / "mapped.npy"), read_file(original));

  NpyWriter streamed(folder / "streamed.npy", file.header());
  for (std::size_t done = 0; done < file.data().size(); done += 7) {
    streamed.append(file.data().subspan(done, std::min<std::size_t>(7, file.data().size() - done)));
  }
  streamed.commit();
  EXPECT_EQ(read_file(folder / "streamed.npy"), read_file(original));
}

INSTANTIATE_TEST_SUITE_P(Npy, SameBytesAsNumpy,
                         ::testing::Values("c_float16", "c_float32", "c_float64", "c_bool",
                                           "c_int8", "c_int16", "c_int32", "c_int64", "c_uint8",
                                           "c_uint16", "c_uint32", "c_uint64", "fortran_float16",
                                           "fortran_float32", "fortran_float64", "number", "list",
                                           "cube", "cube_fortran", "row_fortran", "column_fortran",
                                           "empty", "empty_fortran", "empty_list",
                                           "many_dimensions", "long_extent"));

// Where both orders are equal, NumPy writes "C"; so does the writer, for either argument.
TEST(NpyWrite, OrderIsWrittenOnlyWhereItMatters) {
  const TemporaryFolder folder;
  for (const char* const name : {"row_fortran", "column_fortran", "empty_fortran"}) {
    const NpyFile file(samples + name + ".npy");
    NpyHeader header = file.header();
    header.fortran_order = true;
    NpyWriter writer(folder / "a.npy", header);
    copy_into(writer.data(), file.data());
    writer.commit();
    EXPECT_EQ(read_file(folder / "a.npy"), read_file(file.path())) << name;
  }
}

TEST(NpyWrite, ElementsBeginAtAMultipleOf64) {
  const TemporaryFolder folder;
  for (const std::uint64_t extent : {1u, 10u, 12345u, 99999u}) {
    NpyWriter writer(folder / "a.npy",
                     {.type = DataType::uint8, .fortran_order = false, .shape = {extent}});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(writer.data().data()) % 64, 0u);
    writer.commit();
    EXPECT_EQ(fs::file_size(folder / "a.npy") % 64, extent % 64);
  }
}

TEST(NpyWrite, NothingIsLeftWithoutCommit) {
  const TemporaryFolder folder;
  { NpyWriter writer(folder / "a.npy", npy_matrix_header(DataType::float32, 3, 4)); }
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(NpyWrite, ProblemsAreKnownBeforeTheWork) {
  const TemporaryFolder folder;
  const NpyHeader header = npy_matrix_header(DataType::float32, 3, 4);
  const auto refusal = [&](const std::string& path, const NpyHeader& what, ErrorKind kind) {
    return error_of(kind, [&] { NpyWriter writer(path, what); });
  };
  EXPECT_THAT(refusal("-", header, ErrorKind::usage), HasSubstr("standard output"));
  EXPECT_THAT(refusal(folder.path(), header, ErrorKind::bad_input), HasSubstr("it is a folder"));
  EXPECT_THAT(refusal(folder / "none/a.npy", header, ErrorKind::bad_input),
              HasSubstr("does not exist"));
  EXPECT_THAT(
      refusal(folder / "a.npy", npy_matrix_header(DataType::bfloat16, 3, 4), ErrorKind::usage),
      HasSubstr("NumPy has no type bfloat16"));
  const std::int64_t large = std::int64_t{1} << 40;
  EXPECT_THAT(refusal(folder / "a.npy", npy_matrix_header(DataType::float64, large, large),
                      ErrorKind::usage),
              HasSubstr("does not fit in 63 bits"));
  EXPECT_THAT(refusal(folder / "a.npy", npy_matrix_header(DataType::float64, large, 1 << 16),
                      ErrorKind::bad_input),
              HasSubstr("bytes are needed"));
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(NpyWrite, AppendingTooMuchOrTooLittle) {
  const TemporaryFolder folder;
  NpyWriter writer(folder / "a.npy", npy_matrix_header(DataType::uint8, 2, 2));
  const std::byte bytes[5] = {};
  writer.append(std::span(bytes, 3));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { writer.append(std::span(bytes, 2)); }),
              HasSubstr("1 bytes more than shape (2, 2) of uint8 has"));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { writer.commit(); }), HasSubstr("3 of 4 bytes"));
  writer.append(std::span(bytes, 1));
  writer.commit();
  EXPECT_EQ(NpyFile(folder / "a.npy").data().size(), 4u);
}

TEST(NpyWrite, MatrixView) {
  const TemporaryFolder folder;
  NpyWriter writer(folder / "a.npy",
                   npy_matrix_header(DataType::float64, 3, 2, Order::column_major));
  const MatrixView view = writable_matrix(writer);
  static_cast<double*>(view.mutable_data())[view.leading * 1 + 2] = 7;  // element (2, 1)
  writer.commit();
  const NpyFile file(folder / "a.npy");
  EXPECT_EQ(require_matrix(file).order, Order::column_major);
  EXPECT_EQ(reinterpret_cast<const double*>(file.data().data())[5], 7);
  NpyWriter list(folder / "b.npy", {.type = DataType::int8, .fortran_order = false, .shape = {3}});
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { writable_matrix(list); }), HasSubstr("(3,)"));
}

// Overwriting the array that is being read: the reader keeps the old one until it closes.
TEST(NpyWrite, TheInputMayBeTheOutput) {
  const TemporaryFolder folder;
  fs::copy_file(samples + "c_float32.npy", folder / "a.npy");
  const NpyFile input(folder / "a.npy");
  NpyWriter output(folder / "a.npy", input.header());
  copy_into(output.data(), input.data());
  input.require_unchanged();
  output.commit();
  EXPECT_EQ(read_file(folder / "a.npy"), read_file(samples + "c_float32.npy"));
}

TEST(NpyWrite, RandomArraysComeBack) {
  const TemporaryFolder folder;
  std::mt19937 random(4);
  for (int round = 0; round < 200; ++round) {
    NpyHeader header;
    do {
      header.type = static_cast<DataType>(random() % 13);
    } while (header.type == DataType::bfloat16);
    header.shape.resize(random() % 5);
    for (std::uint64_t& extent : header.shape) extent = random() % 12;
    header.fortran_order = random() % 2 == 0;
    std::vector<std::byte> bytes(header.bytes());
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    NpyWriter writer(folder / "a.npy", header);
    if (random() % 2 == 0) {
      writer.append(bytes);
    } else {
      copy_into(writer.data(), bytes);
    }
    writer.commit();
    const NpyFile file(folder / "a.npy");
    ASSERT_EQ(file.header().type, header.type);
    ASSERT_EQ(file.header().shape, header.shape);
    const auto wide = std::count_if(header.shape.begin(), header.shape.end(),
                                    [](std::uint64_t extent) { return extent > 1; });
    const bool order_matters = wide > 1 && header.count() > 0;
    ASSERT_EQ(file.header().fortran_order, header.fortran_order && order_matters);
    ASSERT_TRUE(std::equal(bytes.begin(), bytes.end(), file.data().begin(), file.data().end()));
  }
  EXPECT_EQ(folder.names().size(), 1u);
}

TEST(NpyWrite, CtrlCLeavesNoFile) {
  const TemporaryFolder folder;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    install_signal_handlers();
    NpyWriter writer(folder / "a.npy", npy_matrix_header(DataType::float32, 100, 100));
    if (::write(ready[1], "r", 1) != 1) ::_exit(1);
    for (;;) writer.data()[0] = std::byte{1};
  }
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_EQ(folder.names().size(), 1u);
  ::kill(child, SIGINT);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_THAT(folder.names(), IsEmpty());
}

}  // namespace
}  // namespace tilescope
