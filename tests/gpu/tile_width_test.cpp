#include "gpu/tile_width.hpp"

#include "support/gpus.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope::gpu {
namespace {

using testing::h200;
using testing::t4;

// An SM of the given shared memory and threads; other limits do not bind.
DeviceProperties sm(std::size_t shared, int threads, int threads_per_block = 1024) {
  DeviceProperties p = h200();
  p.shared_bytes_per_sm = p.shared_bytes_per_block_optin = shared;
  p.reserved_shared_bytes_per_block = 0;
  p.max_threads_per_sm = threads;
  p.max_threads_per_block = threads_per_block;
  p.max_blocks_per_sm = 64;
  return p;
}

TEST(TileWidth, TilesOfABlock) {
  EXPECT_EQ(tile_shared_bytes(16), 2u * 1024);
  EXPECT_EQ(tile_shared_bytes(32), 8u * 1024);
}

TEST(TileWidth, BlocksThatSharedMemoryAllows) {
  // 48 KB: 24 blocks of width 16 or 6 of width 32.
  EXPECT_EQ(tile_blocks_per_sm(16, sm(48 * 1024, 1 << 20)), 24);
  EXPECT_EQ(tile_blocks_per_sm(32, sm(48 * 1024, 1 << 20)), 6);
  // 16 KB: 8 of width 16, 2 of width 32, ...
  EXPECT_EQ(tile_blocks_per_sm(16, sm(16 * 1024, 1 << 20)), 8);
  EXPECT_EQ(tile_blocks_per_sm(32, sm(16 * 1024, 1 << 20)), 2);
  // ... but 1 where the SM takes 1,536 threads.
  EXPECT_EQ(tile_blocks_per_sm(32, sm(16 * 1024, 1536)), 1);
}

TEST(TileWidth, BlocksThatOtherLimitsAllow) {
  EXPECT_EQ(tile_blocks_per_sm(32, h200()), 2);  // 2,048 threads
  EXPECT_EQ(tile_blocks_per_sm(2, h200()), 32);  // 32 blocks
  EXPECT_EQ(tile_blocks_per_sm(32, sm(16 * 1024, 768, 512)), 0);
  DeviceProperties reserving = sm(16 * 1024, 1 << 20);
  reserving.reserved_shared_bytes_per_block = 1024;
  EXPECT_EQ(tile_blocks_per_sm(32, reserving), 1);
  DeviceProperties small_blocks = sm(48 * 1024, 1 << 20);
  small_blocks.shared_bytes_per_block_optin = 8191;
  EXPECT_EQ(tile_blocks_per_sm(32, small_blocks), 0);
}

TEST(TileWidth, TheWidestThatKeepsTheSmBusy) {
  EXPECT_EQ(best_tile_width(h200()), 32);
  EXPECT_EQ(best_tile_width(t4()), 32);
  EXPECT_EQ(best_tile_width(sm(16 * 1024, 768, 512)), 16);  // 32 x 32 threads are too many
  // Width 32 fits once: 1,024 of 3,072 threads. Width 16 fits seven times: 1,792.
  EXPECT_EQ(best_tile_width(sm(16000, 3072)), 16);
  // Nothing keeps half of the threads resident: then the widest that fits.
  EXPECT_EQ(best_tile_width(sm(8192, 1 << 20)), 32);
  EXPECT_EQ(best_tile_width(sm(8191, 1 << 20)), 16);
}

TEST(TileWidth, NoRoomAtAllIsAnError) {
  EXPECT_EQ(testing::error_of(ErrorKind::usage, [] { best_tile_width(sm(31, 2048)); }),
            "NVIDIA H200 has no room for even a 2 x 2 tile kernel");
}

}  // namespace
}  // namespace tilescope::gpu
