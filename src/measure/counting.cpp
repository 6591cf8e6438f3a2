#include "measure/counting.hpp"

namespace tilescope::measure {

LaunchCounter::LaunchCounter(Device& device, const std::atomic<bool>* cancel)
    : device_(dynamic_cast<device::EmulatedDevice*>(&device)) {
  if (device_ == nullptr) return;
  device_->set_options({.observers = {&observer_},
                        .cancel = cancel,
                        .after_launch = [this](const emulator::LaunchSummary&) {
                          if (!counts_) counts_.emplace();
                          *counts_ += observer_.result().totals;
                        }});
}

LaunchCounter::~LaunchCounter() {
  if (device_ != nullptr) device_->set_options({});
}

}  // namespace tilescope::measure
