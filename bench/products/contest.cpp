#include "contest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <tilescope/pinned.hpp>

#include "measure/timing.hpp"
#include "operations/gemm/dispatch/dispatch.hpp"
#include "operations/gemm/dispatch/variant_plans.hpp"
#include "operations/gemm/hopper/tensor_tiles.hpp"
#include "operations/gemm/ladder/cublas_run.hpp"
#include "operations/gemm/problem/accuracy.hpp"
#include "operations/matmul/kernel_product.hpp"

namespace tilescope::products {
namespace {

using operations::CublasGemm;
using operations::GemmProblem;
using operations::GemmRun;

constexpr std::string_view dispatched = "dispatched";
constexpr std::string_view ladder_rung = "warp_tiles";

// The fastest rung of the ladder of single-precision products, where it needs no padding.
class LadderRun final : public GemmRun {
 public:
  LadderRun(Device& device, const MatmulShape& shape)
      : product_(device, operations::matmul_variant(ladder_rung), shape) {}
  void run(const operations::GemmAddresses& at, const Stream& stream) override {
    product_.run(at.a, at.b, at.c, stream);
  }

 private:
  operations::KernelProduct product_;
};

std::optional<std::string> ladder_refusal(const GemmProblem& problem,
                                          const DeviceProperties& device) {
  const operations::MatmulVariant& rung = operations::matmul_variant(ladder_rung);
  const bool is_plain = problem.a.order == Order::row_major &&
                        problem.b.order == Order::row_major && problem.beta == 0.0 &&
                        !problem.has_bias;
  if (problem.batch > 1) return "takes no batches";
  if (!is_plain) return "takes row-major operands and adds nothing";
  if (auto why = rung.refusal(problem.shape, device)) return why;
  if (rung.padded(problem.shape) != problem.shape) return "wants padded operands";
  return std::nullopt;
}

// By which train_plan_networks.py tells plans of a variant apart.
std::vector<double> features_of(const operations::GemmChoice& choice, const GemmProblem& problem,
                                const DeviceProperties& device) {
  if (choice.variant->plan_features == nullptr) return {};
  return choice.variant->plan_features(problem, device, choice.plan);
}

void add_tiles(std::vector<Entry>& entries, Device& device, const GemmProblem& problem,
               const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    const operations::TensorTile tile = operations::parse_tensor_tile(text);
    Result result{.variant = text};
    if (auto why = operations::tensor_tiles_refusal(problem, device.properties())) {
      result.trouble = *why;
    }
    entries.push_back({std::move(result), [tile, &problem](Device& on) {
                         return operations::prepare_tensor_tiles(on, problem, tile);
                       }});
  }
}

GemmProblem without_scales(GemmProblem problem) {
  problem.scale_a = problem.scale_b = {};
  return problem;
}

// One that takes part, and its result so far.
struct Contender {
  Result result;
  std::unique_ptr<GemmRun> run;
  double first_run_ms = 0.0;  // by the host's clock
};

class Contest {
 public:
  Contest(Device& device, const GemmProblem& problem, const ContestOptions& options)
      : device_(device),
        problem_(problem),
        options_(options),
        operands_(random_operands(problem, options.data, options.seed)),
        expected_(problem, operands_, options.seed),
        sets_(device, problem, operands_),
        output_(device, sets_.c_bytes()) {
    if (problem.is_scaled()) {
      expected_of_peer_.emplace(without_scales(problem), operands_, options.seed);
    }
  }

  std::vector<Result> hold() {
    add_peers();
    add_ours();
    for (Contender& contender : contenders_) verify(contender, 0, "");
    if (options_.all_plans) retire_slow();
    if (device_.kind() == DeviceKind::cuda) {
      for (int round = 0; round < rounds_; ++round) {
        time_all(round % 2 != 0);
        if (round == 0 && options_.all_plans) retire_hopeless();
      }
      for (Contender& contender : contenders_) {
        const bool matters = contender.result.is_peer || contender.result.dispatched;
        if (contender.run && (matters || !options_.all_plans)) {
          verify(contender, 1, " after timing");
        }
      }
    }
    std::vector<Result> results;
    for (Contender& contender : contenders_) {
      Result& result = contender.result;
      if (!result.trouble.empty()) result.samples_ms.clear();
      std::sort(result.samples_ms.begin(), result.samples_ms.end());
      results.push_back(std::move(result));
    }
    return results;
  }

 private:
  static constexpr double hopeless = 1.5;  // times the fastest plan of a first round

  // Adds what `make` prepares; a failure of it is the result.
  void add(Result result, const std::function<std::unique_ptr<GemmRun>()>& make) {
    contenders_.push_back({.result = std::move(result), .run = nullptr});
    Contender& contender = contenders_.back();
    guarded(contender, [&] {
      contender.run = make();
      contender.result.note += contender.run->note();
    });
  }

