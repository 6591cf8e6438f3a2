#include "io/resumable_npy.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <tilescope/error.hpp>

#include "support/temporary_folder.hpp"

namespace tilescope::io {
namespace {

using testing::error_of;
using testing::read_file;
using testing::TemporaryFolder;
using testing::write_file;

class ResumableNpyTest : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  std::string path_ = folder_ / "c.npy";
  NpyHeader header_ = npy_matrix_header(DataType::float32, 2, 3);

  static float* values(ResumableNpy& file) {
    return static_cast<float*>(file.matrix().mutable_data());
  }
};

TEST_F(ResumableNpyTest, AppearsOnlyWhenComplete) {
  {
    ResumableNpy file(path_, header_, "x", 2);
    values(file)[0] = 7.0F;
    file.mark_done(0);
    EXPECT_THROW(file.commit(), Error);
    EXPECT_FALSE(std::filesystem::exists(path_));
    file.mark_done(1);
    file.commit();
  }
  const NpyFile read(path_);
  EXPECT_EQ(read.header(), header_);
  EXPECT_EQ(reinterpret_cast<const float*>(read.data().data())[0], 7.0F);
  EXPECT_EQ(folder_.names().size(), 1U) << "journal or partial file left behind";
}

TEST_F(ResumableNpyTest, GoesOnFromFlushedTiles) {
  {
    ResumableNpy file(path_, header_, "x", 3);
    values(file)[4] = 9.0F;
    file.mark_done(1);
    file.flush();
    file.mark_done(2);  // never flushed: as if killed
  }
  ResumableNpy file(path_, header_, "x", 3);
  EXPECT_FALSE(file.is_done(0));
  EXPECT_TRUE(file.is_done(1));
  EXPECT_FALSE(file.is_done(2));
  EXPECT_EQ(values(file)[4], 9.0F);
}

TEST_F(ResumableNpyTest, UnfinishedLineDoesNotCount) {
  { ResumableNpy(path_, header_, "x", 30).flush(); }
  const std::string journal = folder_ / ".c.npy.journal";
  std::string text = read_file(journal);
  text += "4\n2";  // was to become 23
  write_file(journal, text);
  ResumableNpy file(path_, header_, "x", 30);
  EXPECT_TRUE(file.is_done(4));
  EXPECT_FALSE(file.is_done(2));
  EXPECT_EQ(file.done_count(), 1);
}

TEST_F(ResumableNpyTest, AnotherPurposeIsRefused) {
  { ResumableNpy(path_, header_, "x", 3).flush(); }
  const std::string what =
      error_of(ErrorKind::usage, [&] { ResumableNpy(path_, header_, "y", 3); });
  EXPECT_NE(what.find("another product"), std::string::npos) << what;
}

TEST_F(ResumableNpyTest, ALineThatIsNoTileIsDamage) {
  { ResumableNpy(path_, header_, "x", 3).flush(); }
  const std::string journal = folder_ / ".c.npy.journal", text = read_file(journal);
  for (const char* line : {"3", "1x", "", "-1", "one"}) {
    write_file(journal, text + "0\n" + line + "\n");
    const std::string why =
        error_of(ErrorKind::bad_input, [&] { ResumableNpy(path_, header_, "x", 3); });
    EXPECT_NE(why.find("is damaged in line 3"), std::string::npos) << why;
  }
}

TEST_F(ResumableNpyTest, OneProcessAtATime) {
  ResumableNpy first(path_, header_, "x", 3);
  const std::string what =
      error_of(ErrorKind::usage, [&] { ResumableNpy(path_, header_, "x", 3); });
  EXPECT_NE(what.find("another process"), std::string::npos) << what;
}

TEST_F(ResumableNpyTest, TilesWhosePartialFileIsGoneAreComputedAgain) {
  {
    ResumableNpy file(path_, header_, "x", 3);
    file.mark_done(1);
    file.flush();
  }
  const std::string partial = folder_ / ".c.npy.partial";
  std::filesystem::resize_file(partial, 10);
  {
    ResumableNpy file(path_, header_, "x", 3);
    EXPECT_EQ(file.done_count(), 0) << "cut short";
    file.mark_done(2);
    file.flush();
  }
  std::filesystem::remove(partial);
  ResumableNpy file(path_, header_, "x", 3);
  EXPECT_EQ(file.done_count(), 0) << "removed";
  EXPECT_EQ(read_file(folder_ / ".c.npy.journal").find('2'), std::string::npos);
}

/// While it lives, files of this process may have at most `bytes`.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
};

TEST_F(ResumableNpyTest, AJournalThatIsCutShortNamesTheReasonAndIsWrittenLater) {
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  {
    ResumableNpy file(path_, header_, "x", 100);
    for (int tile = 0; tile < 50; ++tile) file.mark_done(tile);
    {
      const FileSizeLimit limit(40);  // the first line, and a part of what is to follow it
      errno = EXDEV;                  // left by an earlier call that has nothing to do with it
      const std::string text = error_of(ErrorKind::bad_input, [&] { file.flush(); });
      EXPECT_NE(text.find("ulimit -f"), std::string::npos) << text;
      EXPECT_EQ(text.find(std::strerror(EXDEV)), std::string::npos) << text;
    }
    file.flush();
  }
  std::signal(SIGXFSZ, old_handler);
  const ResumableNpy again(path_, header_, "x", 100);
  EXPECT_EQ(again.done_count(), 50);
}

TEST_F(ResumableNpyTest, AnOutputThatCannotBeLeavesNothing) {
  const std::string why =
      error_of(ErrorKind::bad_input, [&] { ResumableNpy(folder_ / "no/c.npy", header_, "x", 3); });
  EXPECT_NE(why.find("create it first"), std::string::npos) << why;
  const NpyHeader endless =
      npy_matrix_header(DataType::float32, std::int64_t{1} << 31U, std::int64_t{1} << 29U);
  error_of(ErrorKind::bad_input, [&] { ResumableNpy(path_, endless, "x", 3); });
  EXPECT_TRUE(folder_.names().empty());
}

TEST_F(ResumableNpyTest, ALinkIsFollowed) {
  std::filesystem::create_symlink("real.npy", path_);
  {
    ResumableNpy file(path_, header_, "x", 1);
    file.mark_done(0);
    file.commit();
  }
  EXPECT_TRUE(std::filesystem::is_symlink(path_));
  EXPECT_EQ(NpyFile(folder_ / "real.npy").header(), header_);
}

}  // namespace
}  // namespace tilescope::io
