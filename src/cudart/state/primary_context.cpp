#include "cudart/state/primary_context.hpp"

#include <cstdlib>

#include "device/emulated/emulated_device.hpp"

namespace tilescope::cudart {
namespace {

std::shared_ptr<Device> open_device(inspect::ProgramWatch* watch) {
  std::string specification = "emulated";
  if (const char* wanted = std::getenv("TILESCOPE_DEVICE")) specification = wanted;
  if (watch != nullptr) specification = watch->settings().device;
  try {
    return Device::open(specification);
  } catch (const Error& error) {
    throw Failure{cudaErrorNoDevice, error.what()};
  }
}

}  // namespace

Context& Context::instance() {
  static Context& context = *new Context;
  return context;
}

Context::Context() : watch_(inspect::ProgramWatch::instance()) {}

Context::Call::Call(Context& context, const char* name)
    : context_(context), lock_(context.mutex_), outer_(std::exchange(context.call_, name)) {}

Context::Call::~Call() {
  context_.call_ = outer_;
}

DeviceState& Context::state() {
  if (state_) return *state_;
  state_.emplace(open_device(watch_));
  if (auto* emulated = dynamic_cast<device::EmulatedDevice*>(state_->device.get())) {
    if (watch_ != nullptr) watch_->attach(*emulated);
  }
  if (watch_ != nullptr) state_->memory.limit(watch_->settings().device_memory);
  return *state_;
}

void Context::reset() {
  state_.reset();
  ended_ = cudaSuccess;
}

void Context::forget(CodeImage& image) {
  const Call call(*this, "__cudaUnregisterFatBinary");
  if (state_) state_->code.unload(image);
  registry_.remove(image);
}

inspect::HostCall Context::here() const {
  return watch_ == nullptr ? inspect::HostCall{} : inspect::HostCall::here(call_);
}

void Context::report_leaks() {
  for (const auto& [address, block] : state_->memory.blocks()) {
    if (block.kind == MemoryKind::registered) continue;
    Finding leak;
    leak.kind = FindingKind::leak;
    leak.memory =
        MemoryPlace{.address = address, .object = block.name, .object_bytes = block.bytes};
    HostFacts facts;
    facts.call = block.call.name;
    facts.bytes = block.bytes;
    leak.facts = std::move(facts);
    watch_->report(std::move(leak), block.call);
  }
}

void Context::finish() noexcept {
  if (watch_ == nullptr) return;
  try {
    const Call call(*this, "exit");
    if (state_ && ended_ == cudaSuccess) {
      state_->device->synchronize();
      report_leaks();
    }
  } catch (const std::exception& error) {
    complain(error.what());
  }
  watch_->finish();
}

}  // namespace tilescope::cudart
