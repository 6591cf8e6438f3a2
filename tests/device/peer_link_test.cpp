// Copies between the memories of emulated GPUs, which other GPUs reach only if that was asked for.
#include "device/peer_link.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <numeric>

#include "support/temporary_folder.hpp"

namespace tilescope::device {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

class Links : public ::testing::Test {
 protected:
  static constexpr std::size_t rows = 3, row = 8;

  /// Copies bytes 0, 1, 2 ... from memory of a kind over a link for a kind.
  void copy(Reach memory, Reach link) {
    std::vector<std::uint8_t> sent(rows * row), arrived(sent.size());
    std::iota(sent.begin(), sent.end(), std::uint8_t{0});
    const Buffer from = from_->allocate(sent.size(), "the shard", memory),
                 to = to_->allocate(sent.size(), "the panel", Reach::own);
    from_->copy_to_device(from.address(), sent.data(), sent.size());
    PeerLink(from_, to_, link).copy_rows(to.address(), row, from.address(), row, row, rows, {});
    to_->copy_to_host(arrived.data(), to.address(), arrived.size());
    EXPECT_EQ(arrived, sent);
  }

  std::shared_ptr<Device> from_ = Device::open("emulated"), to_ = Device::open("emulated");
};

TEST_F(Links, CopyTheMemoryThatTheyAreFor) {
  const std::size_t before = from_->memory_use().free_bytes;
  copy(Reach::any, Reach::any);
  copy(Reach::linked, Reach::linked);
  EXPECT_EQ(from_->memory_use().free_bytes, before);
}

TEST_F(Links, RefuseOtherMemory) {
  const std::size_t before = from_->memory_use().free_bytes;
  for (const auto& [memory, link, kinds] :
       {std::tuple{Reach::own, Reach::linked, "Reach::own, as if for Reach::linked"},
        {Reach::own, Reach::any, "Reach::own, as if for Reach::any"},
        {Reach::any, Reach::linked, "Reach::any, as if for Reach::linked"},
        {Reach::linked, Reach::any, "Reach::linked, as if for Reach::any"}}) {
    EXPECT_THAT(error_of(ErrorKind::usage, [&] { copy(memory, link); }),
                HasSubstr(fmt::format("another device copies the shard of {}, which was allocated "
                                      "for {}",
                                      from_->id(), kinds)));
  }
  EXPECT_EQ(from_->memory_use().free_bytes, before);
}

TEST_F(Links, ADeviceCopiesItsOwnMemory) {
  to_ = from_;
  copy(Reach::own, Reach::linked);
}

}  // namespace
}  // namespace tilescope::device
