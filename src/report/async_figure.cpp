#include "report/async_figure.hpp"

#include <fmt/format.h>

#include "base/format.hpp"
#include "base/text.hpp"
#include "report/words/wording.hpp"

namespace tilescope::report {
namespace {

using Look = AsyncScene::Look;

/// The words for an engine: what it is, and how a thread starts it.
struct EngineWords {
  std::string_view name, start, wait;
};

EngineWords engine_words(EngineKind engine) {
  switch (engine) {
    case EngineKind::remote_store:
      return {"asynchronous store", "starts a store", "a wait for the store"};
    case EngineKind::tensor_cores:
      return {"tensor cores", "starts wgmma", "wgmma.wait_group"};
    default:
      return {"copy engine", "starts a copy", "a wait for the copy"};
  }
}

class SceneMaker {
 public:
  SceneMaker(const Finding& finding, SourceTexts& sources)
      : finding_(finding),
        sources_(sources),
        memory_(finding.memory ? to_string(*finding.memory) : std::string()) {
    scene_.message = message(finding);
    scene_.cure = cure(finding);
  }

  AsyncScene of_engine(const AsyncFacts& facts, const EngineWords& words);
  AsyncScene of_phase(const PhaseFacts& facts);

 private:
  std::size_t track(const std::string& name, const std::string& below) {
    for (std::size_t i = 0; i < scene_.tracks.size(); ++i) {
      if (scene_.tracks[i].name == name && scene_.tracks[i].below == below) return i;
    }
    scene_.tracks.push_back({name, below});
    return scene_.tracks.size() - 1;
  }

  /// A thread's step at the access's line.
  std::size_t act(const FindingAccess& access, std::size_t row, std::string title,
                  Look look = Look::reads) {
    const RaceScene::Side side = scene_side(access, sources_);
    // "block (0,0,0), thread (1,0,0)"
    const std::size_t comma = std::min(side.who.find(", "), side.who.size());
    const bool is_thread = comma < side.who.size();
    const std::size_t at = is_thread ? track(side.who.substr(comma + 2), side.who.substr(0, comma))
                                     : track("a thread", "");
    scene_.steps.push_back({at, row, look, std::move(title), side.place, side.source});
    return at;
  }
  /// The other side's use of the memory.
  void act_on_memory(std::size_t row) {
    if (!finding_.second) return;
    const bool writes = finding_.second->action != ThreadAction::read;
    act(*finding_.second, row,
        (writes && !memory_.empty() ? "writes " : "uses ") +
            (memory_.empty() ? std::string("its registers") : memory_),
        writes ? Look::writes : Look::reads);
  }
  void note(std::size_t at, std::size_t row, Look look, std::string title, std::string more = {}) {
    scene_.steps.push_back({at, row, look, std::move(title), std::move(more)});
  }

  void show_engine(const AsyncFacts& facts, const EngineWords& words);
  void show_cluster(const AsyncFacts& facts);
  void show_phase_box(const PhaseFacts& facts, std::size_t at, std::size_t row);

