// The events that observers receive.
#include <map>

#include "emulator/harness.hpp"

namespace tilescope::emulator::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Writes every event down as a line; blocks in their linear order.
class Recorder : public Observer {
 public:
  explicit Recorder(std::uint32_t events = kAllEvents) : events_(events) {}

  struct Block final : BlockObserver {
    std::string text;
    std::map<std::uint64_t, std::string>* all = nullptr;
    std::map<std::uint64_t, std::string> finished;
    std::uint64_t linear = 0;
    const BlockView* view = nullptr;
    const Program* program = nullptr;

    template <class... T>
    void line(const std::string& event, InstructionId id, const T&... rest) {
      std::ostringstream s;
      s << event << " " << program->instruction(id).source->line;
      ((s << " " << rest), ...);
      text += s.str() + "\n";
    }
    void begin_block(const BlockInfo& info, const BlockView& v) override {
      text.clear();
      linear = info.linear;
      view = &v;
    }
    void end_block(bool complete) override {
      text += complete ? "end\n" : "cut\n";
      finished[linear] = text;
    }
    void access(const Access& a) override {
      const int first = std::countr_zero(a.mask);
      const Place place = view->place(a.space, a.address(first), a.warp, first);
      line("access", a.instruction, to_string(a.space), static_cast<int>(a.kind),
           static_cast<int>(a.shape), a.bytes, std::popcount(a.mask),
           std::string(place.object) + "+" + std::to_string(place.offset));
    }
    void branch(const Branch& b) override {
      line("branch", b.instruction, std::popcount(b.active), std::popcount(b.taken), b.divergent());
    }
    void barrier_arrival(const BarrierArrival& b) override {
      line("arrive", b.instruction, b.warp, std::popcount(b.mask), int{b.barrier}, b.generation);
    }
    void barrier_completion(const BarrierCompletion& b) override {
      line("complete", b.arrivals[0].instruction, int{b.barrier}, b.arrivals.size(),
           std::popcount(b.exited[0]));
    }
    void warp_sync(const WarpSync& w) override {
      line("warp", w.instruction, static_cast<int>(w.operation), std::popcount(w.members),
           std::popcount(w.arrived));
    }
    void fence(const Fence& f) override {
      line("fence", f.instruction, static_cast<int>(f.scope), f.sequential);
    }
    void remote_access(const Access& a, std::uint32_t rank) override {
      line("remote", a.instruction, rank, static_cast<int>(a.kind), std::popcount(a.mask),
           a.address(std::countr_zero(a.mask)));
    }
    void neighbour_access(const Access& a, std::uint32_t rank) override {
      line("neighbour", a.instruction, rank, static_cast<int>(a.kind), std::popcount(a.mask),
           a.address(std::countr_zero(a.mask)));
    }
    void cluster_barrier(const ClusterBarrier& b) override {
      line(b.waited ? "cluster waited" : "cluster arrives", b.instruction, std::popcount(b.mask),
           b.generation);
    }
    void async_group(const AsyncGroup& g) override { line("group", g.instruction, g.pending); }
    void frame_entry(const FrameEntry& f) override {
      text += "frame " + std::to_string(f.function) + " " + std::to_string(f.local_base) + " " +
              std::to_string(f.local_bytes) + "\n";
    }
    void fault(const Fault& f) override {
      line("fault", f.instruction, static_cast<int>(f.kind), std::string(f.object), f.object_bytes,
           f.distance);
    }
    void deadlock(const Deadlock& d) override {
      text += "deadlock " + std::to_string(d.stuck.size()) + "\n";
    }
  };

  std::uint32_t events() const override { return events_; }
  void begin_launch(const LaunchInfo& info) override { program_ = &info.program; }
  std::unique_ptr<BlockObserver> make_block_observer() override {
    auto block = std::make_unique<Block>();
    block->program = program_;
    return block;
  }
  void merge(BlockObserver& observer) override {
    blocks.merge(static_cast<Block&>(observer).finished);
  }
  void end_launch(const LaunchTotals& t) override {
    executed.assign(t.counts.executed.begin(), t.counts.executed.end());
    active.assign(t.counts.active.begin(), t.counts.active.end());
    on.assign(t.counts.on.begin(), t.counts.on.end());
  }

  std::map<std::uint64_t, std::string> blocks;
  std::vector<std::uint64_t> executed, active, on;

 private:
  std::uint32_t events_;
  const Program* program_ = nullptr;
};

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> result;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) result.push_back(line);
  return result;
}

// The kernel's first line is line 5 of the module; one instruction a line.
std::string event_kernel(const std::string& body, const std::string& before = "") {
  return std::string(kHeader) + before +
         ".visible .entry k(.param .u64 out) { .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred "
         "%p<5>;\n" +
         body + "}\n";
}

