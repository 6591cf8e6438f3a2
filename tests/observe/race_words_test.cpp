// The quick ways of the race checker through plain loads and stores of words do to each cell what
// the thorough one does, and report the same races.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "kernel_run.hpp"
#include "observe/check/access_roles.hpp"
#include "observe/check/race_checker.hpp"

namespace tilescope::observe {
namespace {

using emulator::Access;
using emulator::AccessKind;
using emulator::LaneMask;

constexpr std::uint32_t kWarps = 4, kSharedBytes = 1024;

/// A checker with all that it works on.
struct Side {
  Side(const StoreValues& values, const std::vector<AccessRole>& roles)
      : checker(order, values, roles) {
    shadow.resize(kSharedBytes);
    order.begin_block();
    checker.begin_block(0);
  }
  /// Null: nothing was accessed there.
  const ShadowPage* page(emulator::Space space, std::uint64_t address) const {
    if (space == emulator::Space::shared) return shadow.find(address);
    for (const ShadowPage* page : global.pages()) {
      if (page->base == address) return page;
    }
    return nullptr;
  }
  BlockOrder order{kWarps};
  SharedShadow shadow;
  GlobalShadow global;
  RaceChecker checker;
};

/// The record of an access, unless a barrier of the whole block makes it meaningless.
Event live(const Event& event, const BlockOrder& order) {
  return event.time >= order.epoch() ? event : Event{};
}

void expect_same(const Side& a, const Side& b, emulator::Space space) {
  for (std::uint32_t at = 0; at < kSharedBytes; at += ShadowPage::kBytes) {
    const ShadowPage *x = a.page(space, at), *y = b.page(space, at);
    ASSERT_EQ(x == nullptr, y == nullptr);
    if (x == nullptr) continue;
    ASSERT_EQ(x->by_bytes, y->by_bytes);
    const std::uint32_t cells = x->by_bytes ? ShadowPage::kBytes : ShadowPage::kBytes / 4;
    for (std::uint32_t c = 0; c < cells; ++c) {
      const auto same = [&](const Event& one, const Event& other) {
        const Event i = live(one, a.order), j = live(other, b.order);
        return i.time == j.time && i.tag.bits == j.tag.bits;
      };
      const Cell p = x->cell(c), q = y->cell(c);
      EXPECT_TRUE(same(p.write, q.write) && same(p.atomic, q.atomic) &&
                  same(p.reader[0], q.reader[0]) && same(p.reader[1], q.reader[1]))
          << at << ", cell " << c;
    }
  }
  const auto &p = a.checker.log().races(), &q = b.checker.log().races();
  ASSERT_EQ(p.size(), q.size());
  for (auto i = p.begin(), j = q.begin(); i != p.end(); ++i, ++j) {
    EXPECT_TRUE(i->first == j->first);
    EXPECT_EQ(i->second.count, j->second.count);
    EXPECT_EQ(i->second.address, j->second.address);
    EXPECT_EQ(i->second.later.bits, j->second.later.bits);
  }
}

/// Random accesses and syncs, as an observer: the checker needs a program.
class Comparison final : public emulator::Observer {
 public:
  explicit Comparison(emulator::Space space) : space_(space) {}
  std::uint32_t events() const override { return emulator::kNoEvents; }
  std::unique_ptr<emulator::BlockObserver> make_block_observer() override { return nullptr; }
  void begin_launch(const emulator::LaunchInfo& launch) override {
    const StoreValues values(launch.program);
    const std::vector<AccessRole> roles = access_roles(launch.program);
    instructions_ = static_cast<std::uint32_t>(launch.program.instructions().size());
    for (std::uint32_t seed = 1; seed <= 60; ++seed) {
      random_.seed(seed);
      Side quick(values, roles), thorough(values, roles);
      logged_.clear();
      regular_ = seed % 2 == 0;
      for (int step = 0; step < 60; ++step) {
        sync(quick, thorough);
        for (int i = 0; i < 6; ++i) access(quick, thorough);
        // Cells are looked at in some steps only, so that reads stay in the log in the others.
        if (space_ == emulator::Space::shared && step % 4 != 3) continue;
        for (const ShadowPage* page : quick.global.pages()) rows += page->by_rows ? 1 : 0;
        quick.checker.settle(quick.shadow);
        expect_same(quick, thorough, space_);
        if (::testing::Test::HasFailure()) {
          ADD_FAILURE() << "seed " << seed << ", step " << step;
          return;
        }
      }
      races += quick.checker.log().races().size();
    }
  }
  std::size_t races = 0;
  std::size_t rows = 0;  ///< pages of global memory that needed no records of cells

