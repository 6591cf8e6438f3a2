// Tuning on the emulated device, with times that the test gives.
#include "tuning/product_tuning.hpp"

#include <stdlib.h>

#include <cmath>
#include <map>
#include <set>

#include "operations/gemm/dispatch/tuned_products.hpp"
#include "operations/gemm/general/general.hpp"
#include "support/matrices.hpp"
#include "support/temporary_folder.hpp"
#include "tuning/tuning_data.hpp"

namespace tilescope::tuning {
namespace {

using operations::dense_problem;
using operations::GemmAddresses;
using operations::GemmChoice;
using operations::GemmProblem;
using operations::GemmRun;
using operations::GemmVariant;
using testing::error_of;
using ::testing::HasSubstr;

/// The damage that a defective kernel does after `general` has done its work.
using Defect = void (*)(Device& device, const GemmProblem& problem, const GemmAddresses& at);

class DefectiveRun final : public GemmRun {
 public:
  DefectiveRun(Device& device, const GemmProblem& problem, Defect defect)
      : device_(device),
        problem_(problem),
        defect_(defect),
        general_(operations::prepare_general(device, problem)) {}
  void run(const GemmAddresses& addresses, const Stream& stream) override {
    general_->run(addresses, stream);
    defect_(device_, problem_, addresses);
  }

 private:
  Device& device_;
  GemmProblem problem_;
  Defect defect_;
  std::unique_ptr<GemmRun> general_;
};

template <Defect defect>
std::unique_ptr<GemmRun> prepare_defective(Device& device, const GemmProblem& problem) {
  return std::make_unique<DefectiveRun>(device, problem, defect);
}

std::optional<std::string> never(const GemmProblem&, const DeviceProperties&) {
  return std::nullopt;
}

template <Defect defect>
const GemmVariant* variant(std::string_view name) {
  static const GemmVariant made{.name = name,
                                .idea = "",
                                .source = "",
                                .refusal = never,
                                .prepare = prepare_defective<defect>};
  return &made;
}

void nothing(Device&, const GemmProblem&, const GemmAddresses&) {}

// The element that a sample of rows and columns misses.
DeviceAddress hidden_element(const GemmProblem& problem, const GemmAddresses& at) {
  return at.c + static_cast<std::size_t>(problem.c.leading + 1) * size_of(problem.c.type);
}

void one_bit(Device& device, const GemmProblem& problem, const GemmAddresses& at) {
  std::uint8_t byte = 0;
  device.copy_to_host(&byte, hidden_element(problem, at), 1);
  byte ^= 1U;
  device.copy_to_device(hidden_element(problem, at), &byte, 1);
}

void not_written(Device& device, const GemmProblem& problem, const GemmAddresses& at) {
  device.fill(hidden_element(problem, at), 0xFF, size_of(problem.c.type));
}

void beyond_the_row(Device& device, const GemmProblem& problem, const GemmAddresses& at) {
  const auto row_end = static_cast<std::size_t>(problem.shape.n) * size_of(problem.c.type);
  device.fill(at.c + row_end, 0, 1);
}

bool is_timed = false;
void later(Device& device, const GemmProblem& problem, const GemmAddresses& at) {
  if (is_timed) not_written(device, problem, at);
}

[[noreturn]] void out_of_memory(Device&, const GemmProblem&, const GemmAddresses&) {
  throw Error(ErrorKind::no_device, "out of memory");
}

class Tuning : public ::testing::Test {
 protected:
  Tuning() { ::setenv("TILESCOPE_CACHE", folder_.path().c_str(), 1); }

  // With gaps between the rows.
  static GemmProblem problem() {
    GemmProblem p =
        dense_problem({50, 60, 70}, Precision::fp32, DataType::float32, DataType::float32);
    p.c.leading = 64;
    p.c.batch_stride = 64 * p.shape.m;
    return p;
  }

  // Every run takes the time in `times_` for its variant.
  Timer timer() {
    return [this](Device&, const GemmChoice& choice, const std::function<void(int)>& run,
                  const measure::TimingOptions& options) {
      run(0);
      ++timed_[std::string(choice.variant->name)];
      return measure::Timing{std::vector<double>(static_cast<std::size_t>(options.least_samples),
                                                 times_.at(std::string(choice.variant->name)))};
    };
  }

