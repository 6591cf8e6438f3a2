#include "compile/cache.hpp"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "support/temporary_folder.hpp"

namespace tilescope::compile {
namespace {

using testing::read_file;
using testing::TemporaryFolder;
using testing::write_file;

Program program(std::string ptx = ".version 9.0\n") {
  return {.ptx = std::move(ptx),
          .cubin = std::string("\x7f"
                               "ELF\0\0binary",
                               12),
          .kernel_name = "_Z6matmulPf",
          .log = "a warning",
          .from_cache = false};
}

TEST(Cache, ReturnsWhatWasStored) {
  const TemporaryFolder folder;
  const Cache cache(folder / "new/folder");
  EXPECT_FALSE(cache.find("key"));
  cache.store("key", program());
  const auto found = cache.find("key");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->ptx, program().ptx);
  EXPECT_EQ(found->cubin, program().cubin);
  EXPECT_EQ(found->kernel_name, program().kernel_name);
  EXPECT_EQ(found->log, program().log);
  EXPECT_TRUE(found->from_cache);
  EXPECT_FALSE(cache.find("other key"));
}

TEST(Cache, TheLaterProgramWins) {
  const TemporaryFolder folder;
  const Cache cache(folder.path());
  cache.store("key", program("first"));
  cache.store("key", program("second"));
  EXPECT_EQ(cache.find("key")->ptx, "second");
  EXPECT_EQ(folder.names().size(), 1u) << "no temporary files stay";
}

TEST(Cache, WhatIsNoFileIsNoEntry) {
  const TemporaryFolder folder;
  const Cache cache(folder.path());
  const std::string path = cache.path_of("key");
  ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
  EXPECT_FALSE(cache.find("key"));
  cache.store("key", program());
  EXPECT_FALSE(cache.find("key")) << "a folder is not replaced";
  ASSERT_EQ(::rmdir(path.c_str()), 0);
  ASSERT_EQ(::mkfifo(path.c_str(), 0700), 0);
  EXPECT_FALSE(cache.find("key")) << "nobody waits for a pipe's other end";
  cache.store("key", program());
  EXPECT_TRUE(cache.find("key"));
}

TEST(Cache, EveryDamagedByteIsNoticed) {
  const TemporaryFolder folder;
  const Cache cache(folder.path());
  cache.store("key", program());
  const std::string path = cache.path_of("key"), whole = read_file(path);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    write_file(path, damaged);
    EXPECT_FALSE(cache.find("key")) << "byte " << i;
  }
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write_file(path, whole.substr(0, size));
    EXPECT_FALSE(cache.find("key")) << "cut to " << size;
  }
  write_file(path, whole + 'x');
  EXPECT_FALSE(cache.find("key"));
  write_file(path, whole);
  EXPECT_TRUE(cache.find("key"));
}

TEST(Cache, AnEntryOfAnotherKeyIsNotTaken) {  // as if two keys had one hash
  const TemporaryFolder folder;
  const Cache cache(folder.path());
  cache.store("one", program());
  std::filesystem::copy_file(cache.path_of("one"), cache.path_of("two"));
  EXPECT_FALSE(cache.find("two"));
}

TEST(Cache, AFolderThatCannotBeMadeIsNoError) {
  const TemporaryFolder folder;
  write_file(folder / "file", "");
  const Cache cache(folder / "file/below");
  EXPECT_NO_THROW(cache.store("key", program()));
  EXPECT_FALSE(cache.find("key"));
}

TEST(Cache, AFullDiskIsNoErrorAndLeavesNothing) {
  const TemporaryFolder folder;
  const Cache cache(folder.path());
  // Files may not grow past 64 bytes, so writing fails in the middle, as on a full disk.
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 64, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_NO_THROW(cache.store("key", program(std::string(4096, 'x'))));
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_FALSE(cache.find("key"));
  EXPECT_THAT(folder.names(), ::testing::IsEmpty());
}

TEST(Cache, ReadersSeeWholeEntriesWhileWritersReplaceThem) {
  const TemporaryFolder folder;
  const Cache cache(folder.path());
  cache.store("key", program(std::string(100000, 'a')));
  std::vector<std::jthread> writers;
  for (const char letter : {'b', 'c'}) {
    writers.emplace_back([&cache, letter] {
      for (int i = 0; i < 50; ++i) cache.store("key", program(std::string(100000, letter)));
    });
  }
  for (int i = 0; i < 200; ++i) {
    const auto found = cache.find("key");
    ASSERT_TRUE(found) << "an entry is replaced, never absent";
    ASSERT_EQ(found->ptx, std::string(100000, found->ptx[0]));
  }
}

TEST(Cache, TheStandardFolder) {
  ::setenv("TILESCOPE_CACHE", "/own", 1);
  EXPECT_EQ(Cache::standard().path_of("k").parent_path(), "/own");
  ::unsetenv("TILESCOPE_CACHE");
  ::setenv("XDG_CACHE_HOME", "/xdg", 1);
  EXPECT_EQ(Cache::standard().path_of("k").parent_path(), "/xdg/tilescope");
  ::unsetenv("XDG_CACHE_HOME");
  ::setenv("HOME", "/somebody", 1);
  EXPECT_EQ(Cache::standard().path_of("k").parent_path(), "/somebody/.cache/tilescope");
}

TEST(Cache, AnEmptyVariableTurnsItOff) {
  ::setenv("TILESCOPE_CACHE", "", 1);
  const Cache off = Cache::standard();
  off.store("key", program());
  EXPECT_FALSE(off.find("key"));
  ::unsetenv("TILESCOPE_CACHE");
}

}  // namespace
}  // namespace tilescope::compile
