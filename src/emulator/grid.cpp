// Distributes the clusters of a grid over host threads. Without clusters every block is one.
//
// A host thread runs one cluster until it is done. A cluster that yields (its warps only spin, or
// it has run very long) is set aside, and the thread starts the next one, as long as the GPU would
// hold that many at once; then it returns to those set aside, in turn. So blocks that wait for each
// other, as grid-wide synchronisation does, make progress, and a grid of any size needs memory only
// for the blocks in flight.
//
// Where atomics of different blocks give results that depend on their order, one host thread runs
// the clusters in linear order: the result is the same on every machine. A launch with a schedule
// runs on one host thread too, which starts and resumes clusters as the schedule says.
#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <thread>

#include "emulator/launch_state.hpp"
#include "emulator/resident_cluster.hpp"
#include "emulator/stall.hpp"

namespace tilescope::emulator {
namespace {

class ClusterRunner {
 public:
  ClusterRunner(LaunchState& launch, std::uint64_t most_resident)
      : launch_(launch),
        worker_(launch),
        most_resident_(std::max<std::uint64_t>(1, most_resident)),
        stall_(worker_) {}

  void run() {
    while (!launch_.stopped() && !launch_.hung()) {
      if (starts_another() && start_next()) {
        step();
      } else if (!waiting_.empty()) {
        current_ = std::move(waiting_.front());
        waiting_.pop_front();
        step();
      } else {
        break;
      }
    }
    end_waiting();
    launch_.leave();
    if (!idle_.empty()) idle_.front()->members().front().block->deliver_sums();
    for (const auto& cluster : idle_) cluster->merge_observers();
    launch_.count(worker_);
    worker_.settle_counts();
    launch_.merge_counts(worker_);
  }

 private:
  /// A cluster that waits may wait for a further one.
  bool starts_another() {
    if (waiting_.size() >= most_resident_) return false;
    return !worker_.schedule || waiting_.empty() || waited_ ||
           worker_.schedule->starts_another(waiting_.size());
  }

  bool start_next() {
    std::uint64_t number = 0;
    if (none_left_ || !launch_.take_cluster(number)) {
      none_left_ = true;
      return false;
    }
    if (idle_.empty()) {
      current_ = std::make_unique<ResidentCluster>(launch_, worker_);
    } else {
      current_ = std::move(idle_.back());
      idle_.pop_back();
    }
    current_->start(worker_.schedule ? worker_.schedule->cluster(number) : number);
    return true;
  }

  void step() {
    const std::uint64_t followed = worker_.blocks_followed;
    const BlockProgress progress = current_->run();
    if (worker_.blocks_followed != followed) {  // blocks have ended meanwhile
      waits_ = 0;
      stall_.reset();
      launch_.advance();
    }
    waited_ = progress == BlockProgress::waiting;
    if (waited_) {
      waiting_.push_back(std::move(current_));
      if (++waits_ < waiting_.size()) return;
      waits_ = 0;
      stall_.round(waiting_);
      return;
    }
    waits_ = 0;
    stall_.reset();
    launch_.advance();
    if (progress == BlockProgress::yielded) {
      const std::size_t at =
          worker_.schedule ? worker_.schedule->below(waiting_.size() + 1) : waiting_.size();
      waiting_.insert(waiting_.begin() + static_cast<std::ptrdiff_t>(at), std::move(current_));
      return;
    }
    retire(std::move(current_));
  }

  /// Clusters that were set aside when the launch was stopped or hung: what they did counts all the
  /// same.
  void end_waiting() {
    for (; !waiting_.empty(); waiting_.pop_front()) {
      if (launch_.hung()) {
        waiting_.front()->give_up();
      } else {
        waiting_.front()->abandon();
      }
      retire(std::move(waiting_.front()));
    }
  }

  void retire(std::unique_ptr<ResidentCluster> cluster) {
    for (const ResidentCluster::Member& member : cluster->members()) {
      launch_.block_done(member.block->linear(), member.complete,
                         std::move(member.block->printed()));
    }
    idle_.push_back(std::move(cluster));
  }

  LaunchState& launch_;
  Worker worker_;
  std::uint64_t most_resident_;
  bool none_left_ = false;
  std::unique_ptr<ResidentCluster> current_;
  std::deque<std::unique_ptr<ResidentCluster>> waiting_;
  std::size_t waits_ = 0;  ///< steps since a cluster did anything but wait
  bool waited_ = false;    ///< in the latest step
  StallWatch stall_;
  std::vector<std::unique_ptr<ResidentCluster>> idle_;
};

unsigned thread_count(const LaunchSetup& setup) {
  if (setup.program.needs().order_dependent || setup.options.schedule != 0) return 1;
  for (const Observer* observer : setup.options.observers) {
    if (observer->wants_block_order()) return 1;
  }
  const unsigned wanted = setup.options.threads != 0
                              ? setup.options.threads
                              : std::max(1u, std::thread::hardware_concurrency());
  return static_cast<unsigned>(
      std::min(std::uint64_t{wanted}, setup.grid.count() / setup.cluster.count()));
}

}  // namespace

LaunchSummary run_grid(const LaunchSetup& setup) {
  const auto begin = std::chrono::steady_clock::now();
  LaunchState launch(setup);
  launch.announce();  // first: observers subscribe for this launch
  const unsigned threads = std::max(1u, thread_count(setup));
  launch.share_among(threads);
  const std::uint64_t at_once = setup.resident_blocks / setup.cluster.count();
  const std::uint64_t resident = (at_once + threads - 1) / threads;
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto work = [&] {
    try {
      ClusterRunner(launch, resident).run();
    } catch (...) {
      launch.stop(LaunchEnd::cancelled, "failed");
      const std::lock_guard lock(failure_mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (unsigned i = 1; i < threads; ++i) others.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  return launch.finish(elapsed.count());
}

}  // namespace tilescope::emulator
