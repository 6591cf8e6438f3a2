#include "base/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mapped_file.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::TemporaryFolder;
using testing::write_file;

std::string open_error(const std::string& path) {
  return error_of(ErrorKind::bad_input, [&] { open_regular_file(path); });
}

TEST(File, RefusesWhatIsNoRegularFile) {
  const TemporaryFolder folder;
  EXPECT_THAT(open_error(folder / "none"), HasSubstr("no such file"));
  EXPECT_THAT(open_error(folder.path()), HasSubstr("it is a folder"));
  EXPECT_THAT(open_error("-"), HasSubstr("standard input is not supported"));
  EXPECT_THAT(open_error(""), HasSubstr("the name is empty"));
  EXPECT_THAT(open_error("/dev/null"), HasSubstr("it is a device"));
  EXPECT_THAT(open_error(std::string(5000, 'a')), HasSubstr("too long"));
  EXPECT_THAT(open_error(std::string("a\0b", 3)), HasSubstr("NUL"));
  EXPECT_THAT(open_error(folder / "a\nb"), HasSubstr("a\\x0ab"));
  write_file(folder / "file", "x");
  EXPECT_THAT(open_error(folder / "file/inner"), HasSubstr("not a folder"));
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(open_error(folder / "pipe"), HasSubstr("it is a pipe"));  // and does not wait
  std::filesystem::create_symlink(folder / "loop", folder / "loop");
  EXPECT_THAT(open_error(folder / "loop"), HasSubstr("loop"));
}

// Root reads everything, so another user does this in a child.
TEST(File, RefusesWhatIsNotPermitted) {
  const TemporaryFolder folder;
  ::chmod(folder.path().c_str(), 0755);
  write_file(folder / "secret", "x");
  ::chmod((folder / "secret").c_str(), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(3);
    const bool good = open_error(folder / "secret").find("permission denied") != std::string::npos;
    ::_exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(File, ReadsTextWholeOrNotAtAll) {
  const TemporaryFolder folder;
  const std::string text("one\0two\n", 8);
  write_file(folder / "a", text);
  EXPECT_EQ(read_text_file(folder / "a"), text);
  EXPECT_EQ(read_text_file(folder / "a", 8), text);
  EXPECT_THAT(error_of(ErrorKind::bad_input, [&] { read_text_file(folder / "a", 7); }),
              HasSubstr("8 bytes; at most 7"));
  EXPECT_THAT(read_text_file("/proc/self/status"), HasSubstr("Name:"));  // announces no size
}

TEST(File, MapsBytes) {
  const TemporaryFolder folder;
  write_file(folder / "a", "abc");
  write_file(folder / "empty", "");
  const MappedFile file(folder / "a");
  ASSERT_EQ(file.bytes().size(), 3u);
  EXPECT_EQ(file.bytes()[2], std::byte{'c'});
  EXPECT_TRUE(MappedFile(folder / "empty").bytes().empty());
}

TEST(File, ThatHasNoSizeUntilItIsReadIsNotTakenForEmpty) {
  EXPECT_THAT(error_of(ErrorKind::bad_input, [] { const MappedFile file("/proc/self/status"); }),
              HasSubstr("'/proc/self/status': it has no size until it is read"));
  EXPECT_NE(read_text_file("/proc/self/status", 1 << 20), "");
}

TEST(File, NoticesThatAMappedFileChanged) {
  const TemporaryFolder folder;
  write_file(folder / "a", "abc");
  const MappedFile file(folder / "a");
  EXPECT_NO_THROW(file.require_unchanged());
  ASSERT_EQ(::truncate((folder / "a").c_str(), 1), 0);
  EXPECT_THAT(error_of(ErrorKind::bad_input, [&] { file.require_unchanged(); }),
              HasSubstr("its size went from 3 to 1 bytes"));
  write_file(folder / "b", "abc");
  const MappedFile other(folder / "b");
  const struct timespec times[2] = {{.tv_sec = 1, .tv_nsec = 0}, {.tv_sec = 1, .tv_nsec = 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (folder / "b").c_str(), times, 0), 0);
  EXPECT_THAT(error_of(ErrorKind::bad_input, [&] { other.require_unchanged(); }),
              HasSubstr("its contents were modified"));
}

}  // namespace
}  // namespace tilescope
