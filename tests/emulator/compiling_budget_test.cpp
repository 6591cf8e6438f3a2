#include "emulator/compiled/compiling_budget.hpp"

#include <gtest/gtest.h>

namespace tilescope::emulator::compiled {
namespace {

TEST(CompilingBudget, FirstOperationsAreFree) {
  CompilingBudget budget;
  EXPECT_TRUE(budget.is_left());
  budget.add_compiled(CompilingBudget::kFreeOperations);
  EXPECT_TRUE(budget.is_left());
  budget.add_compiled(1);
  EXPECT_FALSE(budget.is_left());
}

TEST(CompilingBudget, WhatRunsPaysForMore) {
  CompilingBudget budget;
  budget.add_compiled(CompilingBudget::kFreeOperations + 10);
  budget.add_executed(10 * CompilingBudget::kInstructionsPerOperation - 1);
  EXPECT_FALSE(budget.is_left());
  budget.add_executed(1);
  EXPECT_TRUE(budget.is_left());
  budget.add_compiled(1);
  EXPECT_FALSE(budget.is_left());
}

}  // namespace
}  // namespace tilescope::emulator::compiled
