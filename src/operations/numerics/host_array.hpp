// Arrays in host memory that an operation reads or writes: inputs, and results that are verified.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <tilescope/array.hpp>

namespace tilescope::operations {

/// Elements that this object owns; uninitialised, because they are gigabytes that will be
/// overwritten.
class HostArray {
 public:
  HostArray() = default;
  HostArray(DataType type, std::size_t count);

  DataType type() const { return type_; }
  std::size_t count() const { return count_; }
  std::size_t bytes() const { return count_ * size_of(type_); }
  void* data() { return data_.get(); }
  const void* data() const { return data_.get(); }
  ConstArrayView view() const { return {type_, count_, data_.get()}; }

  /// The elements as `T`, which must have the size of the element type.
  template <typename T>
  std::span<T> as() {
    return {static_cast<T*>(data()), count_};
  }
  template <typename T>
  std::span<const T> as() const {
    return {static_cast<const T*>(data()), count_};
  }
  /// Sets element i, of a floating-point type, to `value` rounded to it.
  void set(std::size_t i, double value);

 private:
  DataType type_ = DataType::float32;
  std::size_t count_ = 0;
  std::unique_ptr<std::byte[]> data_;
};

/// Elements [first, first + values.size()) as doubles: exact for every type but 64-bit integers
/// beyond 2^53.
void widen(const ConstArrayView& array, std::size_t first, std::span<double> values);

}  // namespace tilescope::operations
