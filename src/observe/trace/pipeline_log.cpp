#include "observe/trace/pipeline_log.hpp"

#include <algorithm>
#include <utility>

#include "observe/source_place.hpp"

namespace tilescope {

std::uint32_t Pipeline::depth() const {
  std::uint32_t most = 0;
  for (const PipelinePhase& phase : phases) most = std::max(most, phase.ahead);
  return most;
}

std::uint64_t Pipeline::bytes_under_way() const {
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    std::uint64_t sum = 0;
    for (std::size_t k = i + 1 - phases[i].under_way; k <= i; ++k) sum += phases[k].bytes;
    most = std::max(most, sum);
  }
  return most;
}

std::uint64_t Pipeline::phase_bytes() const {
  std::uint64_t most = 0;
  for (const PipelinePhase& phase : phases) most = std::max(most, phase.bytes);
  return most;
}

namespace observe {
namespace {

using Kind = PipelineEvent::Kind;

/// Barriers by the pipeline that they belong to.
class Groups {
 public:
  void join(std::uint32_t a, std::uint32_t b) { above_[root(a)] = root(b); }
  std::uint32_t root(std::uint32_t barrier) {
    const auto [at, is_new] = above_.try_emplace(barrier, barrier);
    return at->second == barrier ? barrier : at->second = root(at->second);
  }
  /// Each group's barriers, in order of their offsets.
  std::vector<std::vector<std::uint32_t>> all() {
    std::map<std::uint32_t, std::vector<std::uint32_t>> by_root;
    std::vector<std::uint32_t> barriers;
    for (const auto& [barrier, above] : above_) barriers.push_back(barrier);
    for (const std::uint32_t barrier : barriers) by_root[root(barrier)].push_back(barrier);
    std::vector<std::vector<std::uint32_t>> groups;
    for (auto& [root, members] : by_root) groups.push_back(std::move(members));
    return groups;
  }

 private:
  std::map<std::uint32_t, std::uint32_t> above_;
};

Groups groups_of(const PipelineLog& log, const emulator::Program& program) {
  Groups groups;
  std::map<SourcePlace, std::uint32_t> lines;
  std::map<std::string, std::uint32_t> variables;
  for (const PipelineEvent& e : log.events) {
    if (e.kind != Kind::issued) continue;
    const auto [first, is_new] =
        lines.try_emplace(counted_place(program, e.instruction), e.barrier);
    groups.join(e.barrier, first->second);
  }
  for (const auto& [barrier, variable] : log.variables) {
    if (variable.dynamic) continue;  // it holds everything
    groups.join(barrier, variables.try_emplace(variable.name, barrier).first->second);
  }
  return groups;
}

/// The fillings that have been waited for, and whose data have been used: by a warp itself, or by
/// others before something that it has waited for.
struct Knowledge {
  std::uint32_t landed = 0, used = 0;

  void join(const Knowledge& other) {
    landed = std::max(landed, other.landed);
    used = std::max(used, other.used);
  }
};

/// Follows one pipeline through the log.
class Replay {
 public:
  Replay(const std::vector<std::uint32_t>& barriers, const emulator::Program& program)
      : program_(program) {
    for (const std::uint32_t barrier : barriers) {
      const auto stage = static_cast<std::uint32_t>(stages_.size());
      stages_.try_emplace(barrier, stage);
    }
    pipeline_.stages = static_cast<std::uint32_t>(barriers.size());
  }

  void see(const PipelineEvent& e) {
    Barrier& barrier = barriers_[e.barrier];
    const bool ours = stages_.contains(e.barrier);
    switch (e.kind) {
      case Kind::armed:
      case Kind::issued:
        if (ours) fill(e, barrier);
        break;
      case Kind::arrived:
        barrier.known.join(known_[e.warp]);
        break;
      case Kind::phase_over:
        barrier.known_before.join(std::exchange(barrier.known, {}));
        barrier.last = std::exchange(barrier.filling, kNone);
        ++barrier.phases;
        break;
      case Kind::waits:
        waiting_[e.warp] = true;
        if (!ours) break;
        barrier.awaited = true;
        if (barrier.filling != kNone) pipeline_.phases[barrier.filling].consumer_waited = true;
        break;
      case Kind::passed:
        pass(e, barrier);
        break;
      case Kind::used:
        if (ours && barrier.last != kNone) known_[e.warp].join({0, barrier.last + 1});
        break;
      case Kind::met:
        meeting_[e.barrier].join(known_[e.warp]);
        break;
      case Kind::left:
        known_[e.warp].join(meeting_[e.barrier]);
        break;
    }
  }

