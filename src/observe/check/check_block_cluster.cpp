// The checks of a block that has neighbours in a cluster: what orders its threads and theirs, and
// what they leave in its shared memory.
//
// Barriers of the cluster and atomics on shared memory publish and learn as flags in global memory
// do. Races of accesses to another block's shared memory are not judged. A thread may learn of its
// own block's work through a neighbour: whoever looks at a word that a neighbour has written, or at
// one of a neighbour, counts as knowing all that its block has released so far. That errs on the
// side of silence.
#include <bit>

#include "observe/check/check_block.hpp"

namespace tilescope::observe {
namespace {

// Names of what no word of memory is (word_at): two low bits that words do not have together.
constexpr std::uint64_t kAllReleases = 2;

std::uint64_t barrier_name(std::uint64_t cluster, std::uint64_t generation) {
  return ((cluster << 32 | generation) << 4) + 6;
}

bool releases(const emulator::Access& access) {
  return access.order == emulator::MemoryOrder::release ||
         access.order == emulator::MemoryOrder::acquire_release;
}

}  // namespace

/// Names a word of shared memory of a block of the cluster.
std::uint64_t CheckBlock::cluster_word(std::uint32_t rank, std::uint64_t address) const {
  return ((((cluster_ << 4 | rank) << 24) + address / 4) << 4) + 10;
}

void CheckBlock::publish(std::uint32_t warp, std::uint64_t variable) {
  order_.release(warp, variable);
  order_.release(warp, kAllReleases);
  if (launch_.grid_order) {
    launch_.grid_order->release(block_, variable, order_.released(variable));
  }
}

void CheckBlock::learn(std::uint64_t variable) {
  if (launch_.grid_order) launch_.grid_order->acquire(block_, variable, false);
}

void CheckBlock::cluster_barrier(const emulator::ClusterBarrier& barrier) {
  protocols_.mbarriers.cluster_barrier(barrier);
  const std::uint64_t name = barrier_name(cluster_, barrier.generation);
  if (async_) {
    async_->cluster_barrier(
        rank_, barrier,
        launch_.info.program.instruction(barrier.instruction).source->modifiers.ordering ==
            ptx::Ordering::relaxed);
  }
  if (barrier.waited) {
    order_.acquire(barrier.warp, name, false);
    learn(name);
    if (launch_.grid_order) launch_.grid_order->barrier(block_);
    return;
  }
  fence(barrier.warp, emulator::Scope::cluster);
  publish(barrier.warp, name);
}

void CheckBlock::synchronise_cluster(const emulator::Access& access, std::uint32_t rank) {
  const AccessVerb verb = verb_of(access.kind);
  const auto is_foreign = [&](std::uint64_t word) {
    return rank != rank_ || neighbour_words_.contains(word);
  };
  for (emulator::LaneMask m = access.mask; m != 0; m &= m - 1) {
    const std::uint64_t word = cluster_word(rank, access.addresses[std::countr_zero(m)]);
    if (verb != AccessVerb::write) {
      if (is_foreign(word)) order_.acquire(access.warp, kAllReleases, false);
      learn(word);
    }
    if (verb != AccessVerb::read) publish(access.warp, word);
  }
}

void CheckBlock::remote_access(const emulator::Access& access, std::uint32_t rank) {
  if (async_) {
    async_->remote_access(rank_, access, rank);
    if (strength_of(access) != Strength::plain && !launch_.async->on_mbarrier(access.instruction)) {
      async_->flag(rank_, access, rank);
    }
  }
  if (strength_of(access) == Strength::plain) return;
  if (releases(access)) fence(access.warp, emulator::Scope::cluster);
  synchronise_cluster(access, rank);
}

void CheckBlock::neighbour_access(const emulator::Access& access, std::uint32_t) {
  if (verb_of(access.kind) == AccessVerb::read) return;
  for (emulator::LaneMask m = access.mask; m != 0; m &= m - 1) {
    const std::uint64_t address = access.addresses[std::countr_zero(m)];
    shared_contents_.set(address, access.bytes);
    pending_reads_.forget(address, access.bytes);
    if (strength_of(access) != Strength::plain) {
      neighbour_words_.insert(cluster_word(rank_, address));
    }
  }
}

}  // namespace tilescope::observe
