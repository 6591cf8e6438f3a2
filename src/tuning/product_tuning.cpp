#include "tuning/product_tuning.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <tilescope/error.hpp>
#include <utility>

#include "base/errors.hpp"
#include "base/output_file.hpp"
#include "base/parallel.hpp"
#include "operations/gemm/dispatch/plan_recorder.hpp"
#include "operations/gemm/dispatch/tuned_products.hpp"
#include "tuning/tuning_data.hpp"

namespace tilescope::tuning {
namespace {

using operations::GemmChoice;
using operations::GemmProblem;

// The first look is a few runs; a candidate slower than the fastest by more than this factor is not
// timed further.
constexpr double clearly_slower = 1.15;
// A smaller gain is not worth other bits than those of the model's choice.
constexpr double least_gain = 0.01;
constexpr int rounds = 3, rounds_of_duel = 5;

// A candidate in the contest.
struct Contender {
  GemmChoice choice;
  TuneCandidate candidate;
  std::unique_ptr<operations::GemmRun> run;
  std::vector<double> samples_ms;

  bool is_right() const {
    return candidate.verdict == TuneVerdict::ok || candidate.verdict == TuneVerdict::slower;
  }
};

class Tuner {
 public:
  Tuner(Device& device, const GemmProblem& problem, const TuneOptions& options, const Timer& timer)
      : device_(device),
        problem_(problem),
        options_(options),
        timer_(timer),
        data_(device, problem, options.seed) {}

  std::vector<TuneCandidate> tune(const std::vector<GemmChoice>& choices) {
    compile(choices);
    for (const GemmChoice& choice : choices) first_look(choice);
    if (const Contender* const best = fastest()) {
      const std::vector<GemmChoice> more =
          operations::siblings(best->choice, problem_, device_.properties());
      compile(more);
      for (const GemmChoice& choice : more) {
        const bool is_known =
            std::any_of(contenders_.begin(), contenders_.end(), [&](const Contender& other) {
              return other.choice.variant == choice.variant && other.choice.plan == choice.plan;
            });
        if (!is_known) first_look(choice);
      }
      time_finalists();
      choose();
    }
    std::vector<TuneCandidate> candidates;
    for (Contender& contender : contenders_) candidates.push_back(std::move(contender.candidate));
    return candidates;
  }

 private:
  // Compiles on all cores: compiling one after the other would take longer than everything else. A
  // failure here is ignored; it occurs again where it becomes a candidate's result.
  void compile(const std::vector<GemmChoice>& choices) {
    std::vector<KernelRequest> requests;
    for (const GemmChoice& choice : choices) {
      try {
        const auto prepare = [&](Device& device) { return choice.prepare(device, problem_); };
        for (KernelRequest& one : operations::recorded_kernels(prepare, device_.properties())) {
          requests.push_back(std::move(one));
        }
      } catch (const Error&) {
        continue;
      }
    }
    std::vector<Kernel> loaded(requests.size());
    parallel_for(requests.size(), [&](std::size_t i) {
      try {
        loaded[i] = device_.load(requests[i]);
      } catch (const Error&) {
        loaded[i] = {};
      }
    });
    kernels_.insert(kernels_.end(), loaded.begin(), loaded.end());
  }

  // Runs `work`; an error becomes the contender's result.
  template <typename Work>
  void guarded(Contender& contender, const Work& work) {
    if (options_.cancel != nullptr && *options_.cancel) {
      throw usage_error("tuning was interrupted; nothing is kept");
    }
    try {
      work();
    } catch (const Error& error) {
      contender.candidate.verdict = TuneVerdict::failed;
      contender.candidate.reason = error.what();
    }
    if (!contender.is_right()) {
      contender.candidate.time_ms = 0.0;
      contender.run.reset();
    }
  }

  static void judge(Contender& contender, const std::string& defect) {
    if (defect.empty()) return;
    contender.candidate.verdict = TuneVerdict::wrong;
    contender.candidate.reason = defect;
  }

