// Host code cut out of .cu files.
#include "compile/host_code.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace tilescope::compile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

DeviceCode cut(std::string_view text) {
  std::set<std::string> macros;
  find_device_macros(text, macros);
  DeviceCode code = without_host_code(text, macros);
  EXPECT_EQ(code.text.size(), text.size());
  EXPECT_EQ(std::count(code.text.begin(), code.text.end(), '\n'),
            std::count(text.begin(), text.end(), '\n'));
  return code;
}

TEST(HostCode, MainAndItsHelpersGo) {
  const DeviceCode code = cut(R"(
__global__ void k(int* y) { y[0] = 1; }
static void check(int x) { if (x) { exit(1); } }
int main(int argc, char** argv) {
  k<<<1, 2>>>(nullptr);
  printf("} %c", '}');  // }
}
)");
  EXPECT_THAT(code.left_out, ElementsAre("check", "main"));
  EXPECT_THAT(code.text, HasSubstr("__global__ void k(int* y) { y[0] = 1; }"));
  EXPECT_THAT(code.text, Not(HasSubstr("<<<")));
  EXPECT_THAT(code.text, Not(HasSubstr("exit")));
}

TEST(HostCode, DeviceCodeAloneIsLeftAsItIs) {
  const std::string_view text = R"(
template <int T, typename V> __global__ void __launch_bounds__(256, 2) k(V* y) { y[0] = T; }
__device__ __forceinline__ int twice(int x) { return 2 * x; }
extern "C" __global__ void plain(float* x);
namespace a::b { __device__ int counter; __constant__ float table[4] = {1, 2, 3, 4}; }
struct Pair { float x, y; };
enum class Mode : int { fast, slow };
const int N = 4;
constexpr float half = 0.5f;
using Real = float;
typedef struct { int a, b; } Two;
)";
  const DeviceCode code = cut(text);
  EXPECT_FALSE(code.cut_anything);
  EXPECT_FALSE(code.unannotated);
  EXPECT_EQ(code.text, text);
}

TEST(HostCode, BothSidesAndMacrosForThemStay) {
  const DeviceCode code = cut(R"(
#define HD __host__ __device__
#define INLINE_HD HD inline
INLINE_HD float square(float x) { return x * x; }
struct V { float x; HD V(float a) : x(a) {} void show() { puts("v"); } };
HD bool operator<(const V& a, const V& b) { return a.x < b.x; }
bool operator>(const V& a, const V& b) { return b < a; }
)");
  EXPECT_THAT(code.text, HasSubstr("square(float x) { return x * x; }"));
  EXPECT_THAT(code.text, HasSubstr("HD V(float a) : x(a) {}"));
  EXPECT_THAT(code.text, HasSubstr("operator<("));
  EXPECT_THAT(code.text, Not(HasSubstr("operator>(")));
  EXPECT_THAT(code.text, Not(HasSubstr("puts")));
}

TEST(HostCode, VariablesOfTheHost) {
  const DeviceCode code = cut(R"(
float *h_a, *h_b;
int counts[] = {1, 2, 3};
dim3 block(16, 16);
std::vector<float> data(100);
const std::string name = "x";
static const int N = 16;
__device__ int flag;
)");
  for (const char* gone : {"h_a", "counts", "dim3", "data", "name"}) {
    EXPECT_THAT(code.text, Not(HasSubstr(gone)));
  }
  EXPECT_THAT(code.text, HasSubstr("static const int N = 16;"));
  EXPECT_THAT(code.text, HasSubstr("__device__ int flag;"));
}

TEST(HostCode, ClassesThatHoldThingsOfTheHost) {
  const DeviceCode code = cut(R"(
class Matrix { public: Matrix(int n) : n_{n}, data_(n) {} private: int n_; std::vector<float> data_; };
struct Timer { cudaEvent_t start; Timer() { cudaEventCreate(&start); } float stop(); };
struct Kept { int a; };
)");
  EXPECT_THAT(code.text, Not(HasSubstr("Matrix")));
  EXPECT_THAT(code.text, Not(HasSubstr("cudaEventCreate")));
  EXPECT_THAT(code.text, HasSubstr("cudaEvent_t start;"));
  EXPECT_THAT(code.text, HasSubstr("struct Kept { int a; };"));
}

TEST(HostCode, ConstexprFunctionsStay) {
  const DeviceCode code = cut("constexpr int square(int x) { return x * x; }\n");
  EXPECT_FALSE(code.cut_anything);
  EXPECT_TRUE(code.unannotated);
}

TEST(HostCode, BracketsThatDoNotMatchAreTheCompilersBusiness) {
  const std::string_view text = "int main() { if (1) {\n__global__ void k() {}\n";
  EXPECT_EQ(cut(text).text, text);
  EXPECT_THAT(cut("}}}").left_out, IsEmpty());
  EXPECT_THAT(cut("").left_out, IsEmpty());
  EXPECT_THAT(cut("int main(").left_out, IsEmpty());
  EXPECT_THAT(cut("template <").left_out, IsEmpty());
}

TEST(HostCode, DeepNestingAndOddTextEndSoon) {
  std::string deep;
  for (int i = 0; i < 20'000; ++i) deep += i % 2 == 0 ? "struct A {\n" : "namespace b {\n";
  for (int i = 0; i < 20'000; ++i) deep += "}\n";
  cut(deep);
  std::uint32_t state = 1;
  const std::string_view pieces[] = {
      "{",       "}",  "(", ")",          ";",        ":",         "=",
      "struct ", "A ", "<", ">",          "operator", "template<", "__device__ ",
      "int ",    "::", ",", "namespace ", "\n",       "\"",        "extern \"C\" ",
      "enum ",   "[",  "]"};
  for (int round = 0; round < 2'000; ++round) {
    std::string text;
    for (int i = 0; i < 60; ++i) {
      state = state * 1'664'525 + 1'013'904'223;
      text += pieces[(state >> 16) % std::size(pieces)];
    }
    cut(text);
  }
}

TEST(HostCode, DirectivesStay) {
  const DeviceCode code =
      cut("#define TILE 16\nint main() {\n#ifdef X\n  a();\n#else\n  b();\n#endif\n}\n"
          "__global__ void k() {}\n");
  EXPECT_THAT(code.text, HasSubstr("#ifdef X\n"));
  EXPECT_THAT(code.text, HasSubstr("#endif\n"));
  EXPECT_THAT(code.text, Not(HasSubstr("b();")));
}

}  // namespace
}  // namespace tilescope::compile