  static void guarded(Contender& contender, const std::function<void()>& work) {
    if (!contender.result.trouble.empty()) return;
    try {
      work();
    } catch (const Error& error) {
      contender.result.trouble = error.what();
      contender.run.reset();
    }
  }

  void add_peers() {
    Result fastest{.variant = "cublas", .is_peer = true};
    Result first{.variant = "cublas_default", .is_peer = true};
    GemmProblem plain = problem_;
    plain.has_bias = false;
    plain = without_scales(plain);
    if (auto why = CublasGemm::refusal(plain, device_)) {
      fastest.trouble = *why;
      contenders_.push_back({.result = std::move(fastest), .run = nullptr});
      return;
    }
    int chosen = 0;
    add(std::move(fastest), [&] {
      auto peer = std::make_unique<CublasGemm>(device_, plain);
      peer->choose_fastest(sets_.addresses(), options_.budget_ms / 4);
      chosen = peer->chosen();
      return peer;
    });
    if (options_.all_plans) return;
    if (chosen != 0) {
      add(std::move(first), [&] { return std::make_unique<CublasGemm>(device_, plain); });
    }
    if (!operations::has_float8_operands(problem_.precision)) return;
    add({.variant = "cublas_fast", .is_peer = true, .is_less_accurate = true}, [&] {
      auto peer = std::make_unique<CublasGemm>(device_, plain, false);
      peer->choose_fastest(sets_.addresses(), options_.budget_ms / 4);
      return peer;
    });
  }

  void add_ours() {
    for (Entry& entry : entries_of(device_, problem_, options_)) {
      add(std::move(entry.result), [&] { return entry.prepare(device_); });
    }
  }

  void verify(Contender& contender, int input_set, std::string_view when) {
    guarded(contender, [&] {
      sets_.poison(input_set);
      device_.synchronize();
      const auto start = std::chrono::steady_clock::now();
      contender.run->run(sets_.at(input_set));
      device_.synchronize();
      const std::chrono::duration<double, std::milli> taken =
          std::chrono::steady_clock::now() - start;
      contender.first_run_ms = taken.count();
      device_.copy_to_host(output_.data(), sets_.at(input_set).c, sets_.c_bytes());
      const ConstArrayView c{problem_.c.type, sets_.c_bytes() / size_of(problem_.c.type),
                             output_.data()};
      Result& result = contender.result;
      const bool with_bias = !result.is_peer;
      const bool lacks_scales = result.is_peer && expected_of_peer_;
      const SampledBatch& expected = lacks_scales ? *expected_of_peer_ : expected_;
      result.accuracy = expected.check(c, 0.0, with_bias);
      const double slack = operations::peer_slack(problem_.precision);
      if (!result.accuracy.ok() && result.is_peer && slack > 0.0) {
        result.accuracy = expected.check(c, slack, with_bias);
        if (when.empty()) {
          result.note += problem_.precision == Precision::tf32 ? "; rounds operands to TF32"
                                                               : "; sums are not exact";
        }
      }
      if (result.accuracy.ok()) return;
      result.wrong = true;
      result.trouble =
          result.accuracy.wrong
              ? fmt::format("{} of {} elements are wrong{}: {}", result.accuracy.wrong,
                            result.accuracy.checked, when, result.accuracy.first_wrong)
              : fmt::format("{} elements are not finite{}", result.accuracy.not_finite, when);
    });
  }

  // Memory writes that take the device longer than the host needs to queue the shortest runs; they
  // also take everybody's operands out of the cache.
  void occupy() {
    constexpr std::size_t bytes = std::size_t{512} << 20U;
    constexpr int times = 6;
    if (scratch_.bytes() == 0) scratch_ = device_.allocate(bytes, "scratch");
    for (int i = 0; i < times; ++i) device_.fill(scratch_.address(), 0, bytes);
  }

  // A GPU at its power limit lowers its clocks within milliseconds, by a tenth where products are
  // large: turns are so short that all contenders see the same clocks, and whoever was first in a
  // round is last in the next.
  void time_all(bool backwards) {
    std::vector<Contender*> order;
    for (Contender& contender : contenders_) order.push_back(&contender);
    if (backwards) std::reverse(order.begin(), order.end());
    for (Contender* const contender : order) {
      if (!contender->run) continue;
      guarded(*contender, [&] {
        constexpr int most_samples = 70;  // of one round: the queue of the driver is not endless
        const measure::Timing timing =
            measure::time_on_device(device_, [&](int i) { contender->run->run(sets_.at(i)); },
                                    {.least_samples = (options_.samples + rounds_ - 1) / rounds_,
                                     .most_samples = std::max(most_samples, options_.samples),
                                     .budget_ms = options_.budget_ms / rounds_,
                                     .head_start = [this] { occupy(); }});
        auto& all = contender->result.samples_ms;
        all.insert(all.end(), timing.samples_ms.begin(), timing.samples_ms.end());
      });
    }
  }

