#include "base/output_file.hpp"

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "support/temporary_folder.hpp"

namespace tilescope {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::read_file;
using testing::TemporaryFolder;
using testing::write_file;

std::string refusal(const std::string& path, ErrorKind kind = ErrorKind::bad_input) {
  return error_of(kind, [&] { OutputFile file(path); });
}

mode_t mode_of(const std::string& path) {
  struct stat status = {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & 07777;
}

TEST(OutputFile, AppearsOnlyWhenCommitted) {
  const TemporaryFolder folder;
  OutputFile file(folder / "a.txt");
  file.append("hello, ");
  file.append("world");
  EXPECT_EQ(file.appended(), 12u);
  EXPECT_FALSE(fs::exists(folder / "a.txt"));
  ASSERT_EQ(folder.names().size(), 1u);
  EXPECT_THAT(folder.names()[0], ::testing::MatchesRegex("\\.a\\.txt\\.[a-z0-9]{6}\\.tmp"));
  file.commit();
  EXPECT_THAT(folder.names(), ElementsAre("a.txt"));
  EXPECT_EQ(read_file(folder / "a.txt"), "hello, world");
}

TEST(OutputFile, LeavesNothingWithoutCommit) {
  const TemporaryFolder folder;
  write_file(folder / "a", "old");
  {
    OutputFile file(folder / "a");
    file.append("new");
  }
  EXPECT_THAT(folder.names(), ElementsAre("a"));
  EXPECT_EQ(read_file(folder / "a"), "old");
}

TEST(OutputFile, WritesInPlace) {
  const TemporaryFolder folder;
  OutputFile file(folder / "a");
  file.reserve(100000);
  const std::span<std::byte> bytes = file.map();
  ASSERT_EQ(bytes.size(), 100000u);
  EXPECT_TRUE(
      std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{}; }));
  bytes[99999] = std::byte{'z'};
  file.append("ab");
  file.commit();
  const std::string written = read_file(folder / "a");
  EXPECT_EQ(written, "ab" + std::string(99997, '\0') + "z");
}

TEST(OutputFile, FilledWithZerosKeepsWhatWasAppended) {
  // Small, of several pieces of zeros, and so large that it stays as it is.
  for (const std::size_t size :
       {std::size_t{7}, std::size_t{3'000'001}, (std::size_t{256} << 20U) + 9}) {
    const TemporaryFolder folder;
    OutputFile file(folder / "a");
    file.fill_with_zeros();  // nothing is reserved
    file.reserve(size);
    file.append("front");
    file.fill_with_zeros();
    const std::span<std::byte> bytes = file.map();
    ASSERT_EQ(bytes.size(), size);
    bytes.back() = std::byte{'z'};
    file.fill_with_zeros();  // too late: it is mapped
    EXPECT_EQ(bytes.back(), std::byte{'z'});
    EXPECT_EQ(std::memcmp(bytes.data(), "front", 5), 0);
    const auto behind = bytes.subspan(5, std::min<std::size_t>(size - 6, 4'000'000));
    EXPECT_TRUE(
        std::all_of(behind.begin(), behind.end(), [](std::byte b) { return b == std::byte{}; }));
  }
}

TEST(OutputFile, ReservedSpaceIsReal) {
  const TemporaryFolder folder;
  OutputFile file(folder / "a");
  file.reserve(1 << 20);
  struct stat status = {};
  ASSERT_EQ(::stat((folder / folder.names()[0]).c_str(), &status), 0);
  EXPECT_EQ(status.st_size, 1 << 20);
  EXPECT_GE(status.st_blocks * 512, 1 << 20);  // not a hole
}

TEST(OutputFile, MovesAsAWhole) {
  const TemporaryFolder folder;
  OutputFile first(folder / "a");
  first.append("x");
  OutputFile second(std::move(first));
  OutputFile third(folder / "b");
  third = std::move(second);
  EXPECT_EQ(folder.names().size(), 1u) << "the temporary of b was not removed";
  third.commit();
  EXPECT_THAT(folder.names(), ElementsAre("a"));
}

