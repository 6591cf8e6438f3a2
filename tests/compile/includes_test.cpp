#include "compile/includes.hpp"

#include "support/temporary_folder.hpp"

namespace tilescope::compile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::TemporaryFolder;
using testing::write_file;

TEST(Includes, FollowsHeadersBesideTheSource) {
  const TemporaryFolder folder;
  write_file(folder / "tile.cuh", "#include \"deep.cuh\"\nint tile;");
  write_file(folder / "deep.cuh", "int deep;");
  EXPECT_THAT(
      included_texts({.source_name = folder / "kernel.cu", .source = "#include \"tile.cuh\"\n"}),
      ElementsAre("#include \"deep.cuh\"\nint tile;", "int deep;"));
}

TEST(Includes, SearchesTheGivenFoldersInOrder) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "first");
  std::filesystem::create_directories(folder / "second");
  write_file(folder / "first/both.cuh", "1");
  write_file(folder / "second/both.cuh", "2");
  write_file(folder / "second/only.cuh", "3");
  EXPECT_THAT(included_texts({.source_name = "kernel.cu",
                              .source = "  #  include <both.cuh> // why\n#include <only.cuh>",
                              .include_directories = {folder / "first", folder / "second"}}),
              ElementsAre("1", "3"));
}

TEST(Includes, AHeaderThatIncludesItselfEnds) {
  const TemporaryFolder folder;
  write_file(folder / "a.cuh", "#include \"b.cuh\"");
  write_file(folder / "b.cuh", "#include \"a.cuh\"");
  EXPECT_THAT(included_texts({.source_name = folder / "k.cu",
                              .source = "#include \"a.cuh\"\n#include \"b.cuh\""}),
              ElementsAre("#include \"b.cuh\"", "#include \"a.cuh\""));
}

TEST(Includes, WhatIsNotThereBelongsToTheCompiler) {
  EXPECT_THAT(
      included_texts({.source_name = "k.cu",
                      .source = "#include <cuda_fp16.h>\n#include\n#include \"\n#define x"}),
      IsEmpty());
}

}  // namespace
}  // namespace tilescope::compile
