// Several processes that compile the same kernel into the same cache at once, as two commands in
// two terminals do; and a cache that is damaged or cannot be written.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tilescope/error.hpp>

#include "compile/compiler.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope::compile {
namespace {

using testing::TemporaryFolder;

const Compilation kernel{.source_name = "k.cu",
                         .source = "extern \"C\" __global__ void k(int* x) { *x = 1234567; }",
                         .kernel = "k",
                         .architecture = "sm_90a",
                         .defines = {},
                         .include_directories = {},
                         .headers = {},
                         .extra_options = {}};

bool compiles() {
  try {
    const Program program = compile(kernel);
    return program.ptx.find("1234567") != std::string::npos && !program.cubin.empty();
  } catch (const Error&) {
    return false;
  }
}

TEST(Processes, ShareOneCache) {
  const TemporaryFolder folder;
  ::setenv("TILESCOPE_CACHE", folder.path().c_str(), 1);
  constexpr int processes = 4;
  for (int i = 0; i < processes; ++i) {
    if (::fork() == 0) ::_exit(compiles() ? 0 : 1);
  }
  for (int i = 0; i < processes; ++i) {
    int status = -1;
    ASSERT_GT(::wait(&status), 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(folder.names().size(), 1u) << "one entry, and no temporary file";
  EXPECT_TRUE(compile(kernel).from_cache);
}

TEST(Processes, ADamagedEntryIsMadeAnew) {
  const TemporaryFolder folder;
  ::setenv("TILESCOPE_CACHE", folder.path().c_str(), 1);
  ASSERT_TRUE(compiles());
  const std::string entry = folder / folder.names().at(0);
  testing::write_file(entry, testing::read_file(entry).substr(0, 1000));
  EXPECT_FALSE(compile(kernel).from_cache);
  EXPECT_TRUE(compile(kernel).from_cache);
}

TEST(Processes, WithoutARoomForTheCacheEverythingWorks) {
  ::setenv("TILESCOPE_CACHE", "/dev/null/cache", 1);
  EXPECT_TRUE(compiles());
  EXPECT_FALSE(compile(kernel).from_cache);
}

}  // namespace
}  // namespace tilescope::compile
