#include "emulator/launch_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "emulator/device_runtime.hpp"
#include "emulator/special_register_values.hpp"

namespace tilescope::emulator {

namespace {

/// Not with a schedule, which may pause between any two blocks of code. TILESCOPE_INTERPRET in the
/// environment turns it off.
bool may_compile(const LaunchState& state) {
  const LaunchOptions& options = state.setup().options;
  return std::getenv("TILESCOPE_INTERPRET") == nullptr && !options.interpret &&
         options.schedule == 0 && state.program().compiled_code(AccessWatch::nothing) != nullptr;
}

}  // namespace

Worker::Worker(LaunchState& state)
    : launch(state),
      patterns(state.program().pattern_slots()),
      counters(state.program().block_counters()),
      lanes_on(state.program().instructions().size()) {
  context.patterns = patterns.data();
  context.lanes_on = lanes_on.data();
  context.parameters = state.setup().parameters.data();
  context.parameter_bytes = state.setup().parameters.size();
  const std::uint64_t seed = state.setup().options.schedule;
  if (seed != 0) schedule.emplace(seed, state.cluster_count());
  if (!may_compile(state)) return;
  unwatched = state.program().compiled_code(AccessWatch::nothing)->thread(*this);
  if (state.has_sums()) {
    summed = state.program().compiled_code(AccessWatch::sums)->thread(*this);
  }
  if (state.has_known_accesses()) {
    announced = state.program().compiled_code(AccessWatch::each)->thread(*this);
  }
}

void Worker::settle_counts() {
  for (CompiledThread* const thread : {unwatched.get(), summed.get(), announced.get()}) {
    if (thread != nullptr) thread->settle_counts();
  }
}

namespace {

std::uint32_t shared_bytes(const LaunchSetup& setup) {
  const std::uint32_t declared = setup.program.static_shared_bytes() + setup.dynamic_shared_bytes;
  if (!setup.program.needs().reserved_shared) return declared;
  return (declared + 15) / 16 * 16 + kReservedSharedBytes;
}

}  // namespace

LaunchState::LaunchState(const LaunchSetup& setup)
    : setup_(setup),
      info_{setup.program,
            setup.memory,
            setup.program.kernel(),
            setup.grid,
            setup.block,
            setup.cluster,
            static_cast<std::uint32_t>(setup.block.count()),
            static_cast<std::uint32_t>((setup.block.count() + kWarpSize - 1) / kWarpSize),
            shared_bytes(setup),
            {},
            setup.options.cooperative} {
  info_.overlaps_previous = setup.options.overlaps_previous;
  info_.child = setup.options.child;
  clusters_ = setup_.grid.count() / setup_.cluster.count();
  const auto variables = setup.program.shared_variables();
  shared_variables_.assign(variables.begin(), variables.end());
  for (SharedVariable& variable : shared_variables_) {
    if (variable.dynamic) variable.bytes = setup.dynamic_shared_bytes;
  }
  if (setup.program.needs().reserved_shared) {
    shared_variables_.push_back({"reserved shared memory",
                                 info_.shared_bytes - kReservedSharedBytes, kReservedSharedBytes,
                                 false});
    info_.reserved_shared_begin = info_.shared_bytes - kReservedSharedBytes;
  }
  info_.shared_variables = shared_variables_;
  const CodeFunction& kernel = program().functions()[0];
  frame_bytes_ = static_cast<std::uint32_t>(kernel.image.size());
  // A recursive program gets a stack of fixed size; its pages are allocated when touched.
  constexpr std::uint64_t kRecursiveStack = 64 * 1024;
  local_stride_ = program().recursive() ? kRecursiveStack : program().local_bytes_per_thread();
  local_stride_ += program().needs().alloca_stack ? kRecursiveStack : 0;
  images_ = allocate_aligned(std::size_t{frame_bytes_} * info_.warps_per_block);
  for (std::uint32_t warp = 0; warp < info_.warps_per_block; ++warp) {
    std::uint8_t* image = images_.get() + std::size_t{warp} * frame_bytes_;
    std::memcpy(image, kernel.image.data(), frame_bytes_);
    for (const SpecialUse& use : kernel.specials) {
      if (!depends_on_block(use.special)) fill_special(setup_, info_, use, image, warp, 0, 0);
    }
  }
  std::copy_if(kernel.specials.begin(), kernel.specials.end(), std::back_inserter(block_specials_),
               [](const SpecialUse& use) { return depends_on_block(use.special); });
  executed_.assign(program().instructions().size(), 0);
  active_ = on_ = executed_;
}

namespace {

/// Makes a register the same number in all lanes of `count` frames, `stride` bytes apart.
template <class T>
void fill_lanes(std::uint8_t* first, std::size_t stride, std::uint32_t count, T value) {
  for (; count > 0; --count, first += stride) {
    std::fill_n(reinterpret_cast<T*>(first), kWarpSize, value);
  }
}

}  // namespace

void LaunchState::block_numbers(std::uint64_t block, const Dim3& index,
                                std::span<std::uint64_t> numbers) const {
  const std::size_t count = std::min(numbers.size(), block_specials_.size());
  for (std::size_t i = 0; i < count; ++i) {
    numbers[i] = block_special(setup_, info_, block_specials_[i], block, index);
  }
}

void LaunchState::fill_block_specials(std::uint8_t* frames, std::uint64_t block, const Dim3& index,
                                      bool kept) const {
  const std::uint32_t warps = info_.warps_per_block;
  for (const SpecialUse& use : block_specials_) {
    const std::uint64_t value = block_special(setup_, info_, use, block, index);
    std::uint8_t* const first = frames + use.offset;
    // The index of a row of blocks, say, is mostly that of the last block.
    const std::size_t bytes = use.bytes == 8 ? 8 : 4;
    if (kept && std::memcmp(first, &value, bytes) == 0) continue;
    if (use.bytes == 8) {
      fill_lanes(first, frame_bytes_, warps, value);
    } else if (use.bytes == 4) {
      fill_lanes(first, frame_bytes_, warps, static_cast<std::uint32_t>(value));
    } else {
      for (std::uint32_t i = 0; i < warps; ++i) {
        std::memcpy(first + std::size_t{i} * frame_bytes_, &value, sizeof(LaneMask));
      }
    }
  }
}

void LaunchState::fill_specials(const CodeFunction& function, std::uint8_t* registers,
                                std::uint64_t block, std::uint32_t warp,
                                std::uint64_t local_base) const {
  for (const SpecialUse& use : function.specials) {
    fill_special(setup_, info_, use, registers, warp, block, local_base);
  }
}

bool LaunchState::take_cluster(std::uint64_t& number) {
  if (stopped()) return false;
  if (is_alone()) {  // an atomic addition would wait for all stores before it
    number = next_cluster_.load(std::memory_order_relaxed);
    next_cluster_.store(number + 1, std::memory_order_relaxed);
  } else {
    number = next_cluster_.fetch_add(1, std::memory_order_relaxed);
  }
  return number < cluster_count();
}

/// Where the number of instructions is limited.
std::int64_t LaunchState::limited_turn(const Worker& worker) const {
  // The other host threads' next work is unknown, so no thread may take much of the rest.
  constexpr std::uint64_t turns_left = 16;
  const std::uint64_t most = setup_.options.max_instructions;
  const std::uint64_t spent =
      instructions_.load(std::memory_order_relaxed) + worker.unreported_steps;
  return std::min(
      kLongestTurn,
      spent < most ? static_cast<std::int64_t>((most - spent) / (turns_left * threads_)) : 0);
}

void LaunchState::count(Worker& worker) {
  const std::uint64_t total =
      instructions_.fetch_add(worker.unreported_steps) + worker.unreported_steps;
  worker.unreported_steps = 0;
  if (setup_.options.progress) {
    const std::uint64_t begun = std::min(next_cluster_.load(), cluster_count());
    const std::uint64_t done = begun - std::min<std::uint64_t>(begun, threads_);
    setup_.options.progress(done * setup_.cluster.count());
  }
  const std::uint64_t most = setup_.options.max_instructions;
  if (most != 0 && total > most) {
    stop(LaunchEnd::budget_spent,
         fmt::format("stopped after {} warp instructions (the limit is {})", total, most));
  }
  if (setup_.options.cancel != nullptr && setup_.options.cancel->load(std::memory_order_relaxed)) {
    stop(LaunchEnd::cancelled, "interrupted");
  }
}

void LaunchState::ask_observers() {
  for (const Observer* observer : observers()) {
    if (observer->has_seen_enough()) stop(LaunchEnd::seen_enough, {});
  }
}

void LaunchState::stop(LaunchEnd end, const std::string& message) {
  const std::lock_guard lock(mutex_);
  if (end_ == LaunchEnd::complete) {
    end_ = end;
    if (!message.empty()) message_ = message;
  }
  stop_.store(true);
}

void LaunchState::trap(const TrapPlace& place, const std::string& text) {
  const std::lock_guard lock(mutex_);
  // If several threads trap, the one of the first block is reported.
  if (end_ == LaunchEnd::complete || (end_ == LaunchEnd::trapped && place.block < message_block_)) {
    end_ = LaunchEnd::trapped;
    message_ = text;
    message_block_ = place.block;
    trap_ = place;
  }
  stop_.store(true);
}

bool LaunchState::wants_text(const FaultRecord& fault) {
  const std::lock_guard lock(mutex_);
  const auto found = faults_.find({fault.instruction, fault.kind});
  return found == faults_.end() || fault.block < found->second.block;
}

void LaunchState::record(const FaultRecord& fault) {
  const std::lock_guard lock(mutex_);
  auto [found, fresh] = faults_.try_emplace({fault.instruction, fault.kind}, fault);
  if (fresh) return;
  found->second.count += fault.count;
  if (fault.block < found->second.block && !fault.text.empty()) {
    found->second.block = fault.block;
    found->second.text = fault.text;
  }
}

void LaunchState::record_deadlock(std::uint64_t block, const std::string& message) {
  const std::lock_guard lock(mutex_);
  ++deadlocked_;
  if (end_ == LaunchEnd::complete && block < message_block_) {
    message_ = message;
    message_block_ = block;
  }
}

void LaunchState::block_done(std::uint64_t linear, bool complete, std::string&& printed) {
  if (complete) blocks_run_.fetch_add(1, std::memory_order_relaxed);
  if (!program().needs().prints) return;
  const std::lock_guard lock(mutex_);
  prints_[linear] = std::move(printed);
  flush_prints(false);
}

void LaunchState::flush_prints(bool all) {
  while (!prints_.empty()) {
    const auto first = prints_.begin();
    if (!all && first->first != next_print_) return;
    next_print_ = first->first + 1;
    const std::string& text = first->second;
    if (!text.empty()) {
      if (setup_.options.print) {
        setup_.options.print(text);
      } else {
        std::fwrite(text.data(), 1, text.size(), stdout);
      }
    }
    prints_.erase(first);
  }
}

std::unique_ptr<BlockObserver> LaunchState::make_observer(std::size_t which) {
  const std::lock_guard lock(mutex_);
  return observers()[which]->make_block_observer();
}

void LaunchState::merge_observer(std::size_t which, BlockObserver& observer) {
  const std::lock_guard lock(mutex_);
  observers()[which]->merge(observer);
}

void LaunchState::merge_counts(const Worker& worker) {
  const std::lock_guard lock(mutex_);
  blocks_run_ += worker.blocks_followed;
  for (const CodeFunction& function : program().functions()) {
    for (const CodeBlock& block : function.blocks) {
      const BlockCounter& counter = worker.counters[block.counter];
      for (std::uint32_t i = block.begin; i < block.begin + block.size; ++i) {
        const Code& code = function.code[i];
        executed_[code.id] += counter.executed;
        active_[code.id] += counter.active();
        on_[code.id] += code.guard == kNone ? counter.active() : worker.lanes_on[code.id];
      }
    }
  }
}

void LaunchState::announce() {
  for (Observer* observer : observers()) {
    observer->begin_launch(info_);
    const std::uint32_t events = observer->events();
    const std::uint32_t sums = events & observer->sums() & ~std::uint32_t{kOtherAccess};
    TouchedBytes* const touched = sums == 0 ? nullptr : observer->touched_bytes();
    // The marks of added up accesses have one receiver.
    const bool refused = touched != nullptr && touched_ != nullptr;
    if (touched != nullptr) touched_ = touched;
    observer_events_.push_back(events);
    single_events_.push_back(refused ? events : events & ~sums);
    has_sums_ = has_sums_ || sums != 0;
    sums_by_block_ = sums_by_block_ || (sums != 0 && observer->sums_by_block());
    constexpr std::uint32_t kKnown = kGlobalAccess | kSharedAccess;
    const bool takes_known = (events & kKnown) == kKnown && observer->takes_known_accesses();
    known_events_.push_back(takes_known ? kKnown : std::uint32_t{kNoEvents});
    has_known_accesses_ = has_known_accesses_ || takes_known;
  }
  if (has_sums_ && touched_ == nullptr) {
    own_touched_ = std::make_unique<TouchedBytes>(setup_.memory);
    touched_ = own_touched_.get();
  }
}

void LaunchState::share_among(unsigned threads) {
  threads_ = at_work_ = threads;
  report_after_ = 100'000;
  if (const std::uint64_t most = setup_.options.max_instructions; most != 0) {
    report_after_ = std::min(report_after_, most / (64 * std::uint64_t{threads}));
  }
}

void LaunchState::stalled(std::uint64_t since) {
  const std::lock_guard lock(mutex_);
  if (since != progress()) return;
  if (since != stalled_since_) stalled_ = 0;
  stalled_since_ = since;
  if (++stalled_ == at_work_) hung_ = true;
}

void LaunchState::leave() {
  const std::lock_guard lock(mutex_);
  advance();  // whoever is stalled looks again at what this thread has written
  --at_work_;
}

LaunchSummary LaunchState::finish(double seconds) {
  flush_prints(true);
  // The request to stop may come when everything has run.
  if (end_ == LaunchEnd::seen_enough && blocks_run_ + deadlocked_ == setup_.grid.count()) {
    end_ = LaunchEnd::complete;
  }
  LaunchSummary summary;
  summary.end = end_;
  summary.seconds = seconds;
  summary.blocks_run = blocks_run_;
  summary.deadlocked_blocks = deadlocked_;
  summary.message = message_;
  summary.trap = trap_;
  summary.threads = threads_;
  for (const auto& [key, fault] : faults_) {
    summary.fault_count += fault.count;
    summary.faults.push_back(fault);
  }
  for (const std::uint64_t n : executed_) summary.warp_instructions += n;
  for (const std::uint64_t n : active_) summary.thread_instructions += n;
  std::vector<RefusedLaunch> refused;
  if (setup_.device_runtime != nullptr) refused = setup_.device_runtime->refused();
  const LaunchTotals totals{end_,
                            blocks_run_,
                            summary.warp_instructions,
                            summary.fault_count,
                            deadlocked_,
                            {executed_, active_, on_},
                            trap_,
                            refused};
  bool tracked = false;
  for (Observer* observer : observers()) {
    tracked = tracked || observer->tracks_initialisation();
    observer->end_launch(totals);
  }
  if (!tracked) setup_.memory.mark_all_initialised();
  return summary;
}

}  // namespace tilescope::emulator