  Pipeline take() { return std::move(pipeline_); }

 private:
  static constexpr std::uint32_t kNone = ~0u;

  struct Barrier {
    std::uint32_t phases = 0;       ///< that are over
    std::uint32_t filling = kNone;  ///< by this phase: index in Pipeline::phases
    std::uint32_t last = kNone;     ///< by the phase before
    Knowledge known;                ///< of those who have arrived in this phase
    Knowledge known_before;         ///< in those before
    bool awaited = false;           ///< by a warp, before it was filled
  };

  /// A thread of this block arms or issues; another block's copy only adds bytes.
  void fill(const PipelineEvent& e, Barrier& barrier) {
    if (barrier.filling == kNone) {
      barrier.filling = static_cast<std::uint32_t>(pipeline_.phases.size());
      PipelinePhase& phase = pipeline_.phases.emplace_back();
      phase.stage = stages_.at(e.barrier);
      phase.consumer_waited = std::exchange(barrier.awaited, false);
    }
    PipelinePhase& phase = pipeline_.phases[barrier.filling];
    if (e.kind == Kind::issued) {
      phase.bytes += e.bytes;
      if (pipeline_.issue.line == 0) pipeline_.issue = counted_place(program_, e.instruction);
    }
    if (phase.ahead != 0 || e.warp == PipelineEvent::kOtherBlock) return;
    const Knowledge& known = known_[e.warp];
    phase.ahead = barrier.filling + 1 - std::min(known.used, barrier.filling);
    phase.under_way = barrier.filling + 1 - std::min(known.landed, barrier.filling);
    phase.producer_waited = std::exchange(waiting_[e.warp], false);
  }

  void pass(const PipelineEvent& e, Barrier& barrier) {
    Knowledge& known = known_[e.warp];
    known.join(barrier.known_before);
    if (barrier.last == kNone || !stages_.contains(e.barrier)) return;
    known.join({barrier.last + 1, 0});
    PipelinePhase& phase = pipeline_.phases[barrier.last];
    if (phase.ready != 0) return;
    if (!phase.consumer_waited) {
      phase.ready = static_cast<std::uint32_t>(pipeline_.phases.size()) - barrier.last;
    }
    if (pipeline_.wait.line == 0) pipeline_.wait = counted_place(program_, e.instruction);
  }

  const emulator::Program& program_;
  std::map<std::uint32_t, std::uint32_t> stages_;  ///< by barrier
  std::map<std::uint32_t, Barrier> barriers_;      ///< those that copies do not fill too
  std::map<std::uint32_t, Knowledge> known_;       ///< by warp
  std::map<std::uint32_t, bool> waiting_;          ///< by warp: a test has failed since it issued
  std::map<std::uint32_t, Knowledge> meeting_;     ///< known to those at a barrier of the block
  Pipeline pipeline_;
};

}  // namespace

std::vector<Pipeline> pipelines_of(const PipelineLog& log, const emulator::Program& program) {
  std::vector<Pipeline> pipelines;
  for (const std::vector<std::uint32_t>& barriers : groups_of(log, program).all()) {
    Replay replay(barriers, program);
    for (const PipelineEvent& event : log.events) replay.see(event);
    Pipeline pipeline = replay.take();
    if (pipeline.phases.size() < 2) continue;
    pipeline.barrier = log.variables.at(barriers.front()).name;
    pipelines.push_back(std::move(pipeline));
  }
  return pipelines;
}

}  // namespace observe
}  // namespace tilescope
