#include "report/access_words.hpp"

#include <gmock/gmock.h>

namespace tilescope::report {
namespace {

TEST(WrittenAccess, FindsTheObject) {
  const std::string line = "sum += A[row * k + i] * B[index[i] * n];  // C[0]";
  EXPECT_EQ(written_access(line, "A", false).text, "A[row * k + i]");
  EXPECT_EQ(written_access(line, "B", false).text, "B[index[i] * n]");
  EXPECT_EQ(written_access(line, "index", false).text, "index[i]");
  EXPECT_EQ(written_access(line, "C", false).text, "") << "a comment";
  EXPECT_EQ(written_access("tile[ty][tx + 1] = 0;", "tile", false).text, "tile[ty][tx + 1]");
  EXPECT_FALSE(written_access("tile[ty][tx] = 0.5f;", "tile", false).member);
  EXPECT_TRUE(written_access("p[i].x = 0;", "p", false).member);
}

TEST(WrittenAccess, TakesTheOnlyOneOfAnUnknownPointer) {
  EXPECT_EQ(written_access("x = a[i];", "A", false).text, "a[i]");
  EXPECT_EQ(written_access("x = a[i] + b[i];", "A", false).text, "");
  EXPECT_EQ(written_access("atomicAdd(total, in[i]);", "total", false, {"in", "total"}).text, "");
  EXPECT_EQ(written_access("x = a[i", "a", false).text, "") << "unfinished";
  EXPECT_EQ(written_access("out[i] = tile(x, y);", "tile", false).text, "") << "that is a store";
  EXPECT_EQ(written_access("out[i] = tile(x, y);", "tile", true).text, "out[i]");
  EXPECT_EQ(written_access("if (i <= n && i != m) y += a[i];", "A", false).text, "a[i]");
}

class Carrying : public ::testing::Test {
 protected:
  Carrying() {
    sources_.add("a.cu",
                 "__global__ void k(float* A, int k, int n) {\n"
                 "  const int tx = threadIdx.x, ty = threadIdx.y;\n"
                 "  int row = blockIdx.y * blockDim.y + ty;\n"
                 "  long long at = static_cast<long long>(tx) * n;\n"
                 "  half = tx / 2;\n"
                 "  A[0] = 0;\n"
                 "}\n");
  }
  std::string term(const std::string& access, std::size_t axis) {
    const auto found = carrying_term(access, axis, {"a.cu", 6}, sources_);
    return found ? found->term + " | " + found->factor : "none";
  }
  SourceTexts sources_;
};

TEST_F(Carrying, NamesTermAndFactor) {
  EXPECT_EQ(term("A[row * k + tx]", 0), "tx | 1");
  EXPECT_EQ(term("A[row * k + tx]", 1), "row * k | k");
  EXPECT_EQ(term("A[at]", 0), "at | n");
  EXPECT_EQ(term("A[tx / 2 + ty]", 0), "tx / 2 | ");
}

TEST_F(Carrying, IsSilentWhereItCannotTell) {
  EXPECT_EQ(term("A[row * k]", 0), "none") << "no threadIdx.x in it";
  EXPECT_EQ(term("A[tx + tx * n]", 0), "none") << "two terms";
  EXPECT_EQ(term("A[row][tx]", 0), "none") << "two indices";
  EXPECT_EQ(term("A[x->y]", 0), "none") << "no index expression";
}

}  // namespace
}  // namespace tilescope::report
