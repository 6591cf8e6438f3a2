#include "contest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <tilescope/pinned.hpp>

#include "measure/timing.hpp"
#include "operations/gemm/dispatch/dispatch.hpp"
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
  if (auto why = rung.refusal(problem.shape, device)) return why;
  if (rung.padded(problem.shape) != problem.shape) return "wants padded operands";
  return std::nullopt;
}

// One that takes part, and its result so far.
struct Contender {
  Result result;
  std::unique_ptr<GemmRun> run;
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
        output_(device, sets_.c_bytes()) {}

  std::vector<Result> hold() {
    add_peers();
    add_ours();
    for (Contender& contender : contenders_) verify(contender, 0, "");
    if (device_.kind() == DeviceKind::cuda) {
      for (int round = 0; round < rounds; ++round) time_all(round % 2 != 0);
      for (Contender& contender : contenders_) verify(contender, 1, " after timing");
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
  static constexpr int rounds = 4;
  static constexpr double budget_ms = 260.0;

  // Adds what `make` prepares; a failure of it is the result.
  void add(Result result, const std::function<std::unique_ptr<GemmRun>()>& make) {
    contenders_.push_back({.result = std::move(result), .run = nullptr});
    Contender& contender = contenders_.back();
    guarded(contender, [&] {
      contender.run = make();
      contender.result.note = contender.run->note();
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
    if (auto why = CublasGemm::refusal(problem_, device_)) {
      fastest.trouble = *why;
      contenders_.push_back({.result = std::move(fastest), .run = nullptr});
      return;
    }
    int chosen = 0;
    add(std::move(fastest), [&] {
      auto peer = std::make_unique<CublasGemm>(device_, problem_);
      peer->choose_fastest(sets_.addresses());
      chosen = peer->chosen();
      return peer;
    });
    if (chosen == 0) return;
    add(std::move(first), [&] { return std::make_unique<CublasGemm>(device_, problem_); });
  }

  bool wanted(std::string_view name) const {
    const auto& names = options_.variants;
    return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
  }

  void add_ours() {
    const DeviceProperties& properties = device_.properties();
    const std::string_view best = operations::best_gemm_variant(problem_, properties).name;
    const auto tuned = operations::tuned_choice(problem_, device_);
    for (const operations::GemmVariant& variant : operations::gemm_variants()) {
      const bool is_best = variant.name == best;
      if (!wanted(variant.name) && !(is_best && wanted(dispatched))) continue;
      Result result{.variant = std::string(variant.name), .dispatched = is_best && !tuned};
      if (auto why = variant.refusal(problem_, properties)) result.trouble = *why;
      add(std::move(result), [&] { return variant.prepare(device_, problem_); });
    }
    if (tuned && wanted(dispatched)) {
      add({.variant = "tuned", .dispatched = true},
          [&] { return tuned->prepare(device_, problem_); });
      std::string& note = contenders_.back().result.note;
      note = fmt::format("{} {}", tuned->variant->name, note);
    }
    for (const std::string& text : options_.tiles) {
      const operations::TensorTile tile = operations::parse_tensor_tile(text);
      Result result{.variant = text};
      if (auto why = operations::tensor_tiles_refusal(problem_, properties)) result.trouble = *why;
      add(std::move(result),
          [&] { return operations::prepare_tensor_tiles(device_, problem_, tile); });
    }
    if (problem_.precision != Precision::fp32 || !wanted(ladder_rung)) return;
    Result result{.variant = std::string(ladder_rung)};
    if (auto why = ladder_refusal(problem_, properties)) result.trouble = *why;
    add(std::move(result), [&] { return std::make_unique<LadderRun>(device_, problem_.shape); });
  }

  void verify(Contender& contender, int input_set, std::string_view when) {
    guarded(contender, [&] {
      sets_.poison(input_set);
      contender.run->run(sets_.at(input_set));
      device_.synchronize();
      device_.copy_to_host(output_.data(), sets_.at(input_set).c, sets_.c_bytes());
      const ConstArrayView c{problem_.c.type, sets_.c_bytes() / size_of(problem_.c.type),
                             output_.data()};
      Result& result = contender.result;
      result.accuracy = expected_.check(c);
      const double slack = operations::peer_slack(problem_.precision);
      if (!result.accuracy.ok() && result.is_peer && slack > 0.0) {
        result.accuracy = expected_.check(c, slack);
        if (when.empty()) result.note += "; rounds operands to TF32";
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

  // A GPU at its power limit lowers its clocks while it works: whoever was first in a round is last
  // in the next.
  void time_all(bool backwards) {
    std::vector<Contender*> order;
    for (Contender& contender : contenders_) order.push_back(&contender);
    if (backwards) std::reverse(order.begin(), order.end());
    for (Contender* const contender : order) {
      guarded(*contender, [&] {
        constexpr int most_samples = 70;  // of one round: the queue of the driver is not endless
        const measure::Timing timing =
            measure::time_on_device(device_, [&](int i) { contender->run->run(sets_.at(i)); },
                                    {.least_samples = (options_.samples + rounds - 1) / rounds,
                                     .most_samples = std::max(most_samples, options_.samples),
                                     .budget_ms = budget_ms / rounds,
                                     .head_start = [this] { occupy(); }});
        auto& all = contender->result.samples_ms;
        all.insert(all.end(), timing.samples_ms.begin(), timing.samples_ms.end());
      });
    }
  }

  Device& device_;
  const GemmProblem& problem_;
  const ContestOptions& options_;
  HostOperands operands_;
  SampledProduct expected_;
  DeviceSets sets_;
  PinnedBuffer output_;
  Buffer scratch_;
  std::vector<Contender> contenders_;
};

}  // namespace

double Result::median_ms() const {
  return measure::Timing{samples_ms}.median_ms();
}

std::vector<Result> contest(Device& device, const GemmProblem& problem,
                            const ContestOptions& options) {
  return Contest(device, problem, options).hold();
}

}  // namespace tilescope::products
