#include "compile/launch_sites.hpp"

#include <gmock/gmock.h>

namespace tilescope::compile {
namespace {

using ::testing::IsEmpty;

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
  EXPECT_EQ(sites[0].grid, (Dim3{64, 1, 1}));
  EXPECT_EQ(sites[0].block, (Dim3{16, 1, 1}));
  EXPECT_EQ(sites[0].shared_bytes, 128);
  ASSERT_EQ(sites[0].arguments.size(), 4U);
  EXPECT_EQ(sites[0].arguments[0].bytes, 4096);
  EXPECT_EQ(sites[0].arguments[0].value, std::nullopt);
  EXPECT_EQ(sites[0].arguments[1].bytes, 32);
  EXPECT_EQ(sites[0].arguments[2].value, 1024);
  EXPECT_EQ(sites[0].arguments[2].bytes, std::nullopt);
  EXPECT_EQ(sites[0].arguments[3].value, 512);
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
  EXPECT_EQ(sites[0].grid, (Dim3{7, 3, 2}));
  EXPECT_EQ(sites[0].block, (Dim3{16, 8, 1}));
  EXPECT_EQ(sites[1].grid, (Dim3{5, 6, 1}));
  EXPECT_EQ(sites[1].block, (Dim3{4, 4, 1}));
  EXPECT_EQ(sites[2].grid, (Dim3{4, 1, 1}));
  EXPECT_EQ(sites[2].block, (Dim3{32, 1, 1}));
  EXPECT_EQ(sites[3].grid, (Dim3{7, 1, 1}));
  EXPECT_EQ(sites[3].block, (Dim3{1024, 1, 1}));
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
    f<<<n, a>>>(n, b, unknown, 1.5f);
    f<<<zero, -1>>>(n / zero);)");
  ASSERT_EQ(sites.size(), 2U);
  EXPECT_EQ(sites[0].grid, std::nullopt);
  EXPECT_EQ(sites[0].block, std::nullopt);
  ASSERT_EQ(sites[0].arguments.size(), 4U);
  for (const LaunchSite::Argument& argument : sites[0].arguments) {
    EXPECT_EQ(argument.value, std::nullopt);
  }
  EXPECT_EQ(sites[1].grid, std::nullopt);
  EXPECT_EQ(sites[1].block, std::nullopt);
  EXPECT_EQ(sites[1].arguments.at(0).value, std::nullopt);
}

TEST(LaunchSites, AValueThatIsKnownGoesBeforeOneThatIsNot) {
  const auto sites = launches_in("int n = 100; if (argc > 1) n = atoi(argv[1]); f<<<n, n>>>();");
  ASSERT_EQ(sites.size(), 1U);
  EXPECT_EQ(sites[0].grid, (Dim3{100, 1, 1}));
}

TEST(LaunchSites, AnyTextIsTaken) {
  for (const char* text : {"", "<<<", ">><<<", "f<<<", "f<<<1", "f<<<1,1>>>", "f<<<1,1>>>(",
                           "<<<1,1>>>()", "a > <<<1,1>>>(", "f<<<1>>>()", "dim3", "dim3 a(",
                           "cudaMalloc(", "cudaMalloc(&p", "#define", "= =", "sizeof"}) {
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