  const Finding& finding_;
  SourceTexts& sources_;
  std::string memory_;
  AsyncScene scene_;
};

/// The engine works behind the thread that started it, in the first row or in the second.
void SceneMaker::show_engine(const AsyncFacts& facts, const EngineWords& words) {
  using enum FindingKind;
  const bool is_late = finding_.kind == missing_proxy_fence || finding_.kind == race ||
                       finding_.kind == early_overwrite || facts.fault == AsyncFault::fence;
  const bool sums = facts.registers == ProductRegisters::sums;
  const std::string verb = facts.engine_writes || sums ? "write" : "read";
  const std::string what = !memory_.empty()                           ? memory_
                           : facts.engine == EngineKind::tensor_cores ? std::string("registers")
                                                                      : std::string("memory");
  const std::size_t start_row = is_late ? 1 : 0;
  if (is_late && finding_.second) act_on_memory(0);
  if (is_late && !finding_.second && facts.engine == EngineKind::tensor_cores) {
    act({.thread = finding_.first.thread}, 0, "uses the " + what);
  }
  act(finding_.first, start_row, std::string(words.start));
  const std::size_t engine = track(std::string(words.name), "works on by itself");
  note(engine, start_row, Look::works, fmt::format("{}s {}", verb, what));
  note(engine, 1 - start_row, Look::may,
       fmt::format("may {} {}", is_late ? "already" : "still", verb));
  if (is_late) return;
  if (finding_.second) {
    act_on_memory(1);
  } else {
    const bool ends = finding_.kind == unfinished_async_work;
    act({.thread = finding_.first.thread}, 1, ends ? "ends" : "waits, not for this");
  }
  if (facts.barrier.empty()) return;
  const std::size_t barrier = track(facts.barrier, "an mbarrier");
  note(barrier, 0, Look::works, fmt::format("phase {}", facts.phase), "ends with the copy");
  note(barrier, 1, Look::wrong, fmt::format("phase {}", facts.phase), "nobody waits for it");
}

void SceneMaker::show_cluster(const AsyncFacts& facts) {
  const bool starts = finding_.kind == FindingKind::cluster_not_started;
  const std::size_t row = starts ? 1 : 0;
  const std::size_t thread = act(finding_.first, row, "uses " + memory_);
  const std::size_t block = track(fmt::format("block {}", facts.rank), "of the cluster");
  note(block, 1 - row, Look::works, starts ? "starts" : "ends", "its memory is " + memory_);
  if (starts) {
    note(thread, 0, Look::may, "may use it already");
  } else {
    note(block, 0, Look::may, "may have ended already");
  }
}

AsyncScene SceneMaker::of_engine(const AsyncFacts& facts, const EngineWords& words) {
  using enum FindingKind;
  const bool of_cluster = finding_.kind == cluster_not_started || finding_.kind == cluster_exit;
  if (of_cluster) {
    scene_.title = fmt::format("A thread and block {} of its cluster", facts.rank);
    scene_.missing = "cluster.sync()";
    show_cluster(facts);
    return std::move(scene_);
  }
  const bool is_wgmma = facts.engine == EngineKind::tensor_cores;
  scene_.title = fmt::format("Threads and the {} use {}", words.name,
                             !memory_.empty() ? memory_
                             : is_wgmma       ? "the same registers"
                                              : "the same memory");
  scene_.missing = finding_.kind == early_overwrite       ? "a wait for the readers"
                   : finding_.kind == missing_proxy_fence ? "fence.proxy.async"
                   : finding_.kind == race                ? "a barrier and fence.proxy.async"
                   : facts.fault == AsyncFault::fence
                       ? (is_wgmma ? "wgmma.fence" : "fence.proxy.tensormap")
                   : facts.fault == AsyncFault::commit
                       ? (is_wgmma ? "wgmma.commit_group" : "cp.async.bulk.commit_group")
                       : std::string(words.wait);
  show_engine(facts, words);
  return std::move(scene_);
}

/// A phase with what has come.
void SceneMaker::show_phase_box(const PhaseFacts& facts, std::size_t at, std::size_t row) {
  const std::string arrivals = fmt::format("{} of {} arrivals", format_count(facts.arrivals),
                                           format_count(facts.expected_arrivals));
  std::string bytes;
  if (facts.bytes != 0 || facts.expected_bytes != 0) {
    bytes = fmt::format("{} of {} bytes", format_count(facts.bytes),
                        format_count(facts.expected_bytes));
  }
  scene_.steps.push_back(
      {at, row, Look::wrong, fmt::format("phase {}", facts.phase), arrivals, bytes});
}

AsyncScene SceneMaker::of_phase(const PhaseFacts& facts) {
  const std::string name = facts.barrier.empty() ? std::string("an mbarrier") : facts.barrier;
  scene_.title = fmt::format("Phase {} of {}", facts.phase, name);
  const auto waits = [](const FindingAccess& access) {
    return access.action == ThreadAction::wait;
  };
  const auto second = [&](std::size_t row, const char* otherwise) {
    if (!finding_.second) return;
    act(*finding_.second, row, waits(*finding_.second) ? "waits for ever" : otherwise,
        waits(*finding_.second) ? Look::wrong : Look::reads);
  };
  switch (facts.fault) {
    case PhaseFault::not_fenced:
    case PhaseFault::not_ordered: {
      scene_.title = fmt::format("The start of {}", name);
      scene_.missing = facts.fault == PhaseFault::not_fenced ? "a fence of the initialisation"
                                                             : "a barrier, __syncthreads()";
      act(finding_.first, 0, "initialises " + name, Look::writes);
      if (finding_.second) act(*finding_.second, 1, "uses " + name);
      const std::size_t barrier = track(name, "an mbarrier");
      note(barrier, 0, Look::may, "may be used already");
      note(barrier, 1, Look::works, "in use");
      break;
    }
    case PhaseFault::passes_at_once: {
      act(finding_.first, 0, fmt::format("waits for phase {}", facts.phase), Look::wrong);
      const std::size_t barrier = track(name, "an mbarrier");
      note(barrier, 0, Look::works,
           facts.phase == 0 ? "before phase 0" : fmt::format("phase {}", facts.phase - 1),
           "over: the wait passes");
      note(barrier, 1, Look::works, fmt::format("phase {}", facts.phase), "still to come");
      second(1, "arrives for it");
      break;
    }
    case PhaseFault::phase_missed: {
      const std::size_t barrier = track(name, "an mbarrier");
      note(barrier, 0, Look::works, fmt::format("phase {}", facts.phase), "over");
      note(barrier, 1, Look::works, fmt::format("phase {}", facts.phase + 1), "over as well");
      second(0, "ends the phase");
      act(finding_.first, 1, "waits too late: for ever", Look::wrong);
      break;
    }
    default: {
      const bool is_init = facts.fault == PhaseFault::too_few_arrivals && !waits(finding_.first);
      act(finding_.first, 0,
          waits(finding_.first) ? "waits for ever"
          : is_init             ? "sets the arrivals"
          : facts.fault == PhaseFault::too_many_arrivals || facts.fault == PhaseFault::not_expected
              ? "arrives"
              : "says what comes",
          waits(finding_.first) ? Look::wrong : Look::reads);
      show_phase_box(facts, track(name, "an mbarrier"), 0);
      if (facts.bytes != 0) {
        note(track("copy engine", "works on by itself"), 0, Look::works,
             fmt::format("brings {} bytes", format_count(facts.bytes)));
      }
      second(1, "uses it");
    }
  }
  return std::move(scene_);
}

}  // namespace

RaceScene::Side scene_side(const FindingAccess& access, SourceTexts& sources) {
  const SourcePlace& place = access.place;
  return {.who = access.thread ? to_string(*access.thread) : "the copy engine",
          .action = action(access),
          .place = place.line != 0        ? fmt::format("{}:{}", file_name(place.file), place.line)
                   : access.ptx_line != 0 ? fmt::format("line {} of the PTX", access.ptx_line)
                                          : std::string(),
          .source = std::string(trim(sources.line(place.file, place.line))),
          .writes = access.action == ThreadAction::write || access.action == ThreadAction::atomic};
}

std::optional<AsyncScene> async_scene(const Finding& finding, SourceTexts& sources) {
  if (const auto* facts = std::get_if<AsyncFacts>(&finding.facts)) {
    return SceneMaker(finding, sources).of_engine(*facts, engine_words(facts->engine));
  }
  if (const auto* facts = std::get_if<PhaseFacts>(&finding.facts)) {
    return SceneMaker(finding, sources).of_phase(*facts);
  }
  const auto relation = facts_of<RaceFacts>(finding).relation;
  const bool is_source = relation == RaceRelation::copy_source;
  if (!finding.second || (relation != RaceRelation::unfinished_copy && !is_source)) return {};
  // cp.async: the side that the copy reads or writes comes first.
  Finding ordered = finding;
  const bool copy_is_first = (finding.first.action == ThreadAction::read) == is_source;
  if (!copy_is_first) std::swap(ordered.first, *ordered.second);
  return SceneMaker(ordered, sources)
      .of_engine({.fault = AsyncFault::wait, .engine_writes = !is_source},
                 {"asynchronous copy", "starts a copy", "a wait for the copy"});
}

}  // namespace tilescope::report
