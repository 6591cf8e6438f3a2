#include "emulator/resident_cluster.hpp"

#include <algorithm>

#include "emulator/launch_state.hpp"

namespace tilescope::emulator {
namespace {

// Turns in which every block only waited before the cluster lets others run.
constexpr int kIdleTurns = 16;

}  // namespace

ResidentCluster::ResidentCluster(LaunchState& launch, Worker& worker)
    : worker_(worker), members_(launch.setup().cluster.count()) {
  for (Member& member : members_) {
    member.block = std::make_unique<Block>(launch, worker, cluster_);
  }
}

void ResidentCluster::start(std::uint64_t number) {
  const LaunchState& launch = worker_.launch;
  cluster_.start(launch.info().threads_per_block);
  for (std::uint32_t rank = 0; rank < cluster_.size(); ++rank) {
    // A cluster of one block has its number, and no divisions are needed.
    const bool alone = cluster_.size() == 1;
    members_[rank].block->start(number, alone ? number : launch.setup().block_of(number, rank));
    members_[rank].running = true;
    members_[rank].complete = false;
  }
}

bool ResidentCluster::running() const {
  return std::any_of(members_.begin(), members_.end(),
                     [](const Member& member) { return member.running; });
}

ResidentCluster::Turn ResidentCluster::run_each() {
  Turn turn;
  std::optional<Schedule>& schedule = worker_.schedule;
  // A copy: the blocks ask for orders too.
  std::vector<std::uint32_t> order;
  if (schedule && members_.size() > 1) {
    const auto turns = schedule->turns(members_.size());
    order.assign(turns.begin(), turns.end());
  }
  for (std::size_t i = 0; i < members_.size(); ++i) {
    Member& member = members_[order.empty() ? i : order[i]];
    if (!member.running) continue;
    switch (member.block->run()) {
      case BlockProgress::finished:
        end(member);
        break;
      case BlockProgress::waiting:
        turn.spins = true;
        break;
      case BlockProgress::blocked:
        break;
      case BlockProgress::yielded:
        turn.yielded = true;
        break;
      case BlockProgress::aborted:
        member.running = false;
        turn.aborted = true;
        return turn;
    }
  }
  return turn;
}

BlockProgress ResidentCluster::run() {
  const auto progress = [&] {  // it and atomic_changes grow with all that may release a block
    const auto done = std::count_if(members_.begin(), members_.end(),
                                    [](const Member& member) { return !member.running; });
    return cluster_.generation() + static_cast<std::uint64_t>(done);
  };
  const int most = members_.size() == 1 ? 1 : kIdleTurns;
  for (int idle = 0; idle < most;) {
    const std::uint64_t before = progress();
    worker_.changes_before = worker_.context.atomic_changes;
    const Turn turn = run_each();
    if (turn.aborted) {
      abandon();
      return BlockProgress::aborted;
    }
    if (!running()) return BlockProgress::finished;
    if (turn.yielded) return BlockProgress::yielded;
    const bool same =
        progress() == before && worker_.context.atomic_changes == worker_.changes_before;
    idle = same ? idle + 1 : 0;
    if (idle == 0 || turn.spins || unblock()) continue;
    give_up();
    return BlockProgress::finished;
  }
  return BlockProgress::waiting;
}

/// No lane of any block can run.
bool ResidentCluster::unblock() {
  return std::any_of(members_.begin(), members_.end(), [](const Member& member) {
    return member.running && member.block->unblock();
  });
}

void ResidentCluster::abandon() {
  for (Member& member : members_) {
    if (member.running) member.block->abandon();
    member.running = false;
  }
}

void ResidentCluster::give_up() {
  for (Member& member : members_) {
    if (member.running) member.block->give_up();
    member.running = false;
  }
}

void ResidentCluster::end(Member& member) {
  member.running = false;
  member.complete = !member.block->deadlocked();
}

void ResidentCluster::merge_observers() {
  for (const Member& member : members_) member.block->merge_observers();
}

}  // namespace tilescope::emulator
