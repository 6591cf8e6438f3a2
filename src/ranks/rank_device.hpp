// The device on which a rank computes.
#pragma once

#include <memory>
#include <string>
#include <tilescope/device.hpp>

#include "ranks/group.hpp"

namespace tilescope::ranks {

/// Opens the device `name` on every rank, which all call it. "cuda": the GPUs of a machine go round
/// among its ranks. "auto": a GPU if every rank's machine has one, else the CPU. All throw if any
/// cannot.
std::shared_ptr<Device> open_rank_device(const Session& session, const Group& of_host,
                                         const std::string& name);

}  // namespace tilescope::ranks
