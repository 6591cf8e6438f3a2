// The compiled regions of a program: when one is compiled, and which one a warp enters.
//
// A block is a region's head once 32 lanes have entered it often. The region is compiled for what
// the registers hold at that moment (region.hpp). A warp that finds other shapes is refused; where
// that happens often, the head gets a further region. Registers whose shape keeps changing are not
// assumed to have one any more.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include "emulator/block.hpp"
#include "emulator/compiled/code_memory.hpp"
#include "emulator/compiled/region_emitter.hpp"
#include "emulator/compiled_code.hpp"
#include "emulator/lane_key.hpp"
#include "emulator/launch_state.hpp"
#include "emulator/warp.hpp"

namespace tilescope::emulator::compiled {
namespace {

constexpr std::uint32_t kPatience = 150;        // entries before a block is compiled
constexpr std::uint32_t kNotAgain = 1u << 30;   // entries, in the place of for ever
constexpr std::uint32_t kRefusals = 8;          // before a head gets a further region
constexpr int kMostRegions = 5;                 // of a head
constexpr int kMostNumbers = 2;                 // of them with other numbers
constexpr std::uint32_t kMostFailures = 200;    // of a region's checks
constexpr std::size_t kMostCode = 64 << 20;     // bytes of code of a program
constexpr std::uint32_t kMostRegisters = 8000;  // of a function
constexpr std::uint32_t kTrial = 256;           // entries after which a region must have paid

struct CompiledRegion {
  explicit CompiledRegion(CodeMemory&& code) : memory(std::move(code)) {}
  CodeMemory memory;
  struct Exit {
    ExitKind kind;
    std::size_t entry;  ///< as in RegionExit
    CompiledExit place;
  };
  std::vector<Exit> exits;
  std::vector<std::uint32_t> blocks;
  std::vector<std::pair<std::uint32_t, LaneShape>> assumed;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> numbers;  ///< assumed of registers
  KnownParameters parameters;
  RegionSums sums;
  RegionAnnounced announced;
  std::size_t slots = 0;
  std::uint32_t counter = 0;             ///< CodeBlock::counter of the head
  const CompiledRegion* next = nullptr;  ///< of the same head
  mutable std::atomic<std::uint32_t> failures{0};

  /// `at`: offset of the place to enter by.
  Run entry(std::size_t at) const {
    return reinterpret_cast<Run>(
        const_cast<std::uint8_t*>(static_cast<const std::uint8_t*>(memory.data()) + at));
  }
};

struct Head {
  std::atomic<const CompiledRegion*> first{nullptr};
  // Guarded by the program's mutex:
  std::vector<std::unique_ptr<CompiledRegion>> regions;
};

struct CompiledFunction {
  explicit CompiledFunction(std::size_t blocks) : heads(blocks) {}
  std::unique_ptr<FunctionPlan> plan;
  std::vector<Head> heads;  ///< by block
};

class CompiledProgram final : public CompiledCode {
 public:
  CompiledProgram(const Program& program, AccessWatch watch);
  std::unique_ptr<CompiledThread> thread(Worker& worker) override;

  const CompiledRegion* first(const Frame& frame, std::uint32_t block) const {
    return functions_[frame.index]->heads[block].first.load(std::memory_order_acquire);
  }
  /// Compiles a region for what the frame holds, unless another thread has added one to `known`;
  /// false if there will be no further one.
  bool compile(const Frame& frame, const std::uint8_t* parameters, std::uint32_t block,
               const CompiledRegion* known);
  AccessWatch watch() const { return watch_; }
  /// Entries left before each block is compiled, by CodeBlock::counter: what earlier launches have
  /// left of `fresh`.
  std::vector<std::uint32_t> patience(std::size_t blocks, std::uint32_t fresh);
  /// The blocks that are still worth compiling begin later launches with what is left of them.
  void keep_patience(const std::vector<std::uint32_t>& left);
  /// CompiledThread::frame_resets of the kernel.
  const std::vector<FrameRange>& frame_resets();
  /// They have been found already.
  bool knows_frame_resets() const { return knows_frame_resets_.load(std::memory_order_acquire); }
  // Their numbers so far.
  std::uint32_t bounds() const { return bounds_.load(std::memory_order_acquire); }
  std::uint32_t sum_entries() const { return entries_.load(std::memory_order_acquire); }
  std::uint32_t recent_tables() const { return recent_.load(std::memory_order_acquire); }

 private:
  std::vector<bool> unstable(const CompiledFunction& function, const Head& head,
                             const std::uint8_t* frame) const;
  bool has_new_numbers(const CompiledFunction& function, const CompiledRegion& region,
                       const PresentState& present) const;
  const FunctionPlan& plan(std::size_t function);