  void first_look(const GemmChoice& choice) {
    const double khz = device_.properties().core_clock_khz;
    contenders_.push_back({.choice = choice,
                           .candidate = {.variant = std::string(choice.variant->name),
                                         .plan = choice.plan,
                                         .note = {},
                                         .predicted_ms = khz > 0.0 ? choice.cycles / khz : 0.0,
                                         .verdict = TuneVerdict::ok,
                                         .reason = {},
                                         .by_model = contenders_.empty()},
                           .run = nullptr,
                           .samples_ms = {}});
    Contender& contender = contenders_.back();
    guarded(contender, [&] {
      contender.run = choice.prepare(device_, problem_);
      judge(contender, data_.defect_of_integers(*contender.run));
      contender.candidate.note = contender.run->note();
      if (!contender.is_right()) return;
      constexpr int few = 5;
      time(contender, {.least_samples = is_gpu() ? few : 1,
                       .most_samples = 3 * few,
                       .budget_ms = 10.0,
                       .head_start = {}});
    });
    drop_slower();
    if (options_.on_candidate) options_.on_candidate(contenders_.back().candidate);
  }

  void time(Contender& contender, measure::TimingOptions options) {
    options.head_start = [this] { occupy(); };
    const auto run = [&](int i) { data_.run(*contender.run, i); };
    const measure::Timing timing = timer_ ? timer_(device_, contender.choice, run, options)
                                          : measure::time_on_device(device_, run, options);
    add_samples(contender, timing.samples_ms);
  }

  Contender* fastest() {
    Contender* best = nullptr;
    for (Contender& contender : contenders_) {
      if (contender.candidate.verdict != TuneVerdict::ok) continue;
      if (!best || contender.candidate.time_ms < best->candidate.time_ms) best = &contender;
    }
    return best;
  }

  // The model's choice always stays, because the others are compared with it.
  void drop_slower() {
    const Contender* const best = fastest();
    if (best == nullptr) return;
    for (Contender& contender : contenders_) {
      if (contender.candidate.verdict != TuneVerdict::ok || contender.candidate.by_model) continue;
      if (contender.candidate.time_ms <= clearly_slower * best->candidate.time_ms) continue;
      contender.candidate.verdict = TuneVerdict::slower;
      contender.run.reset();
    }
  }

  // In turns, so that changing clocks change for all.
  void time_finalists() {
    const auto each = [&](const auto& work) {
      for (Contender& contender : contenders_) {
        if (contender.candidate.verdict == TuneVerdict::ok) {
          guarded(contender, [&] { work(contender); });
        }
      }
    };
    each([](Contender& contender) { contender.samples_ms.clear(); });
    for (int round = 0; round < (is_gpu() ? rounds : 1); ++round) {
      each([&](Contender& contender) { time_round(contender, 50.0); });
    }
    each([&](Contender& contender) { judge(contender, data_.defect_of_reals(*contender.run, 0)); });
  }

  // Takes the samples of one more round; returns their median.
  double time_round(Contender& contender, double budget_ms) {
    const std::vector<double> before = std::exchange(contender.samples_ms, {});
    constexpr int most_samples = 70;  // the driver's queue is limited
    const int least = is_gpu() ? (options_.samples + rounds - 1) / rounds : 1;
    time(contender, {.least_samples = least,
                     .most_samples = std::max(least, most_samples),
                     .budget_ms = budget_ms,
                     .head_start = {}});
    const double median = contender.candidate.time_ms;
    add_samples(contender, before);
    return median;
  }

  static void add_samples(Contender& contender, const std::vector<double>& samples_ms) {
    auto& all = contender.samples_ms;
    all.insert(all.end(), samples_ms.begin(), samples_ms.end());
    std::sort(all.begin(), all.end());
    contender.candidate.time_ms = measure::Timing{all}.median_ms();
  }

  void choose() {
    while (Contender* const best = duel_winner()) {
      guarded(*best, [&] { judge(*best, data_.defect_of_reals(*best->run, 1)); });
      best->candidate.chosen = best->is_right();
      if (best->candidate.chosen) return;
    }
  }

  // The fastest, if it is the model's choice or beats it; null if none is right.
  Contender* duel_winner() {
    Contender* const best = fastest();
    Contender& model = contenders_.front();
    if (best == nullptr || best == &model || model.candidate.verdict != TuneVerdict::ok ||
        beats(*best, model)) {
      return best;
    }
    return model.is_right() ? &model : fastest();
  }