TEST(Events, BlocksOfAClusterHearOfEachOther) {
  Bench bench(
      event_kernel("mov.u32 %r1, %cluster_ctarank;\n"                // 5
                   "setp.ne.u32 %p1, %r1, 0;\n"                      // 6
                   "mapa.shared::cluster.u32 %r2, cell, 1;\n"        // 7
                   "barrier.cluster.arrive;\n"                       // 8
                   "barrier.cluster.wait;\n"                         // 9
                   "@!%p1 st.shared::cluster.u32 [%r2+4], %r1;\n"    // 10
                   "@%p1 red.shared::cluster.add.u32 [%r2+8], 1;\n"  // 11
                   "barrier.cluster.arrive;\n"                       // 12
                   "barrier.cluster.wait;\n"                         // 13
                   "ret;\n",
                   ".shared .align 4 .b8 cell[16];"));
  Recorder recorder(kSharedAccess | kOrder);
  bench.run("k", {2}, {32}, {.observers = {&recorder}, .cluster = {2}}, std::uint64_t{0});
  EXPECT_THAT(lines(recorder.blocks.at(0)),
              ElementsAre("cluster arrives 8 32 0", "cluster waited 9 32 0", "remote 10 1 1 32 4",
                          "cluster arrives 12 32 1", "cluster waited 13 32 1", "end"));
  EXPECT_THAT(lines(recorder.blocks.at(1)),
              ElementsAre("cluster arrives 8 32 0", "cluster waited 9 32 0",
                          "access 11 shared 3 2 4 32 cell+8", "cluster arrives 12 32 1",
                          "neighbour 10 0 1 32 4", "cluster waited 13 32 1", "end"));
}

TEST(Events, AccessesWithTheirShapeAndPlace) {
  Bench bench(
      event_kernel("ld.param.u64 %rd1, [out];\n"            // 5
                   "mov.u32 %r1, %tid.x;\n"                 // 6
                   "mul.wide.u32 %rd2, %r1, 4;\n"           // 7
                   "add.u64 %rd3, %rd1, %rd2;\n"            // 8
                   "ld.global.u32 %r2, [%rd3+128];\n"       // 9
                   "st.shared.u32 [cell+4], %r2;\n"         // 10
                   "mul.wide.u32 %rd4, %r1, 12;\n"          // 11
                   "add.u64 %rd4, %rd1, %rd4;\n"            // 12
                   "ld.u16 %r3, [%rd4];\n"                  // 13
                   "red.global.add.u32 [%rd1], 1;\n"        // 14
                   "atom.shared.add.u32 %r5, [cell], 1;\n"  // 15
                   "st.global.u32 [%rd3], %r5;\n"           // 16
                   "ld.const.u32 %r6, [table];\n"           // 17
                   "ret;\n",
                   ".shared .align 4 .b8 cell[8]; .const .u32 table[2];"));
  const auto out = bench.machine.allocate(4096, "out");
  Recorder recorder(kAllAccess);
  bench.run("k", {1}, {32}, {.observers = {&recorder}}, out);
  EXPECT_THAT(lines(recorder.blocks.at(0)),
              ElementsAre("access 9 global 0 1 4 32 out+128", "access 10 shared 1 0 4 32 cell+4",
                          "access 13 global 0 2 2 32 out+0", "access 14 global 3 2 4 32 out+0",
                          "access 15 shared 2 2 4 32 cell+0", "access 16 global 1 1 4 32 out+0",
                          "access 17 constant 0 0 4 32 table+0", "end"));
}

TEST(Events, ControlFlowAndCounts) {
  const std::string text = event_kernel(
      "mov.u32 %r1, %tid.x;\n"            // 5
      "setp.lt.u32 %p1, %r1, 8;\n"        // 6
      "@%p1 bra LOW;\n"                   // 7
      "mov.u32 %r2, 1;\n"                 // 8
      "LOW: setp.lt.u32 %p2, %r1, 64;\n"  // 9
      "@%p2 bra END;\n"                   // 10
      "mov.u32 %r2, 2;\n"                 // 11
      "END: @%p1 add.u32 %r2, %r2, 1;\n"  // 12
      "ret;\n");                          // 13
  for (const unsigned threads : {1u, 3u}) {
    Bench bench(text);
    Recorder recorder(kBranches);
    const auto summary =
        bench.run("k", {5}, {48}, {.threads = threads, .observers = {&recorder}}, std::uint64_t{0});
    ASSERT_EQ(recorder.blocks.size(), 5u);
    for (const auto& [block, events] : recorder.blocks) {
      EXPECT_THAT(lines(events), ElementsAre("branch 7 32 8 1", "branch 10 32 32 0",
                                             "branch 7 16 0 0", "branch 10 16 16 0", "end"));
    }
    EXPECT_THAT(recorder.executed, ElementsAre(10, 10, 10, 10, 10, 10, 0, 10, 10));
    EXPECT_THAT(recorder.active, ElementsAre(240, 240, 240, 200, 240, 240, 0, 240, 240));
    EXPECT_THAT(recorder.on, ElementsAre(240, 240, 40, 200, 240, 240, 0, 40, 240));
    EXPECT_EQ(summary.warp_instructions, 80u);
    EXPECT_EQ(summary.thread_instructions, 240u * 7 + 200);
  }
}

