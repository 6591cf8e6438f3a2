// A companion operation on lists that already lie in a device's memory: compiled, its memory in
// place, ready to be queued again and again.
//
//     const PreparedOperation add = prepare_vector_add(*gpu, a, b, c);  // views of device pointers
//     add.launch(stream_of(stream));                                    // tilescope/gemm.hpp
//
// prepare_NAME() stands beside NAME() in the operation's header and takes the same views, with
// `data` an address in the device's memory, as for PreparedGemm.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "tilescope/device.hpp"

namespace tilescope {

/// - launch() only queues kernels. It does not allocate, compile, copy or wait, so it may be
///   captured in a CUDA graph. The object must outlive the graph and the work that it queued.
/// - Any thread may launch. Launches that may overlap on the device need an object each.
/// - Lists begin at multiples of 16 bytes, which kernels read at a time.
///
/// On the CPU device launch() computes, and returns when the result is there.
///
/// Errors of every prepare_NAME(): as NAME()'s, and usage for a list that begins elsewhere and for
/// a result that shares memory with an input.
class PreparedOperation {
 public:
  struct State;
  explicit PreparedOperation(std::unique_ptr<State> state);
  PreparedOperation(PreparedOperation&& other) noexcept;
  PreparedOperation& operator=(PreparedOperation&& other) noexcept;
  ~PreparedOperation();

  /// Queues the operation. The stream belongs to the device.
  void launch(const Stream& stream = {}) const;

  /// Takes other lists of the same types and lengths from the next launch on, `inputs` in the order
  /// in which prepare_NAME() took them, without compiling or allocating. Not while another thread
  /// launches.
  ///
  /// Errors: usage as prepare_NAME()'s for their places, for another number of inputs, and on the
  /// CPU device.
  void set_operands(std::span<const void* const> inputs, void* output);

  /// The rung of the operation's ladder.
  const std::string& variant() const;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace tilescope
