// The C interface's handles that several of its files use.
#pragma once

#include <tilescope.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tilescope/device.hpp>
#include <tilescope/gemm.hpp>

namespace tilescope::capi {

/// The (first) matrix as a view. Throws Error(usage) for values that tilescope.h does not have.
ConstMatrixView view_of(const tilescope_matrix* matrix, const char* name);

DataType type_of(tilescope_type type);

}  // namespace tilescope::capi

struct tilescope_device {
  explicit tilescope_device(std::shared_ptr<tilescope::Device> opened)
      : device(std::move(opened)), id(device->id()), gemm(device) {}

  std::shared_ptr<tilescope::Device> device;
  std::string id;
  tilescope::Gemm gemm;
  std::mutex mutex = {};  ///< of the two below
  std::map<void*, tilescope::Buffer> buffers = {};
  std::map<void*, tilescope::Stream> streams = {};
};
