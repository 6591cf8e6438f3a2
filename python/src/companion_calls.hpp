// Runs companion operations: arrays in host memory on any device, arrays of a GPU on that GPU.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tilescope/device.hpp>
#include <tilescope/prepared_operation.hpp>
#include <vector>

#include "tensor.hpp"

namespace tilescope::python {

/// The rung and the device of an operation.
struct Choice {
  std::string variant;
  std::string device;             ///< for arrays in host memory
  std::optional<GpuQueue> queue;  ///< for arrays on a GPU

  Tensor take(nb::handle object, const char* name, Access access) const;
};

/// An operation and its numbers, which decide with arrays and variant which kernels it launches.
struct Call {
  std::string_view operation;
  std::vector<double> numbers = {};
};

using Inputs = std::vector<const Tensor*>;
using Addresses = std::vector<const void*>;  ///< of each input's elements, dense

/// The operation in the library's two forms; the addresses are those of `Inputs` and the result.
struct Forms {
  std::function<void(Device& device, const Addresses& from, void* to)> run;
  std::function<PreparedOperation(Device& device, const Addresses& from, void* to)> prepare;
};

/// Runs the operation where the arrays lie: in host memory until the result is there, on a GPU by
/// queueing kernels. There it is prepared when its shapes, types, numbers and stream are new, and
/// kept. Throws Python's ValueError for arrays of several devices, and on a GPU for strides.
void run_call(const Call& call, const Choice& choice, const Inputs& inputs, const Tensor& out,
              const Forms& forms);

}  // namespace tilescope::python
