#include "io/partial_results.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <tilescope/error.hpp>

#include "support/temporary_folder.hpp"

namespace tilescope::io {
namespace {

using testing::error_of;
using testing::read_file;
using testing::TemporaryFolder;
using testing::write_file;

class PartialResultsTest : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  std::string path_ = folder_ / "kept";

  static void keep(PartialResults& results, std::size_t step, std::string_view text) {
    results.keep(step, std::as_bytes(std::span(text)));
  }
  static std::string text_of(const PartialResults::Bytes& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  /// Two steps: "one" and nothing, then "three".
  void write_three() const {
    PartialResults results(path_, "x");
    keep(results, 0, "one");
    keep(results, 0, "");
    keep(results, 1, "three");
  }
};

TEST_F(PartialResultsTest, GoesOnFromWhatIsKept) {
  write_three();
  {
    PartialResults results(path_, "x");
    ASSERT_EQ(results.of_step(0).size(), 2U);
    EXPECT_EQ(text_of(results.of_step(0)[0]), "one");
    EXPECT_EQ(text_of(results.of_step(0)[1]), "");
    ASSERT_EQ(results.of_step(1).size(), 1U);
    EXPECT_EQ(text_of(results.of_step(1)[0]), "three");
    EXPECT_TRUE(results.of_step(2).empty());
    keep(results, 1, "four");
  }
  PartialResults results(path_, "x");
  EXPECT_EQ(text_of(results.of_step(1)[1]), "four");
  results.remove();
  EXPECT_TRUE(folder_.names().empty());
}

TEST_F(PartialResultsTest, AFileWithoutResultsGoes) {
  { const PartialResults results(path_, "x"); }
  EXPECT_TRUE(folder_.names().empty());
  write_file(path_, "tilescope-part");  // a process died while it began
  {
    PartialResults results(path_, "x");
    EXPECT_TRUE(results.of_step(0).empty());
    keep(results, 0, "one");
  }
  EXPECT_EQ(PartialResults(path_, "x").of_step(0).size(), 1U);
}

TEST_F(PartialResultsTest, AResultThatHasTakenItsNameStays) {
  PartialResults results(path_, "x");
  keep(results, 0, "one");
  write_file(folder_ / "counts", "counts");
  std::filesystem::rename(folder_ / "counts", path_);
  results.remove();
  EXPECT_EQ(read_file(path_), "counts");
}

TEST_F(PartialResultsTest, AnUnfinishedLineDoesNotCount) {
  write_three();
  const std::string whole = read_file(path_);
  for (std::size_t size = whole.size(); size > whole.find("0 0 ");) {
    write_file(path_, whole.substr(0, --size));
    const PartialResults results(path_, "x");
    EXPECT_EQ(results.of_step(1).size(), 0U) << size;
  }
}

TEST_F(PartialResultsTest, ALineThatHasChangedIsDamaged) {
  write_three();
  const std::string whole = read_file(path_);
  for (std::size_t place = whole.find('\n') + 1; place < whole.size() - 1; ++place) {
    std::string changed = whole;
    changed[place] = changed[place] == '1' ? '2' : '1';
    write_file(path_, changed);
    const std::string why = error_of(ErrorKind::bad_input, [&] { PartialResults(path_, "x"); });
    EXPECT_NE(why.find("is damaged in line"), std::string::npos) << why;
    EXPECT_EQ(read_file(path_), changed);
  }
}

TEST_F(PartialResultsTest, LinesAreInOrder) {
  write_three();
  const std::string whole = read_file(path_);
  const std::size_t first = whole.find('\n') + 1, second = whole.find('\n', first) + 1,
                    third = whole.find('\n', second) + 1;
  for (const std::string& wrong :
       {whole.substr(0, first) + whole.substr(second),
        whole.substr(0, second) + whole.substr(first), whole + whole.substr(third), whole + '\n'}) {
    write_file(path_, wrong);
    const std::string why = error_of(ErrorKind::bad_input, [&] { PartialResults(path_, "x"); });
    EXPECT_NE(why.find("is damaged in line"), std::string::npos) << why;
  }
}

TEST_F(PartialResultsTest, AnotherPurposeIsRefused) {
  write_three();
  const std::string whole = read_file(path_);
  const std::string why = error_of(ErrorKind::usage, [&] { PartialResults(path_, "y"); });
  EXPECT_NE(why.find("another computation"), std::string::npos) << why;
  EXPECT_EQ(read_file(path_), whole);
}

TEST_F(PartialResultsTest, AnotherFileIsRefused) {
  for (const char* text :
       {"a letter", "a letter\nof two lines\n", "\n", "tilescope-journal 1 x\n"}) {
    write_file(path_, text);
    const std::string why = error_of(ErrorKind::bad_input, [&] { PartialResults(path_, "x"); });
    EXPECT_NE(why.find("holds no partial results"), std::string::npos) << why;
    EXPECT_EQ(read_file(path_), text);
  }
}

TEST_F(PartialResultsTest, OneProcessAtATime) {
  const PartialResults first(path_, "x");
  const std::string why = error_of(ErrorKind::usage, [&] { PartialResults(path_, "x"); });
  EXPECT_NE(why.find("another process"), std::string::npos) << why;
}

}  // namespace
}  // namespace tilescope::io