  const Program& program_;
  const AccessWatch watch_;
  std::vector<std::unique_ptr<CompiledFunction>> functions_;
  std::mutex mutex_;
  std::optional<std::vector<FrameRange>> frame_resets_;
  std::atomic<bool> knows_frame_resets_{false};
  std::vector<std::uint32_t> patience_;
  std::size_t code_bytes_ = 0;
  ProgramNumbers numbers_;
  std::atomic<std::uint32_t> bounds_{0}, entries_{0}, recent_{0};  ///< of `numbers_`
};

class Thread final : public CompiledThread {
 public:
  Thread(CompiledProgram& program, Worker& worker, std::uint32_t patience);
  ~Thread() override { program_.keep_patience(patience_); }
  const CompiledExit* run(const Frame& frame, std::uint32_t block, std::uint32_t join,
                          CompiledPause& pause, std::int64_t& turn) override;
  const CompiledExit* resume(const Frame& frame, CompiledPause& pause, std::int64_t& turn) override;
  const std::vector<FrameRange>* frame_resets() override;
  void deliver_sums(const BlockObserverSlots& observers) override;

 private:
  struct Trial {
    std::uint32_t refusals = 0, runs = 0;
    std::int64_t instructions = 0;
  };
  void enter(const CompiledRegion& region, const Frame& frame, CompiledPause& pause,
             std::int64_t& turn);
  const CompiledExit* left(const CompiledRegion& region, std::uint64_t exit, CompiledPause& pause);
  void refuse(const Frame& frame, std::uint32_t block, std::uint32_t counter);
  void judge(const CompiledRegion& region, std::uint32_t counter, std::int64_t instructions);

