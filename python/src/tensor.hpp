// Arrays of other packages, without a copy: NumPy's, and whatever speaks DLPack or the buffer
// protocol.
#pragma once

#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <tilescope/gemm.hpp>
#include <tilescope/types.hpp>
#include <vector>

#include "bindings.hpp"

namespace tilescope::python {

enum class Access { read, write };

/// The stream of a GPU on which a call queues its work, and whether its arrays are PyTorch's.
struct GpuQueue {
  bool is_torch = false;
  std::uintptr_t stream = 0;  ///< a CUstream; 0: the default stream

  Stream native_stream() const { return stream_of(reinterpret_cast<void*>(stream)); }
};

/// An array that lives in Python. Keeps its memory alive; make and destroy it with the lock held.
class Tensor {
 public:
  /// Takes `object`, which messages call `name`. Throws Python's TypeError for objects that are no
  /// arrays and for element types that the library does not have, ValueError for an array that is
  /// to be written and is read-only or repeats elements.
  Tensor(nb::handle object, const char* name, Access access);

  /// An operand of work in `queue`, which waits for what its package queued before elsewhere.
  /// Errors as above.
  static Tensor on_gpu(nb::handle object, const char* name, Access access, const GpuQueue& queue);

  const std::string& name() const { return name_; }
  DataType type() const { return type_; }
  std::size_t rank() const { return shape_.size(); }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  std::int64_t extent(std::size_t dimension) const { return shape_[dimension]; }
  /// In elements; may be negative or zero.
  std::int64_t stride(std::size_t dimension) const { return strides_[dimension]; }
  std::int64_t count() const;
  void* data() const { return data_; }
  bool on_host() const;
  bool on_cuda() const;
  int device_id() const { return device_id_; }
  /// "cpu", "cuda:1", ...
  std::string device_text() const;
  /// Whether the elements lie one after another, the last index fastest.
  bool is_dense() const;
  /// Whether any byte between first and last element may be one of `other` too.
  bool may_overlap(const Tensor& other) const;

  /// Copies of the elements, one after another, the last index fastest.
  void gather(void* to) const;
  void scatter(const void* from) const;

 private:
  Tensor() = default;
  /// `exchanged` is the object or its DLPack capsule.
  Tensor(nb::handle exchanged, nb::handle object, const char* name, Access access);
  static Tensor of_torch(nb::handle tensor, const char* name);
  void require_own_elements() const;

  std::string name_;
  nb::object owner_;
  nb::ndarray<> writable_;
  nb::ndarray<nb::ro> readable_;
  DataType type_ = DataType::float32;
  std::vector<std::int64_t> shape_, strides_;
  void* data_ = nullptr;
  int device_type_ = 0, device_id_ = 0;
};

/// "(2, 3)"
std::string shape_text(const std::vector<std::int64_t>& shape);

/// Throws Python's ValueError unless the array is in host memory.
void require_on_host(const Tensor& tensor);

/// Throws Python's ValueError unless the array is on the GPU of `first`, the call's first operand.
void require_on_gpu_of(const Tensor& first, const Tensor& tensor);

/// The elements of an array in host memory, dense: where they lie, or a copy.
class DenseElements {
 public:
  explicit DenseElements(const Tensor& tensor);
  const void* data() const { return data_; }

 private:
  std::vector<std::byte> copy_;
  const void* data_;
};

/// Dense memory for a result in host memory: the array itself, or memory that store() copies there.
class DenseResult {
 public:
  /// `apart`: always memory of its own, because the array may overlap an operand. `reads`: it
  /// begins with the array's elements.
  DenseResult(const Tensor& tensor, bool apart, bool reads = false);
  void* data() { return data_; }
  void store();

 private:
  const Tensor& tensor_;
  std::vector<std::byte> copy_;
  void* data_;
};

}  // namespace tilescope::python
