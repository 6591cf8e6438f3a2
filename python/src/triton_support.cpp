// Facts and tensor maps for tilescope/triton.py.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <bit>
#include <tilescope/error.hpp>

#include "bindings.hpp"
#include "emulator/tensor_map_image.hpp"
#include "inspect/open_device.hpp"

namespace tilescope::python {
namespace {

using namespace nb::literals;

/// The parts of a device's properties by which Triton compiles and launches.
nb::dict device_facts(const std::string& device) {
  const DeviceProperties gpu = inspect::open_emulated(device)->properties();
  nb::dict facts;
  facts["name"] = gpu.name;
  facts["global_bytes"] = gpu.global_bytes;
  facts["compute_major"] = gpu.compute_major;
  facts["compute_minor"] = gpu.compute_minor;
  facts["multiprocessors"] = gpu.sm_count;
  facts["registers_per_block"] = gpu.registers_per_block;
  facts["shared_bytes_per_block"] = gpu.shared_bytes_per_block_optin;
  facts["core_clock_khz"] = gpu.core_clock_khz;
  facts["memory_clock_khz"] = gpu.memory_clock_khz;
  facts["memory_bus_bits"] = gpu.memory_bus_bits;
  return facts;
}

/// A tensor map of the emulated device. `type` has the number of tensormap.replace; shape and box
/// are in elements and strides too, outermost first.
nb::bytes tensor_map(std::uint64_t address, unsigned type, bool rounds_to_tf32,
                     std::uint64_t element_bytes, const std::vector<std::uint64_t>& shape,
                     const std::vector<std::uint64_t>& strides,
                     const std::vector<std::uint16_t>& box, unsigned swizzle, bool fills_with_nan) {
  emulator::TensorMapImage map;
  const std::size_t rank = shape.size();
  if (rank == 0 || rank > emulator::kMostTensorDimensions || strides.size() != rank ||
      box.size() != rank) {
    throw Error(ErrorKind::usage,
                "a tensor map has one to five dimensions, and a stride and an "
                "extent of the box for each");
  }
  map.address = address;
  map.type = rounds_to_tf32 ? emulator::TensorElement::tf32
                            : static_cast<emulator::TensorElement>(std::min(type, 13U));
  map.rank = static_cast<std::uint8_t>(rank);
  std::ranges::reverse_copy(shape, map.extents.begin());
  std::ranges::reverse_copy(box, map.box.begin());
  map.element_strides.fill(1);
  for (std::size_t d = 1; d < rank; ++d) map.strides[d - 1] = strides[rank - 1 - d] * element_bytes;
  map.swizzle = static_cast<emulator::TensorSwizzle>(std::min(swizzle, 4U));
  map.fill = fills_with_nan ? emulator::TensorFill::nan : emulator::TensorFill::zeros;
  if (const std::string problem = emulator::tensor_map_problem(map); !problem.empty()) {
    throw Error(ErrorKind::usage, "tensor map: " + problem);
  }
  const auto bytes = std::bit_cast<std::array<char, sizeof map>>(map);
  return nb::bytes(bytes.data(), bytes.size());
}

}  // namespace

void bind_triton(nb::module_& module) {
  module.def("device_facts", &device_facts, "device"_a);
  module.def("tensor_map", &tensor_map, "address"_a, "type"_a, "rounds_to_tf32"_a,
             "element_bytes"_a, "shape"_a, "strides"_a, "box"_a, "swizzle"_a, "fills_with_nan"_a);
}

}  // namespace tilescope::python
