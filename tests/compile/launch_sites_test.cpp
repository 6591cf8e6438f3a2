#include "compile/launch_sites.hpp"

#include <gmock/gmock.h>

namespace tilescope::compile {
namespace {

using ::testing::IsEmpty;

std::vector<LaunchSite> launches_in(std::string_view source) {
  HostValues values(source);
  return compile::launches_in(values);
}

/// A number that the source says once.
std::optional<std::int64_t> sure(const std::optional<HostNumber>& number) {
  return number && number->is_sure && !number->is_real ? std::optional(number->integer)
                                                       : std::nullopt;
}

std::optional<Dim3> sure(const std::optional<HostExtents>& extents) {
  return extents && extents->is_sure ? std::optional(extents->extents) : std::nullopt;
}

TEST(LaunchSites, NumbersFollowFromConstants) {
  const auto sites = launches_in(R"(
    #define TILE 16
    #define SQUARE(x) ((x) * (x))
    int main() {
      const int n = 1 << 10;
      size_t size = n * sizeof(float);
      float *d_a, *d_b;
      cudaMalloc((void**)&d_a, size);
      cudaMalloc(&d_b, 2 * TILE * sizeof(unsigned char));
      int blocks = (n + TILE - 1) / TILE;
      add<<<blocks, TILE, TILE * sizeof(double)>>>(d_a, d_b, n, n / 2);
    })");
  ASSERT_EQ(sites.size(), 1U);
  EXPECT_EQ(sites[0].kernel, "add");
  EXPECT_EQ(sure(sites[0].grid), (Dim3{64, 1, 1}));
  EXPECT_EQ(sure(sites[0].block), (Dim3{16, 1, 1}));
  EXPECT_EQ(sure(sites[0].shared_bytes), 128);
  ASSERT_EQ(sites[0].arguments.size(), 4U);
  EXPECT_EQ(sure(sites[0].arguments[0].bytes), 4096);
  EXPECT_EQ(sure(sites[0].arguments[0].value), std::nullopt);
  EXPECT_EQ(sure(sites[0].arguments[1].bytes), 32);
  EXPECT_EQ(sure(sites[0].arguments[2].value), 1024);
  EXPECT_EQ(sure(sites[0].arguments[2].bytes), std::nullopt);
  EXPECT_EQ(sure(sites[0].arguments[3].value), 512);
}

TEST(LaunchSites, Extents) {
  const auto sites = launches_in(R"(
    dim3 block(16, 8), grid((100 + 15) / 16, 3, 2);
    dim3 other = dim3(5, 6);
    f<<<grid, block>>>();
    f<<<other, dim3(4, 4)>>>();
    f<<<(100 + 31) / 32, std::min(64, 32)>>>();
    f<<<dim3{7}, 1'024u>>>();)");
  ASSERT_EQ(sites.size(), 4U);
  EXPECT_EQ(sure(sites[0].grid), (Dim3{7, 3, 2}));
  EXPECT_EQ(sure(sites[0].block), (Dim3{16, 8, 1}));
  EXPECT_EQ(sure(sites[1].grid), (Dim3{5, 6, 1}));
  EXPECT_EQ(sure(sites[1].block), (Dim3{4, 4, 1}));
  EXPECT_EQ(sure(sites[2].grid), (Dim3{4, 1, 1}));
  EXPECT_EQ(sure(sites[2].block), (Dim3{32, 1, 1}));
  EXPECT_EQ(sure(sites[3].grid), (Dim3{7, 1, 1}));
  EXPECT_EQ(sure(sites[3].block), (Dim3{1024, 1, 1}));
}

TEST(LaunchSites, Templates) {
  const auto sites = launches_in("lib::fill<float, 128><<<1, 2>>>(p); g<h<3>><<<1, 1>>>();");
  ASSERT_EQ(sites.size(), 2U);
  EXPECT_EQ(sites[0].kernel, "fill<float, 128>");
  EXPECT_EQ(sites[1].kernel, "g<h<3>>");
}

TEST(LaunchSites, WhatDoesNotFollowIsLeftOpen) {
  const auto sites = launches_in(R"(
    int a = b, b = a;  // a cycle
    int n = atoi(argv[1]), zero = 0;
    f<<<n, a>>>(n, b, unknown, p.n);
    f<<<zero, -1>>>(n / zero);)");
  ASSERT_EQ(sites.size(), 2U);
  EXPECT_EQ(sure(sites[0].grid), std::nullopt);
  EXPECT_EQ(sure(sites[0].block), std::nullopt);
  ASSERT_EQ(sites[0].arguments.size(), 4U);
  for (const LaunchSite::Argument& argument : sites[0].arguments) {
    EXPECT_EQ(sure(argument.value), std::nullopt);
  }
  EXPECT_EQ(sure(sites[1].grid), std::nullopt);
  EXPECT_EQ(sure(sites[1].block), std::nullopt);
  EXPECT_EQ(sure(sites[1].arguments.at(0).value), std::nullopt);
}

TEST(LaunchSites, AValueThatIsKnownGoesBeforeOneThatIsNot) {
  const auto sites = launches_in("int n = 100; if (argc > 1) n = atoi(argv[1]); f<<<n, n>>>();");
  ASSERT_EQ(sites.size(), 1U);
  ASSERT_TRUE(sites[0].grid);
  EXPECT_EQ(sites[0].grid->extents, (Dim3{100, 1, 1}));
  EXPECT_FALSE(sites[0].grid->is_sure);  // an argument of the program may change it
}

TEST(LaunchSites, ValuesWithoutOneMeaningAreNotSure) {
  for (const char* source :
       {"int n = 1; n = 2; f<<<n, 1>>>();", "int n = 4; n /= 2; f<<<n, 1>>>();",
        "for (int n = 1; n < 9; n++) f<<<n, 1>>>();",
        "int n = 1; scanf(\"%d\", &n); f<<<n, 1>>>();",
        "struct P { int n; }; P p; p.n = 7; f<<<p.n, 1>>>();"}) {
    const auto sites = launches_in(source);
    ASSERT_EQ(sites.size(), 1U) << source;
    EXPECT_EQ(sure(sites[0].grid), std::nullopt) << source;
  }
  const auto same = launches_in("int n = 3; void g() { int n = 3; } f<<<n, 1>>>();");
  EXPECT_EQ(sure(same.at(0).grid), Dim3{3});
}

TEST(LaunchSites, ExtentsInTermsOfOthers) {
  const auto sites = launches_in(R"(
    #define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))
    constexpr int w = 100, h = 60;
    int half(int n) { return n / 2; }
    int main() {
      dim3 block(16, 16), grid;
      grid.x = (w + block.x - 1) / block.x;
      grid.y = ceil(h / (float)block.y);
      f<<<grid, block>>>();
      f<<<CEIL_DIV(w, 32), half(64)>>>();
      f<<<ceil(1000 / 256.0), block.x * block.y>>>();
      dim3 b{8, 8, 2};
      f<<<static_cast<int>(std::ceil(1.5f)), b, b.x * b.z * sizeof(double)>>>();
      f<<<w > 50 ? 3 : 4, w / 32 == 3 && !(h < 1) ? 64 : 1>>>();
    })");
  ASSERT_EQ(sites.size(), 5U);
  EXPECT_EQ(sure(sites[0].grid), (Dim3{7, 4, 1}));
  EXPECT_EQ(sure(sites[0].block), (Dim3{16, 16, 1}));
  EXPECT_EQ(sure(sites[1].grid), Dim3{4});
  EXPECT_EQ(sure(sites[1].block), Dim3{32});
  EXPECT_EQ(sure(sites[2].grid), Dim3{4});
  EXPECT_EQ(sure(sites[2].block), Dim3{256});
  EXPECT_EQ(sure(sites[3].grid), Dim3{2});
  EXPECT_EQ(sure(sites[3].block), (Dim3{8, 8, 2}));
  EXPECT_EQ(sure(sites[3].shared_bytes), 128);
  EXPECT_EQ(sure(sites[4].grid), Dim3{3});
  EXPECT_EQ(sure(sites[4].block), Dim3{64});
}

TEST(LaunchSites, TypesAndTheirSizes) {
  const auto sites = launches_in(R"(
    typedef float real;
    using Index = unsigned long long;
    struct Cell { char kind; double* next; float at[3]; };
    template <typename T> void go() {
      T* d;
      cudaMalloc(&d, 32 * sizeof(T));
      k<T><<<1, 32>>>(d, T(1), NULL);
    }
    int main() {
      go<double>();
      real* r; Cell* c; Index* i;
      cudaMalloc(&r, 10 * sizeof(real));
      cudaMalloc(&c, 10 * sizeof(Cell));
      cudaMalloc(&i, 10 * sizeof(*i));
      cudaMalloc(&s.i, 77);
      g<<<1, 1>>>(r, c, i, (void*)r, 0xdeadbeef, -2.5f);
    })");
  ASSERT_EQ(sites.size(), 2U);
  EXPECT_EQ(sites[0].kernel, "k<double>");
  EXPECT_EQ(sure(sites[0].arguments[0].bytes), 256);
  ASSERT_TRUE(sites[0].arguments[1].value);
  EXPECT_EQ(sites[0].arguments[1].value->real, 1.0);
  EXPECT_TRUE(sites[0].arguments[2].is_null);
  EXPECT_EQ(sure(sites[1].arguments[0].bytes), 40);
  EXPECT_EQ(sure(sites[1].arguments[1].bytes), 320);
  EXPECT_EQ(sure(sites[1].arguments[2].bytes), 80);
  EXPECT_EQ(sure(sites[1].arguments[3].bytes), 40);
  EXPECT_EQ(sure(sites[1].arguments[4].value), 0xdeadbeef);
  ASSERT_TRUE(sites[1].arguments[5].value);
  EXPECT_EQ(sites[1].arguments[5].value->real, -2.5);
}

TEST(LaunchSites, VariablesOfKernelsAreNotTheHosts) {
  const auto sites = launches_in(R"(
    __global__ void f(float* x) { int n = threadIdx.x; n += 2; x[n] = 1; }
    __device__ int m = 5;
    int main() { int n = 9; f<<<n, 1>>>(x); })");
  ASSERT_EQ(sites.size(), 1U);
  EXPECT_EQ(sure(sites[0].grid), Dim3{9});
}

TEST(LaunchSites, SymbolsThatTheHostCopiesTo) {
  EXPECT_THAT(symbols_copied_to("cudaMemcpyToSymbol(coef, h, 4); cudaMemcpyFromSymbol(a, b, 4);"),
              ::testing::ElementsAre("coef"));
}

TEST(LaunchSites, AnyTextIsTaken) {
  for (const char* text : {"",
                           "<<<",
                           ">><<<",
                           "f<<<",
                           "f<<<1",
                           "f<<<1,1>>>",
                           "f<<<1,1>>>(",
                           "<<<1,1>>>()",
                           "a > <<<1,1>>>(",
                           "f<<<1>>>()",
                           "dim3",
                           "dim3 a(",
                           "cudaMalloc(",
                           "cudaMalloc(&p",
                           "#define",
                           "= =",
                           "sizeof",
                           "struct",
                           "struct s {",
                           "struct s { int",
                           "struct s { int n[",
                           "typedef",
                           "template",
                           "template <",
                           "template <typename T> void f(",
                           "using a =",
                           "#define f(",
                           "{ return",
                           "(){ return 1; }",
                           "n = ((((",
                           "f<<<1, (2",
                           "dim3 a, b(1",
                           "a.x = 1; f<<<a, a.",
                           "f<<<f(1), sizeof(>>>()",
                           "n = n + 1; f<<<n, n>>>(n)",
                           "#define f(x) f(x)\nf<<<f(1), 1>>>()"}) {
    launches_in(text);
  }
  EXPECT_THAT(launches_in("int x = 1 << 2 << 3; cout << a << b;"), IsEmpty());
  std::string names = "int a0 = 1;";  // 2^200 ways to the value
  for (int i = 1; i < 200; ++i) {
    names += "int a" + std::to_string(i) + " = a" + std::to_string(i - 1) + " + a" +
             std::to_string(i - 1) + ";";
  }
  EXPECT_EQ(launches_in(names + "f<<<a199, 1>>>();").size(), 1U);
}

}  // namespace
}  // namespace tilescope::compile
