// cuBLAS at its best: runs a GemmProblem by the fastest algorithm that cublasLt's heuristics
// propose, not only by the first.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "device/cuda/cublas_lt.hpp"
#include "operations/gemm/problem/gemm_problem.hpp"

namespace tilescope::operations {

class CublasGemm final : public GemmRun {
 public:
  /// Why cublasLt cannot run `problem` on `device`; nothing if it can.
  static std::optional<std::string> refusal(const GemmProblem& problem, const Device& device);

  /// For problems that are not refused. `promotes_sums`: as in device::LtProduct. Throws what
  /// CublasLt throws.
  CublasGemm(Device& device, const GemmProblem& problem, bool promotes_sums = true);

  int algorithms() const { return library_.algorithms(); }
  /// The algorithm that run() takes; the library's own first choice at the beginning.
  int chosen() const { return chosen_; }
  void choose(int algorithm) { chosen_ = algorithm; }
  /// Times every algorithm, in turn at each of `addresses`, and chooses the fastest. C is
  /// overwritten; algorithms that refuse to run are skipped. The fastest few of a first look run
  /// for about `budget_ms` each.
  void choose_fastest(std::span<const GemmAddresses> addresses, double budget_ms = 60.0);

  void run(const GemmAddresses& addresses, const Stream& stream = {}) override;
  std::string note() const override;

 private:
  void occupy(int runs);
  double median_ms(int algorithm, std::span<const GemmAddresses> addresses, int samples);

  Device& device_;
  device::CublasLt library_;
  int chosen_ = 0;
  Buffer busy_;  ///< exists while algorithms are timed
};

}  // namespace tilescope::operations