  // Plans that would take seconds are not timed.
  void retire_slow() {
    constexpr double slow_ms = 2.0, factor = 10.0;
    double fastest = std::numeric_limits<double>::infinity();
    for (const Contender& one : contenders_) {
      if (one.run) fastest = std::min(fastest, one.first_run_ms);
    }
    for (Contender& one : contenders_) {
      if (!one.run || one.first_run_ms < std::max(slow_ms, factor * fastest)) continue;
      one.result.trouble = "far slower than others";
      one.run.reset();
    }
  }

  // Plans far behind the fastest keep the samples of one round.
  void retire_hopeless() {
    double fastest = std::numeric_limits<double>::infinity();
    const auto median = [](const Contender& one) {
      return measure::Timing{one.result.samples_ms}.median_ms();
    };
    for (const Contender& one : contenders_) {
      if (!one.result.samples_ms.empty()) fastest = std::min(fastest, median(one));
    }
    for (Contender& one : contenders_) {
      const bool stays = one.result.is_peer || one.result.dispatched;
      if (!stays && !one.result.samples_ms.empty() && median(one) > hopeless * fastest) {
        one.run.reset();
      }
    }
  }

  Device& device_;
  const GemmProblem& problem_;
  const ContestOptions& options_;
  const int rounds_ = options_.all_plans ? 24 : 40;
  HostOperands operands_;
  SampledBatch expected_;
  std::optional<SampledBatch> expected_of_peer_;  // where it lacks scales
  DeviceSets sets_;
  PinnedBuffer output_;
  Buffer scratch_;
  std::vector<Contender> contenders_;
};

}  // namespace

std::vector<Entry> plan_entries(const DeviceProperties& gpu, const GemmProblem& problem,
                                const ContestOptions& options) {
  const std::vector<std::string>& names = options.variants;
  const auto is_named = [&names](std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const bool all = names.empty() || names == std::vector<std::string>{std::string(dispatched)};
  std::vector<Entry> entries;
  constexpr double hopeless = 2.5;  // times what the chosen plan is expected to take
  for (const operations::GemmChoice& choice :
       operations::tuning_candidates(problem, gpu, options.most_plans)) {
    if (!all && !entries.empty() && !is_named(choice.variant->name)) continue;
    // A variant without plans expects no cycles.
    const double chosen = entries.empty() ? 0.0 : entries.front().result.cycles;
    if (chosen > 0.0 && choice.cycles > hopeless * chosen) continue;
    entries.push_back(
        {.result = {.variant = std::string(choice.variant->name),
                    .plan = choice.plan,
                    .cycles = choice.cycles,
                    .features = features_of(choice, problem, gpu),
                    .dispatched = entries.empty()},
         .prepare = [choice, &problem](Device& on) { return choice.prepare(on, problem); }});
  }
  return entries;
}

std::vector<Entry> entries_of(Device& device, const GemmProblem& problem,
                              const ContestOptions& options) {
  if (options.all_plans) {
    std::vector<Entry> entries = plan_entries(device.properties(), problem, options);
    add_tiles(entries, device, problem, options.tiles);
    return entries;
  }
  const auto& names = options.variants;
  const auto is_wanted = [&names](std::string_view name) {
    return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
  };
  std::vector<Entry> entries;
  const DeviceProperties& properties = device.properties();
  const std::string_view best = operations::best_gemm_variant(problem, properties).name;
  const auto tuned = operations::tuned_choice(problem, device);
  for (const operations::GemmVariant& variant : operations::gemm_variants()) {
    const bool is_best = variant.name == best;
    if (!is_wanted(variant.name) && !(is_best && is_wanted(dispatched))) continue;
    Result result{.variant = std::string(variant.name), .dispatched = is_best && !tuned};
    if (auto why = variant.refusal(problem, properties)) result.trouble = *why;
    entries.push_back({std::move(result),
                       [&variant, &problem](Device& on) { return variant.prepare(on, problem); }});
  }
  if (tuned && is_wanted(dispatched)) {
    entries.push_back({{.variant = "tuned", .dispatched = true},
                       [tuned, &problem](Device& on) { return tuned->prepare(on, problem); }});
    entries.back().result.note = fmt::format("{} ", tuned->variant->name);
  }
  add_tiles(entries, device, problem, options.tiles);
  if (problem.precision != Precision::fp32 || !is_wanted(ladder_rung)) return entries;
  Result result{.variant = std::string(ladder_rung)};
  if (auto why = ladder_refusal(problem, properties)) result.trouble = *why;
  entries.push_back({std::move(result), [&problem](Device& on) {
                       return std::make_unique<LadderRun>(on, problem.shape);
                     }});
  return entries;
}

double Result::median_ms() const {
  return measure::Timing{samples_ms}.median_ms();
}

std::vector<Result> contest(Device& device, const GemmProblem& problem,
                            const ContestOptions& options) {
  return Contest(device, problem, options).hold();
}

}  // namespace tilescope::products
