#include "compile/kernel_list.hpp"

#include <gmock/gmock.h>

namespace tilescope::compile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(KernelList, NamesAndParameters) {
  const auto kernels = kernels_in(R"(
    __global__ void scale(float* x, const float a, int n) { x[0] = a * n; }
    extern "C" __global__ void __launch_bounds__(256, 2) add(const float* __restrict__ a, float4 b);
    __global__ __launch_bounds__(32) void none() {}
    __global__ void old(void) {})");
  ASSERT_EQ(kernels.size(), 4U);
  EXPECT_EQ(kernels[0].name, "scale");
  EXPECT_THAT(kernels[0].parameters, ElementsAre("x", "a", "n"));
  EXPECT_FALSE(kernels[0].is_template);
  EXPECT_EQ(kernels[1].name, "add");
  EXPECT_THAT(kernels[1].parameters, ElementsAre("a", "b"));
  EXPECT_EQ(kernels[2].name, "none");
  EXPECT_THAT(kernels[2].parameters, IsEmpty());
  EXPECT_THAT(kernels[3].parameters, IsEmpty());
}

TEST(KernelList, PlausibleInstances) {
  const auto instance = [](const std::string& parameters) {
    const auto kernels = kernels_in("template " + parameters + " __global__ void k() {}");
    return kernels.at(0).plausible_instance;
  };
  EXPECT_EQ(instance("<typename T>"), "<float>");
  EXPECT_EQ(instance("<class T, int N, bool B>"), "<float, 16, true>");
  EXPECT_EQ(instance("<int N, typename T = pair<int, float>>"), "<16>");
  EXPECT_EQ(instance("<typename T = int>"), "<>");
  EXPECT_EQ(instance("< = >"), "<>");
  EXPECT_EQ(kernels_in("__global__ void k() {}").at(0).plausible_instance, "");
}

TEST(KernelList, TemplatesAndNamespaces) {
  const auto kernels = kernels_in(R"(
    using namespace std;
    namespace lib { namespace inner {
      template <typename T, int N = 4> __global__ void f(T* x, pair<int, T> y, T z = T(1, 2)) {}
    } 
      struct S { int a; };
      __global__ void g(int (*rows)[4], float unnamed[3], int) {}
    }
    namespace a::b { template <int N> int helper() { return N; } __global__ void h(S s); }
    __global__ void h2();)");
  ASSERT_EQ(kernels.size(), 4U);
  EXPECT_EQ(kernels[0].name, "lib::inner::f");
  EXPECT_TRUE(kernels[0].is_template);
  EXPECT_THAT(kernels[0].parameters, ElementsAre("x", "y", "z"));
  EXPECT_EQ(kernels[1].name, "lib::g");
  EXPECT_FALSE(kernels[1].is_template);
  EXPECT_THAT(kernels[1].parameters, ElementsAre("rows", "unnamed", ""));
  EXPECT_EQ(kernels[2].name, "a::b::h");
  EXPECT_FALSE(kernels[2].is_template);
  EXPECT_EQ(kernels[3].name, "h2");
}

TEST(KernelList, CommentsStringsAndMacrosArePassedOver) {
  const auto kernels = kernels_in(R"x(
    // __global__ void a() {}
    /* __global__ void b() {} */
    #define K __global__ \
      void c() {}
    const char* text = "__global__ void d() { \" ";
    int big = 1'000'000; char quote = '"';
    __global__ void e(int n) {}
    __global__ void e(int n);)x");
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0].name, "e");
}

TEST(KernelList, AnyTextIsTaken) {
  for (const char* text : {"", "__global__", "__global__ void f(", "__global__ ;", "}}}}", "/*",
                           "\"", "#", "\\", "#\\", "namespace", "__global__ (", "'\\"}) {
    EXPECT_LE(kernels_in(text).size(), 1U) << text;
  }
}

TEST(KernelList, FoundByPlainQualifiedAndInstantiatedName) {
  const auto kernels = kernels_in("namespace l { template <int N> __global__ void f(); }");
  ASSERT_NE(find_kernel(kernels, "f<16>"), nullptr);
  EXPECT_EQ(find_kernel(kernels, "l::f<16>"), find_kernel(kernels, "f"));
  EXPECT_EQ(find_kernel(kernels, "ff"), nullptr);
  EXPECT_EQ(find_kernel(kernels, ""), nullptr);
}

}  // namespace
}  // namespace tilescope::compile