TEST(Events, OrderBetweenThreads) {
  Bench bench(
      event_kernel("mov.u32 %r1, %tid.x;\n"                      // 5
                   "setp.ge.u32 %p1, %r1, 40;\n"                 // 6
                   "@%p1 exit;\n"                                // 7
                   "membar.gl;\n"                                // 8
                   "fence.acq_rel.cta;\n"                        // 9
                   "bar.sync 0;\n"                               // 10
                   "activemask.b32 %r3;\n"                       // 11
                   "shfl.sync.bfly.b32 %r2, %r1, 1, 31, %r3;\n"  // 12
                   "bar.warp.sync %r3;\n"                        // 13
                   "cp.async.commit_group;\n"                    // 14
                   "cp.async.wait_group 2;\n"                    // 15
                   "ret;\n"));
  Recorder recorder(kOrder);
  bench.run("k", {1}, {64}, {.observers = {&recorder}}, std::uint64_t{0});
  const auto got = lines(recorder.blocks.at(0));
  EXPECT_THAT(got, ::testing::IsSupersetOf({"fence 8 3 1", "fence 9 1 0", "arrive 10 0 32 0 0",
                                            "arrive 10 1 8 0 0", "complete 10 0 2 0",
                                            "warp 12 1 32 32", "warp 12 1 8 8", "warp 13 0 8 8",
                                            "group 14 -1", "group 15 2"}));
  EXPECT_EQ(std::count(got.begin(), got.end(), "fence 8 3 1"), 2);
}

TEST(Events, FramesFaultsAndDeadlocks) {
  Bench bench(std::string(kHeader) +
              ".func helper() { .local .align 8 .b8 depot[24]; st.local.u32 [depot], 1; ret; }\n"
              ".visible .entry k(.param .u64 out) { .local .align 8 .b8 depot[8]; .reg .b32 %r<9>; "
              ".reg .b64 %rd<9>; .reg .pred %p<5>;\n"
              "ld.param.u64 %rd1, [out]; st.local.u32 [depot], 1; mov.u32 %r1, %tid.x;\n"  // 6
              "call helper;\n"                                                             // 7
              "st.global.u32 [%rd1+100], 1;\n"                                             // 8
              "setp.eq.u32 %p1, %r1, 0;\n"                                                 // 9
              "@%p1 bra END;\n"                                                            // 10
              "bar.sync 0;\n"                                                              // 11
              "END: ret;\n}\n");
  const auto out = bench.machine.allocate(100, "out");
  Recorder recorder(kFrames | kFaults | kLocalAccess);
  const auto summary = bench.run("k", {1}, {4}, {.observers = {&recorder}}, out);
  EXPECT_THAT(lines(recorder.blocks.at(0)),
              ElementsAre("frame 0 0 16", "access 6 local 1 2 4 4 depot+0", "frame 1 16 32",
                          "access 4 local 1 2 4 4 depot+0", "fault 8 0 out 100 4", "end"));
  EXPECT_EQ(summary.deadlocked_blocks, 0u);  // the lane that jumped over the barrier has left
}

TEST(Events, ADeadlockNamesEveryoneStuck) {
  Bench bench(event_kernel(
      "mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 40;\n@%p1 bar.sync 1;\nbar.sync 0;\nret;\n"));
  Recorder recorder(kFaults);
  const auto summary = bench.run("k", {1}, {64}, {.observers = {&recorder}}, std::uint64_t{0});
  EXPECT_EQ(summary.deadlocked_blocks, 1u);
  // Warp 0 and eight lanes of warp 1 wait at barrier 1, the other 24 for those to join them.
  EXPECT_THAT(lines(recorder.blocks.at(0)), ElementsAre("deadlock 3", "cut"));
}

