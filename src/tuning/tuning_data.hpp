// Operands of a product that is tuned, and the verification of its results.
#pragma once

#include <memory>
#include <string>
#include <tilescope/device.hpp>
#include <vector>

#include "operations/gemm/problem/gemm_problem.hpp"
#include "operations/numerics/host_array.hpp"

namespace tilescope::tuning {

/// The matrices of a problem on a device, including gaps between their rows. There are two kinds.
/// Small integers, whose sums are exact in every order, so that every right result is the same if
/// alpha and beta are powers of two. Random reals, on which runs are timed, at enough addresses to
/// exceed the device's L2 cache.
class TuningData {
 public:
  /// Computes the references with the variant `general`, and samples of them on the host. Throws
  /// Error(wrong_result) if the two differ.
  TuningData(Device& device, const operations::GemmProblem& problem, std::uint64_t seed);

  /// Queues run `i` on random reals.
  void run(operations::GemmRun& run, int i) const;

  /// The error in the run's results for integers; empty: none.
  std::string defect_of_integers(operations::GemmRun& run) const;
  /// The same for run `i` on random reals, each element to twice the bound of its precision.
  std::string defect_of_reals(operations::GemmRun& run, int i) const;

 private:
  // Operands on the host and once or several times on the device; C as `general` computed it.
  struct Set {
    operations::HostArray a, b, c_before, bias, c;
    std::vector<Buffer> buffers;
    std::vector<operations::GemmAddresses> addresses;
  };
  Set made(bool integers, std::size_t copies, std::uint64_t seed);
  void require_right(const Set& set, bool exact) const;
  void measure_magnitudes();
  operations::HostArray result(const Set& set, operations::GemmRun& run, std::size_t copy) const;
  std::string defect(const Set& set, operations::GemmRun& run, std::size_t copy, bool exact) const;
  double bound(std::size_t index, double value, bool exact) const;

  Device& device_;
  operations::GemmProblem problem_;
  std::unique_ptr<operations::GemmRun> general_;
  Set integers_, reals_;
  std::vector<double> row_norms_, column_norms_;  // for the reals' A and B, matrix after matrix
};

}  // namespace tilescope::tuning