TEST(OutputFile, RefusesTargetsThatCannotBeFiles) {
  const TemporaryFolder folder;
  EXPECT_THAT(refusal("-", ErrorKind::usage), HasSubstr("not standard output"));
  EXPECT_THAT(refusal("", ErrorKind::usage), HasSubstr("empty"));
  EXPECT_THAT(refusal(std::string("a\0b", 3), ErrorKind::usage), HasSubstr("NUL"));
  EXPECT_THAT(refusal(folder.path()), HasSubstr("it is a folder"));
  EXPECT_THAT(refusal(folder / "new/"), HasSubstr("names a folder"));
  EXPECT_THAT(refusal(folder / "none/a"), HasSubstr("does not exist; create it first"));
  EXPECT_THAT(refusal("/proc/a"), HasSubstr("'/proc' takes no new files; choose another folder"));
  EXPECT_THAT(refusal("/dev/null"), HasSubstr("device"));
  EXPECT_THAT(refusal(folder / std::string(256, 'n')), HasSubstr("too long"));
  write_file(folder / "file", "");
  EXPECT_THAT(refusal(folder / "file/a"), HasSubstr("is not a folder"));
  EXPECT_THAT(refusal("/proc/a"), HasSubstr("cannot write '/proc/a'"));
  EXPECT_THAT(folder.names(), ElementsAre("file"));
}

// Root may do everything, so another user does this in a child.
TEST(OutputFile, RefusesWhatIsNotPermitted) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "closed");
  write_file(folder / "protected", "old");
  ::chmod((folder / "closed").c_str(), 0555);
  ::chmod((folder / "protected").c_str(), 0444);
  ::chmod(folder.path().c_str(), 0777);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(3);
    const std::string closed = refusal(folder / "closed/a");
    const std::string guarded = refusal(folder / "protected");
    const bool good = closed.find("no permission to create files") != std::string::npos &&
                      guarded.find("write-protected") != std::string::npos;
    ::_exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read_file(folder / "protected"), "old");
}

TEST(OutputFile, LongNamesWork) {
  const TemporaryFolder folder;
  const std::string name(255, 'n');
  OutputFile file(folder / name);
  file.commit();
  EXPECT_THAT(folder.names(), ElementsAre(name));
}

TEST(OutputFile, KeepsThePermissionsOfWhatItReplaces) {
  const TemporaryFolder folder;
  write_file(folder / "a", "old");
  ::chmod((folder / "a").c_str(), 0640);
  OutputFile(folder / "a").commit();
  EXPECT_EQ(mode_of(folder / "a"), 0640u);
}

TEST(OutputFile, NewFilesFollowTheUmask) {
  const TemporaryFolder folder;
  const mode_t old = ::umask(027);
  OutputFile(folder / "a").commit();
  ::umask(old);
  EXPECT_EQ(mode_of(folder / "a"), 0640u);
}

TEST(OutputFile, ReplacesWhatASymbolicLinkPointsTo) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "store");
  write_file(folder / "store/real", "old");
  fs::create_symlink("store/real", folder / "link");
  fs::create_symlink("link", folder / "second");
  OutputFile file(folder / "second");
  file.append("new");
  file.commit();
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_TRUE(fs::is_symlink(folder / "second"));
  EXPECT_EQ(read_file(folder / "store/real"), "new");
  fs::create_symlink("store/later", folder / "dangling");
  OutputFile(folder / "dangling").commit();
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(folder / "store/later")));
  fs::create_symlink("loop", folder / "loop");
  EXPECT_THAT(refusal(folder / "loop"), HasSubstr("loop"));
}

TEST(OutputFile, TwoWritersDoNotMix) {
  const TemporaryFolder folder;
  OutputFile first(folder / "a");
  OutputFile second(folder / "a");
  for (int i = 0; i < 1000; ++i) {
    first.append("1");
    second.append("2");
  }
  second.commit();
  EXPECT_EQ(read_file(folder / "a"), std::string(1000, '2'));
  first.commit();
  EXPECT_EQ(read_file(folder / "a"), std::string(1000, '1'));
  EXPECT_THAT(folder.names(), ElementsAre("a"));
}