  std::vector<TuneCandidate> tune_variants(const std::vector<const GemmVariant*>& variants,
                                           const TuneOptions& options = {}) {
    std::vector<GemmChoice> choices;
    for (const GemmVariant* one : variants) choices.push_back({.variant = one});
    return tune(*device_, problem(), choices, options, timer());
  }

  static std::string chosen(const std::vector<TuneCandidate>& candidates) {
    std::string names;
    for (const TuneCandidate& one : candidates) names += one.chosen ? one.variant : "";
    return names;
  }

  testing::TemporaryFolder folder_;
  std::shared_ptr<Device> device_ = Device::open("emulated");
  std::map<std::string, double> times_;
  std::map<std::string, int> timed_;
  const GemmVariant* general_ = &operations::gemm_variant("general");
  const GemmVariant* right_ = variant<nothing>("right");
};

TEST_F(Tuning, TheFastestIsChosen) {
  times_ = {{"general", 2.0}, {"right", 1.0}};
  const auto candidates = tune_variants({general_, right_});
  ASSERT_EQ(candidates.size(), 2u);
  EXPECT_EQ(chosen(candidates), "right");
  EXPECT_TRUE(candidates[0].by_model);
  EXPECT_EQ(candidates[0].verdict, TuneVerdict::ok);
  EXPECT_EQ(candidates[0].time_ms, 2.0);
  EXPECT_EQ(candidates[1].time_ms, 1.0);
}

TEST_F(Tuning, TheModelsChoiceStaysWithinOnePercent) {
  times_ = {{"general", 1.009}, {"right", 1.0}};
  EXPECT_EQ(chosen(tune_variants({general_, right_})), "general");
  times_["general"] = 1.02;
  EXPECT_EQ(chosen(tune_variants({general_, right_})), "right");
}

TEST_F(Tuning, AGainThatIsNotThereAgainIsNotTaken) {
  times_ = {{"general", 2.0}, {"right", 1.0}};
  const Timer plain = timer();
  const auto luck = [&](Device& device, const GemmChoice& choice,
                        const std::function<void(int)>& run,
                        const measure::TimingOptions& options) {
    if (timed_["right"] == 2) times_["right"] = 2.1;
    return plain(device, choice, run, options);
  };
  EXPECT_EQ(
      chosen(tune(*device_, problem(), {{.variant = general_}, {.variant = right_}}, {}, luck)),
      "general");
}

TEST_F(Tuning, WhoIsClearlySlowerIsTimedOnce) {
  times_ = {{"general", 3.0}, {"right", 1.0}, {"slow", 2.0}};
  const auto slow = *variant<nothing>("right");
  GemmVariant other = slow;
  other.name = "slow";
  const auto candidates = tune_variants({general_, right_, &other});
  EXPECT_EQ(candidates[2].verdict, TuneVerdict::slower);
  EXPECT_EQ(candidates[2].time_ms, 2.0);
  EXPECT_EQ(timed_["slow"], 1);
  // Once at first, once among the finalists, once against each other.
  EXPECT_EQ(timed_["right"], 3);
  EXPECT_EQ(timed_["general"], 3) << "what the others are compared with is timed to the end";
}

TEST_F(Tuning, AWrongOneIsNeverChosenHoweverFast) {
  times_ = {{"general", 2.0}, {"one_bit", 0.1}, {"not_written", 0.1}, {"beyond_the_row", 0.1}};
  const auto candidates =
      tune_variants({general_, variant<one_bit>("one_bit"), variant<not_written>("not_written"),
                     variant<beyond_the_row>("beyond_the_row")});
  EXPECT_EQ(chosen(candidates), "general");
  for (std::size_t i = 1; i < candidates.size(); ++i) {
    EXPECT_EQ(candidates[i].verdict, TuneVerdict::wrong) << candidates[i].variant;
    EXPECT_EQ(candidates[i].time_ms, 0.0);
    EXPECT_THAT(candidates[i].reason, HasSubstr("1 of 3,200 elements are wrong, the first at "));
    EXPECT_EQ(timed_.count(candidates[i].variant), 0u);
  }
  EXPECT_THAT(candidates[1].reason, HasSubstr("first at 65"));
  EXPECT_THAT(candidates[3].reason, HasSubstr("first at 60"));
}

TEST_F(Tuning, NorOneThatGoesWrongWhileItIsTimed) {
  is_timed = false;
  times_ = {{"general", 2.0}, {"later", 1.0}};
  const Timer plain = timer();
  const auto candidates =
      tune(*device_, problem(), {{.variant = general_}, {.variant = variant<later>("later")}}, {},
           [&](auto&&... arguments) {
             is_timed = true;
             return plain(arguments...);
           });
  EXPECT_EQ(chosen(candidates), "general");
  EXPECT_EQ(candidates[1].verdict, TuneVerdict::wrong);
}

template <int factor_percent, bool last_bit>
void scaled(Device& device, const GemmProblem& problem, const GemmAddresses& at) {
  float value = 0;
  device.copy_to_host(&value, hidden_element(problem, at), sizeof value);
  value = last_bit ? std::nextafter(value, 100.0F) : value * (factor_percent / 100.0F);
  device.copy_to_device(hidden_element(problem, at), &value, sizeof value);
}

TEST_F(Tuning, RealsAreHeldToTheBoundOfTheirElement) {
  for (const Order order : {Order::row_major, Order::column_major}) {
    GemmProblem p = dense_problem({50, 300, 70}, Precision::fp32, DataType::float32,
                                  DataType::float32, order, order);
    p.batch = 2;
    const TuningData data(*device_, p, 1);
    const auto defect = [&](Defect what) {
      DefectiveRun run(*device_, p, what);
      return data.defect_of_reals(run, 0);
    };
    EXPECT_EQ(defect(nothing), "");
    EXPECT_EQ((defect(scaled<100, true>)), "");
    EXPECT_THAT((defect(scaled<99, false>)), HasSubstr("1 of 30,000 elements are wrong"));
    EXPECT_THAT((defect(scaled<101, false>)), HasSubstr("the first at 301"));
    EXPECT_THAT(defect(not_written), HasSubstr("nan"));
  }
}

TEST_F(Tuning, AWrongModelsChoiceIsReplaced) {
  times_ = {{"one_bit", 0.1}, {"right", 1.0}};
  EXPECT_EQ(chosen(tune_variants({variant<one_bit>("one_bit"), right_})), "right");
}

TEST_F(Tuning, WhatCannotRunIsReportedAndTheOthersGoOn) {
  times_ = {{"general", 2.0}, {"out_of_memory", 0.1}, {"right", 1.0}};
  const auto candidates =
      tune_variants({general_, variant<out_of_memory>("out_of_memory"), right_});
  EXPECT_EQ(chosen(candidates), "right");
  EXPECT_EQ(candidates[1].verdict, TuneVerdict::failed);
  EXPECT_EQ(candidates[1].reason, "out of memory");
}

TEST_F(Tuning, WhereNoneIsRightNoneIsChosen) {
  EXPECT_EQ(chosen(tune_variants({variant<one_bit>("one_bit")})), "");
}

TEST_F(Tuning, EachIsToldOf) {
  times_ = {{"general", 2.0}, {"right", 1.0}};
  std::vector<std::string> told;
  tune_variants({general_, right_},
                {.on_candidate = [&](const TuneCandidate& one) { told.push_back(one.variant); }});
  EXPECT_EQ(told, (std::vector<std::string>{"general", "right"}));
}

TEST_F(Tuning, CanBeInterrupted) {
  times_ = {{"general", 2.0}, {"right", 1.0}};
  std::atomic<bool> cancel{false};
  EXPECT_THAT(error_of(ErrorKind::usage,
                       [&] {
                         tune_variants({general_, right_},
                                       {.on_candidate = [&](const auto&) { cancel = true; },
                                        .cancel = &cancel});
                       }),
              HasSubstr("interrupted"));
  EXPECT_EQ(timed_.count("right"), 0u);
}

// Kernels of every option are right: nothing is to be reported.
TEST_F(Tuning, RightResultsOfAllKindsAreNotTakenForWrong) {
  for (const Precision precision : {Precision::bf16, Precision::fp16, Precision::tf32}) {
    for (int kind = 0; kind < (precision == Precision::bf16 ? 6 : 2); ++kind) {
      const DataType type = operations::operand_type(precision);
      const Order order = kind == 2 ? Order::column_major : Order::row_major;
      GemmProblem p = dense_problem({33, 70, 129}, precision, type,
                                    kind == 0 ? type : DataType::float32, order, order);
      if (kind == 1) p.beta = 0.5;
      if (kind == 2) p.has_bias = true;
      if (kind == 3) p.has_bias = p.bias_per_row = true;
      if (kind == 4) p.activation = Activation::relu;
      if (kind == 5) p.activation = Activation::gelu;
      p.batch = kind == 1 ? 3 : 1;
      if (kind == 1) p.b.batch_stride = 0;
      const auto candidates =
          tune(*device_, p, operations::tuning_candidates(p, device_->properties(), 12), {});
      std::set<std::string_view> variants;
      for (const TuneCandidate& one : candidates) {
        variants.insert(one.variant);
        EXPECT_NE(one.verdict, TuneVerdict::wrong) << one.variant << ": " << one.reason;
        EXPECT_NE(one.verdict, TuneVerdict::failed) << one.variant << ": " << one.reason;
        EXPECT_GT(one.time_ms, 0.0);
      }
      std::set<std::string_view> expected{"general", "mma_sync", "short_k", "short_k_mma"};
      if (p.batch > 1) expected.insert("small_products");
      EXPECT_EQ(variants, expected);
    }
  }
}

class TuneMatmul : public Tuning {
 protected:
  MatmulReport multiply() {
    const MatrixView c = c_.view();
    return matmul(*device_, a_.view(), b_.view(), c, {.precision = Precision::fp16});
  }
  TuneReport tune_product(bool general_is_fast, bool keep = true) {
    times_ = {{"general", general_is_fast ? 1.0 : 2.0},
              {"mma_sync", general_is_fast ? 2.0 : 1.0},
              {"short_k_mma", 3.0},
              {"short_k", 4.0}};
    // The matrices below as matmul() lays them out: rows at multiples of 16 bytes.
    GemmProblem p =
        dense_problem({30, 40, 50}, Precision::fp16, DataType::float16, DataType::float16);
    p.a.leading = 56;
    p.a.batch_stride = 30 * 56;
    return tune_problem(*device_, p, {.keep = keep}, timer());
  }

