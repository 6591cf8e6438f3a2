// Latency and bandwidth of a GPU's memories, measured by kernels/memories/.
#pragma once

#include <tilescope/device.hpp>
#include <tilescope/gpu/memories.hpp>
#include <vector>

namespace tilescope::measure {

/// Measures registers (a dependent multiply-add), shared memory, constant cache, L1, L2 and DRAM of
/// `device`. Latency: one thread follows a chain of addresses. Bandwidth: all SMs read 16 bytes a
/// thread (none for registers and constants). Takes about two seconds and at most a gigabyte of its
/// memory. Throws the device's errors; Error(no_device) for the CPU, which has no such memories.
std::vector<gpu::LevelCost> measure_levels(Device& device);

}  // namespace tilescope::measure
