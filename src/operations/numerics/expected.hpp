// The right answer of a problem, and the bound on a correct variant's error.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "operations/numerics/host_array.hpp"

namespace tilescope::operations {

/// Results have up to 2^30 elements, so the answer is requested piece by piece, from any thread. An
/// operation that can compute it from its inputs stores nothing.
class Expected {
 public:
  virtual ~Expected() = default;
  virtual std::size_t size() const = 0;
  /// Values and bounds of elements [first, first + values.size()); an element passes if it differs
  /// from its value by at most its bound.
  virtual void get(std::size_t first, std::span<double> values, std::span<double> bounds) const = 0;
};

/// Values and bounds computed beforehand.
class StoredExpected final : public Expected {
 public:
  StoredExpected() = default;
  StoredExpected(std::vector<double> values, std::vector<double> bounds)
      : values_(std::move(values)), bounds_(std::move(bounds)) {}
  std::size_t size() const override { return values_.size(); }
  void get(std::size_t first, std::span<double> values, std::span<double> bounds) const override;

 private:
  std::vector<double> values_, bounds_;
};

/// An array with one bound for all elements; 0 for exact results.
class ArrayExpected final : public Expected {
 public:
  explicit ArrayExpected(HostArray values, double bound = 0.0)
      : values_(std::move(values)), bound_(bound) {}
  std::size_t size() const override { return values_.count(); }
  void get(std::size_t first, std::span<double> values, std::span<double> bounds) const override;

 private:
  HostArray values_;
  double bound_;
};

/// Values and bounds computed from the inputs, piece by piece.
class ComputedExpected final : public Expected {
 public:
  using Compute =
      std::function<void(std::size_t first, std::span<double> values, std::span<double> bounds)>;
  ComputedExpected(std::size_t size, Compute compute) : size_(size), compute_(std::move(compute)) {}
  std::size_t size() const override { return size_; }
  void get(std::size_t first, std::span<double> values, std::span<double> bounds) const override {
    compute_(first, values, bounds);
  }

 private:
  std::size_t size_;
  Compute compute_;
};

}  // namespace tilescope::operations
