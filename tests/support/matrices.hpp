// Small matrices for tests: values, in any type and storage.
#pragma once

#include <tilescope/matrix.hpp>
#include <vector>

namespace tilescope::testing {

inline constexpr Order both_orders[] = {Order::row_major, Order::column_major};

/// A matrix that owns its elements. Between its vectors lie `gap` unused elements: bytes of 0xAB,
/// which must never change.
class TestMatrix {
 public:
  TestMatrix(DataType type, std::int64_t rows, std::int64_t columns, Order order = Order::row_major,
             std::int64_t gap = 0) {
    view_.type = type;
    view_.rows = rows;
    view_.columns = columns;
    view_.order = order;
    view_.leading = view_.vector_length() + gap;
    storage_.assign(static_cast<std::size_t>(view_.vectors() * view_.leading + 1) * size_of(type),
                    std::byte{0xAB});
    view_.data = storage_.data();
  }
  TestMatrix(const TestMatrix&) = delete;
  TestMatrix& operator=(const TestMatrix&) = delete;

  const MatrixView& view() const { return view_; }

  void set(std::int64_t row, std::int64_t column, double value);
  double get(std::int64_t row, std::int64_t column) const;

  /// Uniform in [-1, 1], the same for the same seed.
  TestMatrix& fill_random(unsigned seed);

  /// Whole numbers from -3 to 3: products of a few hundred terms are exact in every type but
  /// float16.
  TestMatrix& fill_integers(unsigned seed);

  template <typename Value>
  TestMatrix& fill(const Value& value) {
    for (std::int64_t i = 0; i < view_.rows; ++i) {
      for (std::int64_t j = 0; j < view_.columns; ++j) set(i, j, value(i, j));
    }
    return *this;
  }

  /// Whether the bytes between the vectors are unchanged.
  bool gaps_are_untouched() const {
    const std::size_t element = size_of(view_.type);
    for (std::int64_t v = 0; v < view_.vectors(); ++v) {
      for (std::int64_t i = view_.vector_length(); i < view_.leading; ++i) {
        const auto at = static_cast<std::size_t>(v * view_.leading + i) * element;
        for (std::size_t b = 0; b < element; ++b) {
          if (storage_[at + b] != std::byte{0xAB}) return false;
        }
      }
    }
    return true;
  }

 private:
  std::byte* address(std::int64_t row, std::int64_t column);

  std::vector<std::byte> storage_;
  MatrixView view_;
};

/// Element (i, j) of A * B and of |A| * |B|, summed in long double.
struct ExactElement {
  double value, magnitude;
};
ExactElement exact_element(const TestMatrix& a, const TestMatrix& b, std::int64_t i,
                           std::int64_t j);

}  // namespace tilescope::testing
