// Whole rows and columns of a product, worked out in float64: what results are checked against
// where the whole of it would take a CPU minutes.
#pragma once

#include <memory>
#include <string>
#include <tilescope/array.hpp>
#include <vector>

#include "operands.hpp"

namespace tilescope::products {

/// The result of a check. Errors are relative to the sum of |a||b| of their element.
struct Accuracy {
  std::size_t checked = 0;
  std::size_t wrong = 0;       ///< elements outside their bound
  std::size_t not_finite = 0;  ///< in all of C; the operands are finite
  double largest = 0.0, mean = 0.0;
  std::string first_wrong;  ///< one line on it

  bool ok() const { return wrong == 0 && not_finite == 0; }
};

class SampledProduct {
 public:
  /// 32 random rows and 32 random columns of A * B, or all where there are fewer, from operands as
  /// `problem`'s precision multiplies them. Does not own the operands.
  SampledProduct(const operations::GemmProblem& problem, const HostOperands& operands,
                 std::uint64_t seed);

  /// Checks the sampled elements of a dense row-major C, for a problem with or without its bias,
  /// and adds the errors up: `found.mean` becomes their sum. To the bounds `slack` times the sum of
  /// |a||b| is added, for products that are known to be of operands that were rounded otherwise.
  void check(const ConstArrayView& c, double slack, bool with_bias, Accuracy& found) const;

 private:
  static constexpr std::size_t most = 32;
  // Element (output o, sample s) of the exact products and of the sums of magnitudes.
  struct Side {
    std::vector<std::int64_t> samples;  ///< rows or columns of C
    std::vector<double> values, magnitudes;
  };
  // Adds beta * C and the bias of an element.
  void add_rest(std::int64_t i, std::int64_t j, bool with_bias, double& value,
                double& magnitude) const;
  void check_side(const ConstArrayView& c, const Side& side, bool rows, double slack,
                  bool with_bias, Accuracy& found) const;

  operations::GemmProblem problem_;
  const HostOperands& operands_;  // for what is added
  Side rows_, columns_;
};

/// The same for a problem of one product; of a batch: the first, the last, and some between them.
class SampledBatch {
 public:
  SampledBatch(const operations::GemmProblem& problem, const HostOperands& operands,
               std::uint64_t seed);
  /// Checks these, and that all elements of C are finite.
  Accuracy check(const ConstArrayView& c, double slack = 0.0, bool with_bias = true) const;

 private:
  // A product of the batch, with operands of its own.
  struct Sample {
    std::size_t number = 0;
    std::unique_ptr<HostOperands> operands;
    std::unique_ptr<SampledProduct> product;
  };
  std::size_t elements_ = 0;  // of one C
  std::vector<Sample> samples_;
};

}  // namespace tilescope::products