  testing::TestMatrix a_{DataType::float16, 30, 50}, b_{DataType::float16, 50, 40},
      c_{DataType::float16, 30, 40};
};

TEST_F(TuneMatmul, MatmulTakesWhatWasTuned) {
  a_.fill_random(1);
  b_.fill_random(2);
  EXPECT_EQ(multiply().variant, "mma_sync");
  EXPECT_EQ(multiply().note, "");
  const TuneReport report = tune_product(true);
  EXPECT_EQ(report.file, folder_ / "tuned/emulated-nvidia-h200-sm_90-132-sms.json");
  EXPECT_EQ(multiply().variant, "general");
  EXPECT_EQ(multiply().note, "tuned");
  // Another process reads the same.
  EXPECT_EQ(operations::TunedProducts(report.file).find(report.product)->variant, "general");
  EXPECT_EQ(tuned_matmuls().at(0).variant, "general");
  EXPECT_EQ(tuned_matmuls().at(0).model, "mma_sync");
  EXPECT_EQ(tuned_matmuls().at(0).model_time_ms, 2.0);
  // A variant that is named is taken.
  EXPECT_EQ(matmul(*device_, a_.view(), b_.view(), c_.view(),
                   {.variant = "mma_sync", .precision = Precision::fp16})
                .note,
            "");
  tune_product(false);
  EXPECT_EQ(multiply().variant, "mma_sync");
  EXPECT_EQ(multiply().note, "tuned");
  EXPECT_EQ(forget_tuned_matmuls([](const std::string&) { return true; }), 1u);
  EXPECT_EQ(multiply().note, "");
}

TEST_F(TuneMatmul, OnlyShownOnesAreNotKept) {
  EXPECT_EQ(tune_product(true, false).file, "");
  EXPECT_EQ(multiply().variant, "mma_sync");
  EXPECT_TRUE(tuned_matmuls().empty());
}

TEST_F(TuneMatmul, TunesTheProductThatMatmulMakes) {
  const TuneReport report = tune_matmul(
      *device_, {.shape = {30, 40, 50}, .precision = Precision::fp16, .type = DataType::float16});
  EXPECT_EQ(report.product, tune_product(true).product);
  // general, mma_sync and four plans of short_k_mma and short_k each
  EXPECT_EQ(report.candidates.size(), 10u);
  // For float32 matrices operands are converted, and C keeps its type.
  EXPECT_THAT(tune_matmul(*device_, {.shape = {30, 40, 50}, .precision = Precision::fp16}).product,
              HasSubstr("A float16 by rows of 56, B float16 by rows of 40, C float32"));
  // A C by columns is the transposed product.
  EXPECT_THAT(tune_matmul(*device_, {.shape = {30, 40, 50},
                                     .precision = Precision::fp16,
                                     .type = DataType::float16,
                                     .c_order = Order::column_major,
                                     .has_bias = true})
                  .product,
              HasSubstr("40x30x50 fp16, A float16 by columns"));
}

// Rows as matmul() lays them out in device memory.
TEST_F(TuneMatmul, RowsOfOneKibibyteBeginWithACacheLine) {
  const auto rows_of_a = [&](std::int64_t k) {
    return tune_matmul(
               *device_,
               {.shape = {8, 8, k}, .precision = Precision::fp16, .type = DataType::float16})
        .product;
  };
  EXPECT_THAT(rows_of_a(511), HasSubstr("A float16 by rows of 512,"));
  EXPECT_THAT(rows_of_a(513), HasSubstr("A float16 by rows of 576,"));
  EXPECT_THAT(rows_of_a(501), HasSubstr("A float16 by rows of 504,"));
}

TEST_F(TuneMatmul, OneCandidateIsNotKept) {
  const auto without_tensor_cores = Device::open("emulated:t4");
  const TuneReport report =
      tune_matmul(*without_tensor_cores, {.shape = {8, 8, 8}, .type = DataType::float64});
  ASSERT_EQ(report.candidates.size(), 1u);
  EXPECT_TRUE(report.candidates[0].chosen);
  EXPECT_EQ(report.file, "");
}

TEST_F(TuneMatmul, WhatCannotBeTunedIsSaid) {
  EXPECT_THAT(error_of(ErrorKind::no_device,
                       [] {
                         tune_matmul(*Device::open("cpu"), {.shape = {8, 8, 8}});
                       }),
              HasSubstr("nothing to tune"));
  EXPECT_THAT(error_of(ErrorKind::usage,
                       [&] {
                         tune_matmul(*device_, {.shape = {8, 0, 8}});
                       }),
              HasSubstr("8 x 0 x 8"));
  EXPECT_THAT(error_of(ErrorKind::usage,
                       [&] {
                         tune_matmul(*device_, {.shape = {8, 8, 8}, .type = DataType::int32});
                       }),
              HasSubstr("int32"));
}

TEST_F(TuneMatmul, ADamagedFileIsSaidAndTheModelDecides) {
  testing::TemporaryFolder folder;
  ::setenv("TILESCOPE_CACHE", folder.path().c_str(), 1);
  EXPECT_EQ(tuning_trouble(*device_), "");
  testing::TemporaryFolder other;
  ::setenv("TILESCOPE_CACHE", other.path().c_str(), 1);
  std::filesystem::create_directory(other / "tuned");
  testing::write_file(other / "tuned/emulated-nvidia-h200-sm_90-132-sms.json", "{]");
  EXPECT_THAT(tuning_trouble(*device_), HasSubstr("is damaged"));
  EXPECT_EQ(multiply().variant, "mma_sync");
  std::vector<std::string> troubles;
  EXPECT_TRUE(tuned_matmuls(&troubles).empty());
  EXPECT_EQ(troubles.size(), 1u);
  EXPECT_EQ(forget_tuned_matmuls([](const auto&) { return true; }), 0u);
  EXPECT_EQ(tuned_matmuls(&(troubles = {})).size() + troubles.size(), 0u);
}

}  // namespace
}  // namespace tilescope::tuning