  // A GPU at its power limit changes its clocks by more than kernels differ, and the kernel after a
  // pause has the higher one. So a gain must show in every round of a duel, whichever begins.
  bool beats(Contender& challenger, Contender& model) {
    if (!gains(challenger, model)) return false;
    for (Contender* one : {&challenger, &model}) one->samples_ms.clear();
    bool wins_all = true;
    for (int round = 0; wins_all && round < (is_gpu() ? rounds_of_duel : 1); ++round) {
      double of_challenger = 0.0, of_model = 0.0;
      const auto run_challenger = [&] {
        guarded(challenger, [&] { of_challenger = time_round(challenger, 100.0); });
      };
      if (round % 2 == 0) run_challenger();
      guarded(model, [&] { of_model = time_round(model, 100.0); });
      if (round % 2 != 0) run_challenger();
      wins_all = challenger.is_right() && of_challenger < of_model;
    }
    return wins_all && gains(challenger, model);
  }

  static bool gains(const Contender& challenger, const Contender& model) {
    return model.candidate.time_ms > (1.0 + least_gain) * challenger.candidate.time_ms;
  }

  bool is_gpu() const { return device_.kind() == DeviceKind::cuda; }

  // Memory writes that take a GPU longer than the host needs to queue the shortest runs; they also
  // remove all operands from the cache.
  void occupy() {
    if (!is_gpu()) return;
    constexpr std::size_t most_bytes = std::size_t{512} << 20U;
    constexpr int times = 6;
    if (scratch_.bytes() == 0) {
      scratch_ =
          device_.allocate(std::min(most_bytes, device_.properties().global_bytes / 32), "scratch");
    }
    for (int i = 0; i < times; ++i) device_.fill(scratch_.address(), 0, scratch_.bytes());
  }

  Device& device_;
  const GemmProblem& problem_;
  const TuneOptions& options_;
  const Timer& timer_;
  TuningData data_;
  Buffer scratch_;
  std::vector<Kernel> kernels_;  // kept because they may be needed again
  std::vector<Contender> contenders_;
};

// Checked before the measurements, which would otherwise be lost.
void require_place(const std::filesystem::path& file) {
  if (file.empty()) {
    throw input_error(
        "cannot keep tuned plans: there is no cache; set TILESCOPE_CACHE to a folder, or give "
        "--no-keep");
  }
  std::error_code failed;  // reported when a file is created there
  std::filesystem::create_directories(file.parent_path(), failed);
  const OutputFile probe(file.string());
}

}  // namespace

std::vector<TuneCandidate> tune(Device& device, const GemmProblem& problem,
                                const std::vector<GemmChoice>& choices, const TuneOptions& options,
                                const Timer& timer) {
  return Tuner(device, problem, options, timer).tune(choices);
}

TuneReport tune_problem(Device& device, const GemmProblem& problem, const TuneOptions& options,
                        const Timer& timer) {
  const std::vector<GemmChoice> choices = operations::tuning_candidates(
      problem, device.properties(), static_cast<std::size_t>(options.candidates));
  const bool keep = options.keep && choices.size() > 1;  // a single candidate is not worth storing
  if (keep) require_place(operations::tuned_products(device).file());
  TuneReport report{.product = operations::key_of(problem),
                    .candidates = tune(device, problem, choices, options, timer),
                    .file = {}};
  const auto chosen = std::find_if(report.candidates.begin(), report.candidates.end(),
                                   [](const TuneCandidate& one) { return one.chosen; });
  if (!keep || chosen == report.candidates.end()) return report;
  const TuneCandidate& model = report.candidates.front();  // a wrong one has no time
  operations::TunedProducts& products = operations::tuned_products(device);
  products.keep(report.product,
                {.variant = chosen->variant,
                 .plan = chosen->plan,
                 .note = chosen->note,
                 .ms = chosen->time_ms,
                 .model = model.note.empty() ? model.variant : model.variant + ' ' + model.note,
                 .model_ms = model.time_ms > 0.0 ? model.time_ms : chosen->time_ms});
  report.file = products.file().string();
  return report;
}

}  // namespace tilescope::tuning
