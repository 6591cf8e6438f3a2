// The records of which blocks touched which cells of global memory.
#include "observe/check/grid_summary.hpp"

#include <gtest/gtest.h>

#include "kernel_run.hpp"

namespace tilescope::observe {
namespace {

TEST(GridSummaryMemory, PagesOfBytesCountForTheLimit) {
  testing::KernelRun run(
      ".version 8.6\n.target sm_90\n.address_size 64\n"
      ".visible .entry k(.param .u64 x) { .reg .b64 %rd; ld.param.u64 %rd, [x];\n"
      "st.global.u32 [%rd], 1; ret; }\n");
  const auto program = run.module().program("k");
  const std::uint64_t x = run.uninitialised("x", 2 * ShadowPage::kBytes);
  // Block 0 writes words on two pages, block 1 bytes: a record takes 16 bytes, so 2 KiB become 8.
  const auto touched = [&](GridSummary& summary) {
    for (const std::uint64_t block : {0, 1}) {
      GlobalShadow shadow;
      for (const std::uint64_t at : {x, x + ShadowPage::kBytes}) {
        ShadowPage* page = shadow.page(at);
        page->use_cells();
        if (block == 1) page->split();
        page->cells.set(0, {{1, AccessTag::of(1, 0, 0, Strength::plain)}, {}, {}});
        page->touch(0, 4);
      }
      summary.add(block, shadow, {}, 1);
    }
    return summary.overflowed();
  };
  const std::vector<AccessRole> roles = access_roles(*program);
  const std::uint64_t pages = 2 * GridSummary::page_bytes();
  GridSummary roomy(run.machine().memory(), *program, roles, 8192 + pages);
  EXPECT_FALSE(touched(roomy));
  GridSummary tight(run.machine().memory(), *program, roles, 8191 + pages);
  EXPECT_TRUE(touched(tight));
}

}  // namespace
}  // namespace tilescope::observe
