#include "cudart/state/primary_context.hpp"

#include <cstdlib>
#include <utility>

#include "device/emulated/emulated_device.hpp"

namespace tilescope::cudart {
namespace {

thread_local bool launches_by_configuration = false;

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
    : context_(context), lock_(context.mutex_), outer_(std::exchange(context.call_, name)) {
  context.reported_ = false;
  ++context.calls_;
  // Without a device there is nothing to touch, and at exit none can be opened any more.
  if (context.state_ && context.checks()) context.report_early_touches();
}

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
  finish_queued_work();  // it may use the image's variables
  if (state_) state_->code.unload(image);
  registry_.remove(image);
}

bool Context::runs_emulated() const {
  return state_ && ended_ == cudaSuccess && state_->device->kind() == DeviceKind::emulated;
}

/// At the end of the process. A driver has shut down by then, and ends what is queued by itself.
void Context::finish_queued_work() noexcept {
  if (!runs_emulated()) return;
  try {
    state_->device->synchronize();
  } catch (const std::exception& error) {
    complain(error.what());
  }
}

inspect::HostCall Context::here() const {
  return watch_ == nullptr ? inspect::HostCall{} : inspect::HostCall::here(call_);
}

bool Context::checks() {
  return watch_ != nullptr && watch_->settings().mode == inspect::ProgramMode::check &&
         state().device->kind() == DeviceKind::emulated;
}

void Context::report_early_touches() {
  for (const EarlyTouch& touch : HostGuard::instance().take()) {
    Finding finding;
    finding.kind = FindingKind::unsynchronised;
    finding.first.action = touch.is_write ? ThreadAction::write : ThreadAction::read;
    MemoryPlace memory;
    memory.address = touch.memory.address;
    memory.object = touch.memory.name;
    memory.object_bytes = touch.memory.bytes;
    finding.memory = std::move(memory);
    HostFacts facts;
    facts.call = touch.work.name;
    finding.facts = std::move(facts);
    watch_->report(std::move(finding), touch.place, &touch.work);
  }
}

void Context::report(Finding finding, const inspect::HostCall* other) {
  if (watch_ == nullptr) return;
  watch_->report(std::move(finding), here(), other);
  reported_ = true;
}

void Context::begin_configured_launch() noexcept {
  launches_by_configuration = true;
}

void Context::settle(cudaError_t code) {
  const bool has_result = !std::exchange(launches_by_configuration, false);
  const std::string_view name = call_;
  if (watch_ == nullptr || (code == cudaErrorNotReady && name.ends_with("Query"))) return;
  const bool cleans_up = name.starts_with("cudaFree") || name.ends_with("Destroy") ||
                         name.ends_with("Reset") || name.ends_with("Unregister");
  if (unasked_ && !cleans_up) {
    // A loop that calls again has seen the result.
    if (!unasked_->went_on && unasked_->call == here()) {
      unasked_.reset();
    } else {
      unasked_->went_on = true;
    }
  }
  if (code == cudaSuccess) return;
  failed_ = true;
  if (reported_) return;
  report_unasked();
  unasked_ = {.code = code, .call = here(), .went_on = !has_result};
}

void Context::asked(cudaError_t code) {
  const std::lock_guard lock(mutex_);
  if (unasked_ && (code == cudaSuccess || code == unasked_->code)) unasked_.reset();
}

void Context::report_unasked() {
  if (unasked_ && unasked_->went_on) {
    Finding finding;
    finding.kind = FindingKind::unchecked_error;
    HostFacts facts;
    facts.call = unasked_->call.name;
    facts.given = name_of(unasked_->code);
    facts.right = text_of(unasked_->code);
    finding.facts = std::move(facts);
    watch_->report(std::move(finding), unasked_->call);
  }
  unasked_.reset();
}

void Context::report_leaks() {
  if (failed_) return;  // a program that ends because of an error frees nothing
  for (const auto& [address, block] : state_->memory.blocks()) {
    if (block.kind == MemoryKind::registered) continue;
    const GraphBlock* const node = state_->graph_memory.find(address);
    if (node != nullptr && !node->live) continue;
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
    finish_queued_work();
    if (runs_emulated()) {
      if (checks()) report_early_touches();
      report_leaks();
    }
    report_unasked();
  } catch (const std::exception& error) {
    complain(error.what());
  }
  watch_->finish();
}

}  // namespace tilescope::cudart
