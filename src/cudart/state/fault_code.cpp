#include "cudart/state/fault_code.hpp"

#include <algorithm>

#include "device/emulated/emulated_device.hpp"

namespace tilescope::cudart {
namespace {

using emulator::FaultKind;

cudaError_t code_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::out_of_bounds:
    case FaultKind::null_pointer:
    case FaultKind::freed:
    case FaultKind::host_memory:
    case FaultKind::read_only:
    case FaultKind::no_such_block:
    case FaultKind::other_block:
      return cudaErrorIllegalAddress;
    case FaultKind::misaligned:
      return cudaErrorMisalignedAddress;
    case FaultKind::wrong_space:
      return cudaErrorInvalidAddressSpace;
    case FaultKind::bad_call:
      return cudaErrorInvalidPc;
    case FaultKind::absent_lanes:
    case FaultKind::not_a_member:
    case FaultKind::bad_barrier:
    case FaultKind::integer_fault:
    case FaultKind::unpaired_arrival:
    case FaultKind::bad_copy:
    case FaultKind::warpgroup:
      return cudaErrorIllegalInstruction;
    case FaultKind::exited_block:  // on an H200 too
    case FaultKind::late_access:
    case FaultKind::bad_texture:
    case FaultKind::destroyed_texture:
    case FaultKind::texture_shape:
    case FaultKind::outside_surface:
      return cudaErrorLaunchFailure;
  }
  return cudaErrorLaunchFailure;
}

cudaError_t code_of(const emulator::LaunchSummary& launch) {
  if (!launch.faults.empty()) {
    const auto first =
        std::min_element(launch.faults.begin(), launch.faults.end(),
                         [](const auto& a, const auto& b) { return a.block < b.block; });
    return code_of(first->kind);
  }
  if (launch.end == emulator::LaunchEnd::trapped) {
    return launch.trap.reason == TrapReason::assertion ? cudaErrorAssert : cudaErrorLaunchFailure;
  }
  return cudaErrorLaunchTimeout;  // it would run for ever, or reached the limit of instructions
}

}  // namespace

cudaError_t code_of(Context& context, const Error& error) {
  switch (error.kind()) {
    case ErrorKind::usage:
      return cudaErrorInvalidValue;
    case ErrorKind::no_device:
      return cudaErrorNoDevice;
    case ErrorKind::bad_input:
      return cudaErrorInvalidPtx;
    case ErrorKind::wrong_result:
      break;
  }
  cudaError_t code = cudaErrorLaunchFailure;
  if (auto* emulated = dynamic_cast<device::EmulatedDevice*>(&context.device())) {
    code = code_of(emulated->last_launch());
  }
  context.end_with(code);
  return code;
}

}  // namespace tilescope::cudart
