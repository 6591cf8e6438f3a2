#include <gtest/gtest.h>

#include <algorithm>

#include "ranks/ladder/network_model.hpp"
#include "ranks/ladder/program_run.hpp"

namespace tilescope::ranks {
namespace {

constexpr MatmulShape square{1024, 1024, 1024};

PlayedRung played(DistributedRung rung, int ranks, const NetworkModel& model,
                  const MatmulShape& shape = square) {
  return play_rung(rung, layout_of(rung, shape, ranks), model);
}

TEST(DistributedRungs, AreRightOnAnyNumberOfRanks) {
  for (const DistributedRungInfo& info : distributed_rungs()) {
    for (const int ranks : {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 27, 30}) {
      for (const MatmulShape& shape : {MatmulShape{41, 37, 53}, {3, 50, 2}, {1, 1, 1}}) {
        EXPECT_TRUE(run_in_one_process(info.rung, layout_of(info.rung, shape, ranks), 1))
            << info.name << " on " << ranks << ", " << shape.m;
      }
    }
  }
}

TEST(DistributedRungs, HaveNothingToDoWithoutElements) {
  for (const DistributedRungInfo& info : distributed_rungs()) {
    for (const MatmulShape& shape : {MatmulShape{0, 5, 7}, {5, 0, 7}, {5, 7, 0}}) {
      EXPECT_TRUE(run_in_one_process(info.rung, layout_of(info.rung, shape, 6), 1)) << info.name;
    }
  }
}

TEST(DistributedRungs, EveryRankEndsOnTheModel) {
  NetworkModel model{.latency_s = 1e-6, .bytes_per_second = 1e9, .flops_per_second = 1e12};
  for (const bool core_moves : {false, true}) {
    model.core_moves = core_moves;
    for (const DistributedRungInfo& info : distributed_rungs()) {
      for (int ranks = 1; ranks <= 24; ++ranks) {
        const PlayedRung rung = played(info.rung, ranks, model);
        // A rank whose messages never come would not have computed its part.
        EXPECT_NEAR(rung.compute_s * ranks, square.flops() / 1e12, 1e-9) << info.name << ranks;
        EXPECT_GE(rung.time_s, rung.most_compute_s);
      }
    }
  }
}

TEST(NetworkModel, ARingTakesItsProductsAndItsMessages) {
  const NetworkModel model{.latency_s = 1e-3, .bytes_per_second = 1e8, .flops_per_second = 1e10};
  constexpr int ranks = 8;
  const double part_bytes = 4.0 * 1024 * 1024 / ranks;
  const PlayedRung ring = played(DistributedRung::ring, ranks, model);
  const double message = 1e-3 + part_bytes / 1e8;
  EXPECT_NEAR(ring.time_s, square.flops() / ranks / 1e10 + (ranks - 1) * message, 1e-9);
  EXPECT_EQ(ring.sent_bytes, static_cast<std::int64_t>(part_bytes) * (ranks - 1));
  EXPECT_EQ(ring.messages, ranks * (ranks - 1));
  EXPECT_DOUBLE_EQ(ring.link_s, (ranks - 1) * message);
}

TEST(NetworkModel, ATreeDoublesTheRanksThatHaveIt) {
  // Without products to speak of: all of B to all, each part in a tree, is bound by the links.
  const NetworkModel model{.latency_s = 1.0, .bytes_per_second = 1e18, .flops_per_second = 1e18};
  const PlayedRung two = played(DistributedRung::broadcast_all, 2, model);
  EXPECT_NEAR(two.time_s, 1.0, 1e-6);  // both send at once
  const PlayedRung four = played(DistributedRung::broadcast_all, 4, model);
  EXPECT_GE(four.time_s, 3.0);  // each receives three parts
  EXPECT_LE(four.time_s, 5.0);
}

TEST(NetworkModel, OverlapHidesMessagesUnlessTheCoreMovesThem) {
  NetworkModel model{.latency_s = 1e-6, .bytes_per_second = 2e9, .flops_per_second = 1e11};
  const PlayedRung waiting = played(DistributedRung::summa, 16, model);
  const PlayedRung hidden = played(DistributedRung::summa_overlapped, 16, model);
  EXPECT_LT(hidden.time_s, waiting.time_s);
  EXPECT_GT(hidden.overlap(), 0.5);
  EXPECT_LT(waiting.overlap(), 0.2);
  model.core_moves = true;
  EXPECT_GT(played(DistributedRung::summa_overlapped, 16, model).time_s, hidden.time_s * 1.05);
}

TEST(NetworkModel, EachRungBringsWhatItSays) {
  const NetworkModel model{.latency_s = 1e-6, .bytes_per_second = 1e9, .flops_per_second = 1e12};
  constexpr int ranks = 256;
  const PlayedRung all = played(DistributedRung::broadcast_all, ranks, model),
                   ring = played(DistributedRung::ring, ranks, model),
                   summa = played(DistributedRung::summa, ranks, model),
                   replicated = played(DistributedRung::replicated, ranks, model);
  EXPECT_LT(ring.held_bytes * 5, all.held_bytes);            // none holds all of B
  EXPECT_LT(summa.received_bytes * 3, ring.received_bytes);  // rows of A, columns of B: 2/16
  EXPECT_LT(replicated.received_bytes, summa.received_bytes);
  EXPECT_GT(replicated.held_bytes, summa.held_bytes);  // a copy of C each
}

}  // namespace
}  // namespace tilescope::ranks
