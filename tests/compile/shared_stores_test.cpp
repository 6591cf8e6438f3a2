// Assignments to shared variables, as the source has them.
#include "compile/shared_stores.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::compile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// "name:line" of each.
std::vector<std::string> stores_in(const std::string& body, const char* name = "k") {
  std::vector<std::string> result;
  for (const SharedStore& store :
       shared_stores("__global__ void __launch_bounds__(64) k(int* x) {\n" + body + "}\n", name)) {
    result.push_back(store.variable + ":" + std::to_string(store.line));
  }
  return result;
}

TEST(SharedStores, AssignmentsByNameAndElement) {
  EXPECT_THAT(stores_in("__shared__ int a[4][4], b; __shared__ float2 c[8];\n"
                        "a[0][x[1]] = 1;\n b += 2;\n c[3].x = 4;\n"),
              ElementsAre("a:3", "b:4", "c:5"));
  EXPECT_THAT(stores_in("extern __shared__ int s[];\n  s[1]++;\n"), ElementsAre("s:3"));
  EXPECT_THAT(stores_in("__shared__ int a;\n a <<= 1;\n", "lib::k<16>"), ElementsAre("a:3"));
}

TEST(SharedStores, ReadsAndComparisonsAreNone) {
  EXPECT_THAT(stores_in("__shared__ int a[4];\n if (a[0] == 1 || a[1] <= 2) x[0] = a[2];\n"),
              IsEmpty());
  EXPECT_THAT(stores_in("__shared__ int a;\n fill(&a);\n"), IsEmpty());
  EXPECT_THAT(stores_in("int a; a = 1;\n"), IsEmpty());
}

TEST(SharedStores, NothingIsGuessed) {
  EXPECT_THAT(stores_in("__shared__ int a;\n#ifdef FAST\n a = 1;\n#endif\n"), IsEmpty());
  EXPECT_THAT(stores_in("__shared__ int a;\n a = 1;\n", "other"), IsEmpty());
  for (const char* text : {"__global__ void k(", "__global__ void k() { __shared__ int a; a",
                           "__global__ void k() { __shared__", "__global__"}) {
    EXPECT_THAT(shared_stores(text, "k"), IsEmpty()) << text;
  }
}

}  // namespace
}  // namespace tilescope::compile