  CompiledProgram& program_;
  CompiledState state_;
  std::vector<AccessBounds> bounds_;
  std::vector<SumEntry> sums_;
  std::vector<std::uint64_t> recent_;
  std::vector<UsedEntry> used_;
  std::vector<Trial> trials_;   ///< by CodeBlock::counter
  std::uint32_t early_blocks_;  ///< before frame_resets
  const std::vector<FrameRange>* frame_resets_ = nullptr;
};

CompiledProgram::CompiledProgram(const Program& program, AccessWatch watch)
    : program_(program), watch_(watch) {
  for (const CodeFunction& function : program.functions()) {
    functions_.push_back(std::make_unique<CompiledFunction>(function.blocks.size()));
  }
}

/// Entries before a block is compiled, or what TILESCOPE_COMPILE_AFTER says.
std::uint32_t chosen_patience() {
  const char* text = std::getenv("TILESCOPE_COMPILE_AFTER");
  const long given = text == nullptr ? 0 : std::strtol(text, nullptr, 10);
  return given > 0 ? static_cast<std::uint32_t>(std::min(given, 1'000'000L)) : kPatience;
}

std::unique_ptr<CompiledThread> CompiledProgram::thread(Worker& worker) {
  return std::make_unique<Thread>(*this, worker, chosen_patience());
}

/// Registers whose shape is another one than in all regions so far, of which there are several.
std::vector<bool> CompiledProgram::unstable(const CompiledFunction& function, const Head& head,
                                            const std::uint8_t* frame) const {
  const RegisterTable& registers = function.plan->registers();
  std::vector<bool> result(registers.size(), false);
  if (head.regions.empty()) return result;
  // The last region assumes only what no other contradicts.
  const bool last = head.regions.size() + 1 == kMostRegions;
  ShapeTable shapes;
  for (const auto& region : head.regions) {
    for (const auto& [reg, shape] : region->assumed) {
      const RegisterInfo& info = registers[reg];
      const ShapeNumber now = shapes.observe(frame + info.offset, info.width);
      const bool differs = now == kNoShape || shapes[now] != shape;
      if (differs && (last || head.regions.size() >= 2)) result[reg] = true;
    }
  }
  return result;
}

/// Whether a number is another one than what the region assumes.
bool CompiledProgram::has_new_numbers(const CompiledFunction& function,
                                      const CompiledRegion& region,
                                      const PresentState& present) const {
  const auto differs = [](const std::uint8_t* place, unsigned bytes, std::uint64_t value) {
    return std::memcmp(place, &value, bytes) != 0;
  };
  return std::any_of(region.numbers.begin(), region.numbers.end(),
                     [&](const auto& number) {
                       const RegisterInfo& info = function.plan->registers()[number.first];
                       return differs(present.frame + info.offset, info.width, number.second);
                     }) ||
         std::any_of(region.parameters.begin(), region.parameters.end(),
                     [&](const KnownParameter& known) {
                       return differs(present.parameters + known.offset, known.width, known.value);
                     });
}

/// The caller holds the mutex.
const FunctionPlan& CompiledProgram::plan(std::size_t number) {
  CompiledFunction& function = *functions_[number];
  if (!function.plan) {
    function.plan = std::make_unique<FunctionPlan>(program_, program_.functions()[number], watch_);
  }
  return *function.plan;
}

const std::vector<FrameRange>& CompiledProgram::frame_resets() {
  const std::lock_guard lock(mutex_);
  if (!frame_resets_) {
    const auto bytes = static_cast<std::uint32_t>(program_.functions()[0].image.size());
    frame_resets_ = plan(0).frame_resets(bytes);
    knows_frame_resets_.store(true, std::memory_order_release);
  }
  return *frame_resets_;
}

/// CompiledExit::barrier of the barrier at which the warp waits.
std::optional<std::uint8_t> full_barrier(const FunctionPlan& plan, const Code& code) {
  const RegisterInfo& number = plan.registers()[plan.registers().find(code.a)];
  if (static_cast<BarrierOperation>(code.access) != BarrierOperation::sync || code.b != kNone ||
      number.bits > 15) {
    return std::nullopt;
  }
  return static_cast<std::uint8_t>(number.bits);
}

bool CompiledProgram::compile(const Frame& frame, const std::uint8_t* parameters,
                              std::uint32_t block, const CompiledRegion* known) {
  const std::lock_guard lock(mutex_);
  CompiledFunction& function = *functions_[frame.index];
  Head& head = function.heads[block];
  if (head.first.load() != known) return true;
  if (head.regions.size() >= kMostRegions || code_bytes_ > kMostCode) return false;
  const FunctionPlan& plan = this->plan(frame.index);
  if (plan.registers().size() > kMostRegisters) return false;
  PresentState present{frame.registers, parameters, unstable(function, head, frame.registers)};
  present.values = std::count_if(head.regions.begin(), head.regions.end(), [&](const auto& other) {
                     return has_new_numbers(function, *other, present);
                   }) < kMostNumbers;
  Region region = find_region(plan, block, present);
  RegionCode code = RegionEmitter(plan, region, watch_, numbers_).emit();
  auto result = std::make_unique<CompiledRegion>(CodeMemory(code.bytes));
  if (result->memory.data() == nullptr) return false;
  for (const Assumption& assumption : region.assumptions) {
    result->assumed.emplace_back(assumption.reg, region.shapes[assumption.shape]);
    if (assumption.known) result->numbers.emplace_back(assumption.reg, assumption.value);
  }
  result->parameters = region.parameters;
  result->blocks = region.blocks;
  code_bytes_ += result->memory.bytes();
  bounds_.store(numbers_.bounds, std::memory_order_release);
  entries_.store(numbers_.sums.entries, std::memory_order_release);
  recent_.store(numbers_.sums.recent, std::memory_order_release);
  result->sums = std::move(code.sums);
  result->announced = std::move(code.announced);
  for (const RegionExit& exit : code.exits) {
    const bool inside = exit.kind != ExitKind::refused && exit.kind != ExitKind::block &&
                        exit.kind != ExitKind::yield;
    CompiledExit place{exit.block, inside, exit.index, exit.kind == ExitKind::yield};
    if (exit.kind == ExitKind::waits) {
      place.barrier = full_barrier(plan, plan.function().code[exit.index]);
    }
    result->exits.push_back({exit.kind, exit.entry, place});
  }
  result->counter = plan.function().blocks[block].counter;
  result->slots = static_cast<std::size_t>(code.slots);
  result->next = head.first.load();
  head.first.store(result.get(), std::memory_order_release);
  head.regions.push_back(std::move(result));
  return true;
}

std::vector<std::uint32_t> CompiledProgram::patience(std::size_t blocks, std::uint32_t fresh) {
  const std::lock_guard lock(mutex_);
  if (patience_.empty()) patience_.assign(blocks, fresh);
  return patience_;
}

void CompiledProgram::keep_patience(const std::vector<std::uint32_t>& left) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < left.size(); ++i) patience_[i] = std::min(patience_[i], left[i]);
}

Thread::Thread(CompiledProgram& program, Worker& worker, std::uint32_t patience)
    : CompiledThread(program.patience(worker.counters.size(), patience)),
      program_(program),
      trials_(worker.counters.size()),
      early_blocks_(patience / 4) {
  state_.counters = worker.counters.data();
  state_.lanes_on = worker.lanes_on.data();
  state_.parameters = worker.context.parameters;
  state_.context = &worker.context;
  state_.worker = &worker;
  state_.touched = worker.launch.touched_bytes();
  state_.used = &used_;
}