TEST(Events, ABlockThatSpinsKeepsItsOwnObserver) {
  Bench bench(data_file("kernels.ptx"));
  const auto flag = bench.upload(std::vector<int>{0}, "flag"),
             out = bench.upload(std::vector<int>{0, 0}, "out");
  Recorder recorder(kGlobalAccess);
  bench.run("wait_for_flag", {40}, {32}, {.threads = 1, .observers = {&recorder}}, flag, out);
  ASSERT_EQ(recorder.blocks.size(), 40u);
  for (const auto& [block, text] : recorder.blocks) {
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n') > 1, block == 0 || block == 39) << block;
  }
}

TEST(Events, BlocksThatWaitWhenTheLaunchIsStoppedEndToo) {
  // Every block stores, then looks at a flag a billion times: all but the last are set aside when
  // the limit comes.
  Bench bench(event_kernel(
      "ld.param.u64 %rd1, [out];\nst.global.u32 [%rd1], 1;\nmov.u32 %r2, 0;\n"
      "WAIT: ld.volatile.global.u32 %r1, [%rd1+4];\nadd.u32 %r2, %r2, 1;\n"
      "setp.lt.u32 %p2, %r2, 1000000000;\nsetp.eq.and.u32 %p1, %r1, 0, %p2;\n@%p1 bra WAIT;\n"));
  const auto out = bench.upload(std::vector<int>{0, 0}, "out");
  for (const unsigned threads : {1u, 2u}) {
    Recorder recorder(kFaults);
    const auto summary =
        bench.run("k", {5}, {1},
                  {.threads = threads, .max_instructions = 20'000, .observers = {&recorder}}, out);
    EXPECT_EQ(summary.end, LaunchEnd::budget_spent);
    EXPECT_EQ(recorder.blocks.size(), 5u);
    for (const auto& [block, text] : recorder.blocks) EXPECT_EQ(text, "cut\n") << block;
  }
}

TEST(Events, AnObserverThatCannotMergeFailsTheLaunch) {
  struct Full : Recorder {
    void merge(BlockObserver&) override { throw std::bad_alloc(); }
  };
  Bench bench(event_kernel("ret;\n"));
  for (const unsigned threads : {1u, 2u}) {
    Full full;
    EXPECT_THROW(bench.run("k", {8}, {32}, {.threads = threads, .observers = {&full}}, 0ull),
                 std::bad_alloc);
  }
}

TEST(Events, EqualPatternNumbersMeanEqualPatterns) {
  struct Patterns : Observer {
    struct Block final : BlockObserver {
      std::map<std::pair<InstructionId, std::uint32_t>, std::vector<std::uint64_t>> seen;
      std::uint64_t repeated = 0, broken = 0;
      void access(const Access& a) override {
        if (a.pattern == 0) return;
        std::vector<std::uint64_t> shape = {a.mask};
        const int first = std::countr_zero(a.mask);
        for (int l = 0; l < 32; ++l) {
          if ((a.mask >> l & 1) != 0) shape.push_back(a.address(l) - a.address(first));
        }
        const auto [found, fresh] = seen.try_emplace({a.instruction, a.pattern}, shape);
        repeated += fresh ? 0 : 1;
        broken += found->second == shape ? 0 : 1;
      }
    };
    std::uint64_t repeated = 0, broken = 0;
    std::uint32_t events() const override { return kAllAccess; }
    std::unique_ptr<BlockObserver> make_block_observer() override {
      return std::make_unique<Block>();
    }
    void merge(BlockObserver& b) override {
      repeated += static_cast<Block&>(b).repeated;
      broken += static_cast<Block&>(b).broken;
    }
  };
  Bench bench(data_file("kernels.ptx"));
  const int n = 100;
  const auto a = bench.machine.allocate(n * n * 4, "a"), b = bench.machine.allocate(n * n * 4, "b"),
             c = bench.machine.allocate(n * n * 4, "c");
  Patterns patterns;
  bench.run("tiled_matmul", {7, 7}, {16, 16}, {.threads = 2, .observers = {&patterns}}, a, b, c, n);
  EXPECT_GT(patterns.repeated, 10'000u);
  EXPECT_EQ(patterns.broken, 0u);
}

TEST(Events, InitialisationIsRecordedOnlyWithATracker) {
  struct Tracker : Recorder {
    bool tracks_initialisation() const override { return true; }
  };
  Bench bench(event_kernel("ret;\n"));
  const auto out = bench.machine.allocate(100, "out");
  Tracker tracker;
  bench.run("k", {1}, {1}, {.observers = {&tracker}}, out);
  EXPECT_FALSE(bench.machine.memory().find(out)->initialised(0, 1));
  bench.run("k", {1}, {1}, {}, out);
  EXPECT_TRUE(bench.machine.memory().find(out)->fully_initialised());
}

}  // namespace
}  // namespace tilescope::emulator::test
