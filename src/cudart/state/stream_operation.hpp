// A piece of work for a stream, as a value: queued at once, or kept as the node of a graph.
#pragma once

#include <variant>

#include "cudart/state/streams.hpp"
#include "tilescope/device.hpp"

namespace tilescope::cudart {

struct KernelOperation {
  const void* function = nullptr;  ///< as the program named it
  Kernel kernel;
  Launch launch;
  KernelArguments arguments;
};

/// One side of a copy: rows of equal length, in slices. A side in an array has its address too, by
/// which bounds are checked.
struct CopySide {
  std::uint64_t address = 0;
  std::size_t pitch = 0;        ///< bytes between the starts of rows
  std::size_t slice_pitch = 0;  ///< bytes between the starts of slices
  bool on_device = false;
  std::uint64_t array = 0;  ///< the device's, with the place in it
  unsigned level = 0;
  std::size_t x_bytes = 0, y = 0, z = 0;

  CopySide at(std::size_t row, std::size_t slice) const;
  void* host() const { return reinterpret_cast<void*>(address); }
};

struct CopyOperation {
  CopySide to, from;
  std::size_t row_bytes = 0, rows = 1, slices = 1;

  bool uses_arrays() const { return to.array != 0 || from.array != 0; }
  bool empty() const { return row_bytes == 0 || rows == 0 || slices == 0; }
};

/// Sets elements of 1, 2 or 4 bytes in rows and slices.
struct FillOperation {
  CopySide to;
  unsigned value = 0;
  unsigned element_bytes = 1;
  std::size_t width = 0, rows = 1, slices = 1;  ///< width in elements
};

struct HostOperation {
  cudaHostFn_t function = nullptr;
  void* data = nullptr;
};

struct RecordOperation {
  CUevent_st* event = nullptr;
};

struct WaitOperation {
  CUevent_st* event = nullptr;
};

struct EmptyOperation {};

struct GraphBlock;

struct AllocateOperation {
  std::shared_ptr<GraphBlock> block;
  cudaMemAllocNodeParams parameters;
};

struct FreeOperation {
  std::uint64_t address = 0;
};

using Operation =
    std::variant<KernelOperation, CopyOperation, FillOperation, HostOperation, RecordOperation,
                 WaitOperation, EmptyOperation, AllocateOperation, FreeOperation>;

/// Bytes from the first to the last that rows of a side span.
std::size_t extent(const CopySide& side, std::size_t row_bytes, std::size_t rows,
                   std::size_t slices);

}  // namespace tilescope::cudart
