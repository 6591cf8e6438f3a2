// The C interface's handles that several of its files use.
#pragma once

#include <tilescope.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tilescope/device.hpp>
#include <tilescope/gemm.hpp>

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
