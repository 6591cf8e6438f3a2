#include "device/cuda/driver.hpp"

#include <fmt/format.h>

#include <string>
#include <tilescope/error.hpp>

#include "base/errors.hpp"

namespace tilescope::device {
namespace {

constexpr int oldest_version = 12000;

/// Advice for the errors that users meet.
std::string_view advice(CUresult result) {
  switch (result) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      return "free device memory, use a smaller problem, or use --device cpu";
    case CUDA_ERROR_NO_DEVICE:
      return "check nvidia-smi and CUDA_VISIBLE_DEVICES, or use --device cpu";
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_INVALID_IMAGE:
      return "the driver is older than the compiler: update the driver or use an older NVRTC";
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
      return "kernel module and libcuda.so differ in version: reboot or reinstall the driver";
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
      return "a kernel did something illegal: run it with --device emulated, or under "
             "compute-sanitizer";
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
      return "the block needs more registers or shared memory than an SM has: use smaller blocks";
    case CUDA_ERROR_LAUNCH_TIMEOUT:
      return "the display's watchdog ended the kernel: use a smaller problem";
    default:
      return "see nvidia-smi for the state of the device";
  }
}

Driver open_driver() {
  Driver driver;
  std::string failure;
  driver.shared_object = DynamicLibrary::open({"libcuda.so.1", "libcuda.so"}, &failure);
  if (!driver.shared_object) {
    throw device_error(
        "no CUDA driver on this machine ({}); install NVIDIA's driver, or use --device cpu",
        failure);
  }
#define TILESCOPE_LOAD(member, function, symbol)                                              \
  if (!driver.shared_object.load(symbol, driver.member)) {                                    \
    throw Error(ErrorKind::no_device,                                                         \
                fmt::format("{} lacks {}: the driver is too old; update it to series 525 or " \
                            "newer (CUDA 12)",                                                \
                            driver.shared_object.path(), symbol));                            \
  }
  TILESCOPE_DRIVER_FUNCTIONS(TILESCOPE_LOAD)
#undef TILESCOPE_LOAD
  driver.check(driver.init(0), "cuInit");
  driver.check(driver.driver_version(&driver.version), "cuDriverGetVersion");
  if (driver.version < oldest_version) {
    throw device_error(
        "the CUDA driver supports CUDA {}.{}, older than the 12.0 needed; update NVIDIA's driver "
        "to series 525 or newer",
        driver.version / 1000, driver.version % 1000 / 10);
  }
  return driver;
}

}  // namespace

const Driver& Driver::instance() {
  static const Driver driver = open_driver();
  return driver;
}

std::string Driver::describe(CUresult result, std::string_view call,
                             std::string_view subject) const {
  const char* name = nullptr;
  const char* meaning = nullptr;
  if (error_name) error_name(result, &name);
  if (error_string) error_string(result, &meaning);
  return fmt::format("{}{}{} failed: {} ({}): {}; {}", call, subject.empty() ? "" : " ", subject,
                     name ? name : "unknown error", static_cast<int>(result),
                     meaning ? meaning : "no description", advice(result));
}

void Driver::check(CUresult result, std::string_view call, std::string_view subject) const {
  if (result == CUDA_SUCCESS) return;
  throw Error(result == CUDA_ERROR_INVALID_VALUE ? ErrorKind::usage : ErrorKind::no_device,
              describe(result, call, subject));
}

}  // namespace tilescope::device