TEST(OutputFile, TargetThatBecameAFolderIsReported) {
  const TemporaryFolder folder;
  {
    OutputFile file(folder / "a");
    fs::create_directory(folder / "a");
    EXPECT_THAT(error_of(ErrorKind::bad_input, [&] { file.commit(); }), HasSubstr("renamed"));
  }
  EXPECT_THAT(folder.names(), ElementsAre("a"));
}

TEST(OutputFile, FullDiskIsOneLineBeforeTheWork) {
  const TemporaryFolder folder;
  struct statvfs disk = {};
  ASSERT_EQ(::statvfs(folder.path().c_str(), &disk), 0);
  const std::uint64_t too_much = (disk.f_blocks + 1024) * disk.f_frsize;
  {
    OutputFile file(folder / "a");
    EXPECT_THAT(error_of(ErrorKind::bad_input, [&] { file.reserve(too_much); }),
                ::testing::AnyOf(HasSubstr("no space left"), HasSubstr("File too large")));
    EXPECT_THAT(error_of(ErrorKind::bad_input, [&] { file.reserve(std::uint64_t{1} << 63); }),
                HasSubstr("more than a file can have"));
  }
  EXPECT_THAT(folder.names(), IsEmpty());
}

// A small file system of its own, in a child, where the machine permits that.
TEST(OutputFile, FullAndReadOnlyFileSystems) {
  const TemporaryFolder folder;
  constexpr int not_permitted = 77;
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", folder.path().c_str(), "tmpfs", 0, "size=64k") != 0) {
      ::_exit(not_permitted);
    }
    int failures = 0;
    const auto expect = [&failures](const std::string& text, const char* fragment) {
      if (text.find(fragment) == std::string::npos) ++failures;
    };
    {
      OutputFile file(folder / "a");
      expect(error_of(ErrorKind::bad_input, [&] { file.reserve(1 << 20); }), "no space left");
    }
    {
      OutputFile file(folder / "a");
      expect(error_of(ErrorKind::bad_input, [&] { file.append(std::string(1 << 20, 'x')); }),
             "no space left");
    }
    if (!folder.names().empty()) ++failures;
    OutputFile(folder / "a").commit();
    if (::mount(nullptr, folder.path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0) {
      ::_exit(not_permitted);
    }
    expect(refusal(folder / "a"), "read-only file system");
    expect(refusal(folder / "b"), "read-only file system");
    ::_exit(failures);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == not_permitted) GTEST_SKIP() << "no mounts permitted";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(OutputFile, SizeLimitOfTheProcessIsAnErrorAndNotASignal) {
  const TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    const struct rlimit limit = {.rlim_cur = 1000, .rlim_max = 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    OutputFile file(folder / "a");
    const std::string reserved = error_of(ErrorKind::bad_input, [&] { file.reserve(1001); });
    file.append(std::string(1000, 'x'));
    const std::string appended = error_of(ErrorKind::bad_input, [&] { file.append("y"); });
    const bool good = reserved.find("at most 1000 (ulimit -f)") != std::string::npos &&
                      appended.find("at most 1000 (ulimit -f)") != std::string::npos;
    ::_exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(OutputFile, AForkedChildDoesNotRemoveItsParentsFile) {
  const TemporaryFolder folder;
  OutputFile file(folder / "a");
  const pid_t child = ::fork();
  if (child == 0) {
    { const OutputFile taken(std::move(file)); }
    remove_temporaries();
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(folder.names().size(), 1u);
  EXPECT_NO_THROW(file.commit());
}

TEST(OutputFile, TooManyAtOnceIsAnError) {
  const TemporaryFolder folder;
  std::vector<OutputFile> files;
  EXPECT_THAT(error_of(ErrorKind::usage,
                       [&] {
                         for (int i = 0; i < 300; ++i) files.emplace_back(folder / "a");
                       }),
              HasSubstr("256"));
  EXPECT_EQ(files.size(), 256u);
  files.clear();
  EXPECT_NO_THROW(OutputFile(folder / "a").commit());
  EXPECT_THAT(folder.names(), ElementsAre("a"));
}

}  // namespace
}  // namespace tilescope