 private:
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

  /// A synchronisation that orders nothing, but is no simple order, keeps the second checker from
  /// the quick way.
  void sync(Side& quick, Side& thorough) {
    constexpr LaneMask kAll = ~LaneMask{0};
    const std::uint32_t what = below(4);
    const std::uint32_t warp = below(kWarps);
    const bool ends_epoch = below(3) == 0;
    for (Side* side : {&quick, &thorough}) {
      if (what == 0 && ends_epoch) {
        side->order.begin_block();
        side->global.clear();
      }
      if (what == 1) side->order.warp_sync(warp, kAll, kAll);
      if (what == 2) side->order.warp_sync(warp, below_pairs_, kAll);
    }
    below_pairs_ = static_cast<LaneMask>(random_());
    for (std::uint32_t w = 0; w < kWarps; ++w) {
      quick.order.advance();
      thorough.order.warp_sync(w, 0, kAll);
    }
  }

  void access(Side& quick, Side& thorough) {
    std::uint64_t addresses[emulator::kWarpSize] = {};
    const bool store = below(3) == 0;
    const bool bytes = below(25) == 0;
    const auto size = static_cast<std::uint16_t>(bytes ? 1 + below(2) : below(4) == 0 ? 16 : 4);
    const std::uint32_t start = below(8) * 32, stride = below(3);
    const std::uint32_t form = regular_ ? below(2) : below(4);
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      const std::uint32_t index = form == 0   ? lane * stride
                                  : form == 1 ? lane / 8
                                  : form == 2 ? 31 - lane
                                              : below(32);
      addresses[lane] = (start + index * size) % (kSharedBytes - 16) / size * size;
    }
    Access a{};
    a.instruction = below(instructions_);
    a.warp = below(kWarps);
    a.mask = !regular_ && below(3) == 0 ? static_cast<LaneMask>(random_()) | 1 : ~LaneMask{0};
    a.bytes = size;
    a.space = space_;
    a.kind = store ? AccessKind::store : AccessKind::load;
    a.addresses = addresses;
    // The log refers to the cells of reads.
    LaneCells& cells = *logged_.emplace_back(std::make_unique<LaneCells>());
    cells.learn(a);
    for (Side* side : {&quick, &thorough}) {
      if (space_ == emulator::Space::global) {
        side->checker.access(a, cells, side->global);
        continue;
      }
      const bool logged = side == &quick && !store && cells.unit == 4 &&
                          side->order.is_simple(a.warp) &&
                          side->checker.may_log(cells.runs, base_address(a), side->shadow);
      if (logged) {
        side->checker.log_read(a.instruction, a.warp, cells, base_address(a), side->shadow);
      } else {
        side->checker.access(a, cells, side->shadow);
      }
    }
  }

  emulator::Space space_;
  bool regular_ = false;  ///< all lanes, mostly in order
  std::vector<std::unique_ptr<LaneCells>> logged_;
  std::mt19937 random_;
  std::uint32_t instructions_ = 0;
  LaneMask below_pairs_ = 0xffff;
};

void compare(Comparison& comparison) {
  testing::KernelRun run(
      ".version 8.0\n.target sm_90\n.address_size 64\n"
      ".visible .entry k() {\n  .reg .b32 %r<3>;\n"
      "  mov.u32 %r0, 1;\n  mov.u32 %r1, 2;\n  add.u32 %r2, %r0, %r1;\n"
      "  add.u32 %r2, %r2, %r1;\n  ret;\n}\n");
  run.launch({{1}, {32}}, {&comparison});
}

TEST(RaceWords, BothWaysDoTheSame) {
  Comparison comparison(emulator::Space::shared);
  compare(comparison);
  EXPECT_GT(comparison.races, 100U);
}

TEST(RaceWords, RowsDoTheSame) {
  Comparison comparison(emulator::Space::global);
  compare(comparison);
  EXPECT_GT(comparison.races, 100U);
  EXPECT_GT(comparison.rows, 1000U);
}

}  // namespace
}  // namespace tilescope::observe