void Thread::enter(const CompiledRegion& region, const Frame& frame, CompiledPause& pause,
                   std::int64_t& turn) {
  if (pause.numbers.size() < region.slots) pause.numbers.resize(region.slots);
  if (bounds_.size() < program_.bounds()) bounds_.resize(program_.bounds());
  Context& w = *state_.context;
  w.active = w.mask = kAllLanes;
  state_.slots = pause.numbers.data();
  state_.bounds = bounds_.data();
  state_.frame = frame.registers;
  state_.turn = &turn;
  state_.shared = w.shared;
  state_.shared_bytes = w.shared_bytes;
  if (program_.watch() != AccessWatch::sums) return;
  if (sums_.size() < program_.sum_entries()) sums_.resize(program_.sum_entries());
  const std::size_t recent = std::size_t{program_.recent_tables()} * kRecentAddresses;
  if (recent_.size() < recent) recent_.resize(recent);
  state_.sums = sums_.data();
  state_.recent = recent_.data();
  state_.place = w.block->linear() * w.block->launch().info().warps_per_block + w.warp_index;
}

const CompiledExit* Thread::left(const CompiledRegion& region, std::uint64_t number,
                                 CompiledPause& pause) {
  const CompiledRegion::Exit& exit = region.exits[number];
  if (exit.kind == ExitKind::waits) {
    pause.region = &region;
    pause.exit = number;
  } else if (exit.kind == ExitKind::failed) {
    ++region.failures;
  }
  return &exit.place;
}

const CompiledExit* Thread::resume(const Frame& frame, CompiledPause& pause, std::int64_t& turn) {
  const auto& region = *static_cast<const CompiledRegion*>(std::exchange(pause.region, nullptr));
  const std::int64_t before = turn;
  enter(region, frame, pause, turn);
  const std::uint64_t exit = region.entry(region.exits[pause.exit].entry)(&state_);
  trials_[region.counter].instructions += before - turn;
  return left(region, exit, pause);
}

const CompiledExit* Thread::run(const Frame& frame, std::uint32_t block, std::uint32_t join,
                                CompiledPause& pause, std::int64_t& turn) {
  const std::uint32_t counter = frame.function->blocks[block].counter;
  const CompiledRegion* first = program_.first(frame, block);
  if (first == nullptr) {
    if (!program_.compile(frame, state_.parameters, block, nullptr)) {
      patience_[counter] = kNotAgain;
      return nullptr;
    }
    first = program_.first(frame, block);
  }
  for (const CompiledRegion* region = first; region != nullptr; region = region->next) {
    if (std::binary_search(region->blocks.begin(), region->blocks.end(), join)) continue;
    const std::int64_t before = turn;
    enter(*region, frame, pause, turn);
    const std::uint64_t exit = region->entry(0)(&state_);
    if (region->exits[exit].kind == ExitKind::refused) continue;
    judge(*region, counter, before - turn);
    return left(*region, exit, pause);
  }
  refuse(frame, block, counter);
  return nullptr;
}

const std::vector<FrameRange>* Thread::frame_resets() {
  if (early_blocks_ > 0 && !program_.knows_frame_resets()) {
    --early_blocks_;
    return nullptr;
  }
  if (frame_resets_ == nullptr) frame_resets_ = &program_.frame_resets();
  return frame_resets_;
}

void Thread::deliver_sums(const BlockObserverSlots& observers) {
  for (const UsedEntry& used : used_) {
    const SumEntry entry = std::exchange(sums_[used.entry], {});
    for (const SummedAccess& access : used.group->accesses) {
      if (access.kind == AccessKind::async_load) continue;  // comes with the shared side
      const AccessSum sum = sum_of(access, *used.group, used.entry, entry.times);
      for (const BlockObserverSlot& slot : observers) {
        if ((slot.events & access_event(sum.space)) != 0) slot.observer->access_sum(sum);
      }
    }
  }
  used_.clear();
}

/// No region fits: perhaps a further one does.
void Thread::refuse(const Frame& frame, std::uint32_t block, std::uint32_t counter) {
  Trial& trial = trials_[counter];
  if (++trial.refusals < kRefusals) return;
  trial.refusals = 0;
  if (!program_.compile(frame, state_.parameters, block, program_.first(frame, block))) {
    patience_[counter] = kTrial;
  }
}

/// A region that is left again at once, or whose checks fail, does not pay.
void Thread::judge(const CompiledRegion& region, std::uint32_t counter, std::int64_t instructions) {
  Trial& trial = trials_[counter];
  trial.instructions += instructions;
  if (++trial.runs < kTrial) return;
  const auto least = static_cast<std::int64_t>(3 + region.assumed.size() / 3) * kTrial;
  if (trial.instructions < least || region.failures.load() > kMostFailures) {
    patience_[counter] = kNotAgain;
  }
  trial.runs = 0;
  trial.instructions = 0;
}

}  // namespace
}  // namespace tilescope::emulator::compiled

namespace tilescope::emulator {

std::shared_ptr<CompiledCode> make_compiled_code(const Program& program, AccessWatch watch) {
  if (lane_kernels("v3") == nullptr) return nullptr;
  return std::make_shared<compiled::CompiledProgram>(program, watch);
}

}  // namespace tilescope::emulator
