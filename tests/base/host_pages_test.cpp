#include "base/host_pages.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <memory>

namespace tilescope {
namespace {

std::uint64_t address_of(const void* p) {
  return reinterpret_cast<std::uint64_t>(p);
}

TEST(HostPages, AreZeroAndBetweenPagesThatNobodyMayTouch) {
  constexpr std::size_t bytes = 5000, page = 4096;
  auto* const pages = static_cast<unsigned char*>(allocate_pages(bytes));
  ASSERT_NE(pages, nullptr);
  EXPECT_EQ(address_of(pages) % page, 0u);
  for (std::size_t i = 0; i < 2 * page; ++i) ASSERT_EQ(pages[i], 0);
  std::memset(pages, 1, 2 * page);
  EXPECT_TRUE(is_readable(address_of(pages)));
  EXPECT_FALSE(is_readable(address_of(pages) - 1));
  EXPECT_FALSE(is_readable(address_of(pages) + 2 * page));
  free_pages(pages, bytes);
  EXPECT_FALSE(is_readable(address_of(pages)));
}

TEST(HostPages, NoBytesAreOnePageAndTooManyAreNone) {
  void* const pages = allocate_pages(0);
  ASSERT_NE(pages, nullptr);
  free_pages(pages, 0);
  free_pages(nullptr, 0);
  EXPECT_EQ(allocate_pages(~std::size_t{0}), nullptr);
  EXPECT_EQ(allocate_pages(std::size_t{1} << 60), nullptr);
}

TEST(HostPages, LargeOnesAreZeroAndBeginAtTwoMebibytes) {
  constexpr std::size_t large = std::size_t{2} << 20, bytes = 2 * large + 5000;
  auto* const pages = static_cast<unsigned char*>(allocate_large_pages(bytes));
  ASSERT_NE(pages, nullptr);
  EXPECT_EQ(address_of(pages) % large, 0u);
  for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(pages[i], 0);
  std::memset(pages, 1, bytes);
  free_large_pages(pages, bytes);
  EXPECT_FALSE(is_readable(address_of(pages)));
  EXPECT_FALSE(is_readable(address_of(pages) + bytes - 1));
  free_large_pages(nullptr, 0);
  EXPECT_EQ(allocate_large_pages(~std::size_t{0}), nullptr);
  EXPECT_EQ(allocate_large_pages(std::size_t{1} << 60), nullptr);
}

TEST(HostPages, TellMemoryOfThisProcessFromOtherAddresses) {
  const int local = 0;
  static const int fixed = 1;
  const auto heap = std::make_unique<char[]>(1);
  EXPECT_TRUE(is_readable(address_of(&local)));
  EXPECT_TRUE(is_readable(address_of(&fixed)));
  EXPECT_TRUE(is_readable(address_of(heap.get())));
  for (const std::uint64_t address :
       {std::uint64_t{0}, std::uint64_t{8}, std::uint64_t{0x7000'0000'0000}, ~std::uint64_t{0}}) {
    EXPECT_FALSE(is_readable(address)) << address;
  }
}

}  // namespace
}  // namespace tilescope
