#include "operations/gemm/dispatch/as_fp32.hpp"

#include <algorithm>

#include "operations/gemm/dispatch/gemm_variants.hpp"
#include "operations/gemm/hopper/split_tiles.hpp"

namespace tilescope::operations {
namespace {

class AsFp32Run final : public GemmRun {
 public:
  AsFp32Run(Device& device, const GemmProblem& problem)
      : run_(prepare_best_fp32(device, problem)) {}
  void run(const GemmAddresses& addresses, const Stream& stream) override {
    run_->run(addresses, stream);
  }
  std::string note() const override { return "computed as fp32, which is faster at this size"; }

 private:
  std::unique_ptr<GemmRun> run_;
};

}  // namespace

std::unique_ptr<GemmRun> prepare_best_fp32(Device& device, const GemmProblem& problem) {
  GemmProblem in_fp32 = problem;
  in_fp32.precision = Precision::fp32;
  return best_gemm_variant(in_fp32, device.properties()).prepare(device, in_fp32);
}

std::optional<std::string> as_fp32_refusal(const GemmProblem& problem,
                                           const DeviceProperties& device) {
  if (const auto why = split_tiles_refusal(problem, device)) return why;
  // Where the parts overtook FFMAs on an H200.
  constexpr std::int64_t least_extent = 512;
  constexpr double least_flops = 6e9;
  const MatmulShape& s = problem.shape;
  if (std::min(s.m, s.n) >= least_extent &&
      s.flops() * static_cast<double>(problem.batch) >= least_flops) {
    return "split_tiles is faster at this size";
  }
  return std::nullopt;
}

std::unique_ptr<GemmRun> prepare_as_fp32(Device& device, const GemmProblem& problem) {
  return std::make_unique<AsFp32Run>(device, problem);
}

}  // namespace tilescope::operations
