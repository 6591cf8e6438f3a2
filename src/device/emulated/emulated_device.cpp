#include "device/emulated/emulated_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

#include "base/symbol_names.hpp"
#include "base/terminal.hpp"
#include "device/loading/ptx_kernel.hpp"
#include "emulator/tensor_map_image.hpp"
#include "gpu/launch_limits.hpp"
#include "gpu/profiles.hpp"
#include "ptx/linker.hpp"
#include "ptx/module_parser.hpp"

namespace tilescope::device {
namespace {

/// The oldest architecture that the compiler's current series targets. PTX for it also runs on an
/// older emulated GPU; only __CUDA_ARCH__ differs.
constexpr int oldest_major = 7, oldest_minor = 5;

DeviceProperties compiled_for(DeviceProperties gpu) {
  if (gpu.compute_major * 10 + gpu.compute_minor < oldest_major * 10 + oldest_minor) {
    gpu.compute_major = oldest_major;
    gpu.compute_minor = oldest_minor;
  }
  return gpu;
}

/// The message that a GPU would give, in one line; empty if nothing went wrong.
std::string failure_of(const emulator::LaunchSummary& summary) {
  if (!summary.faults.empty()) {
    const auto first =
        std::min_element(summary.faults.begin(), summary.faults.end(),
                         [](const auto& a, const auto& b) { return a.block < b.block; });
    return fmt::format(
        "{}{}", first->text,
        summary.fault_count > 1 ? fmt::format(" (the first of {})", summary.fault_count) : "");
  }
  if (!summary.complete()) return summary.message;
  return {};
}

/// Copies move bits: only the size of an element's type matters.
emulator::TensorElement element_of(DataType type) {
  using enum emulator::TensorElement;
  switch (size_of(type)) {
    case 1:
      return u8;
    case 2:
      return u16;
    case 4:
      return u32;
    default:
      return u64;
  }
}

}  // namespace

EmulatedDevice::EmulatedDevice(std::string_view gpu)
    : gpu_(gpu.empty() ? gpu::profiles().front().name : gpu),
      shared_(std::make_shared<SharedMachine>(gpu::require_profile(gpu_))),
      machine_(shared_->machine),
      mutex_(shared_->mutex) {}

EmulatedDevice::~EmulatedDevice() = default;

void EmulatedDevice::set_options(EmulationOptions options) {
  const Lock lock(mutex_);
  options_ = std::move(options);
  const std::size_t all = properties().global_bytes;
  machine_.memory().set_capacity(
      options_.device_memory == 0 ? all : std::min<std::uint64_t>(options_.device_memory, all));
}

void EmulatedDevice::set_limits(const emulator::KernelLimits& limits) {
  const Lock lock(mutex_);
  machine_.set_limits(limits);
}

emulator::LaunchSummary EmulatedDevice::last_launch() const {
  const Lock lock(mutex_);
  return last_;
}

std::string EmulatedDevice::ptx_of(const ptx::Module& module) const {
  const Lock lock(mutex_);
  const auto found = ptx_.find(&module);
  return found == ptx_.end() ? std::string() : found->second;
}

std::uint64_t EmulatedDevice::allocate_bytes(std::size_t bytes, std::string_view name) {
  const Lock lock(mutex_);
  return machine_.allocate(bytes, name);
}

std::uint64_t EmulatedDevice::allocate_for(Reach reach, std::size_t bytes, std::string_view name) {
  const Lock lock(mutex_);
  const std::uint64_t address = machine_.allocate(bytes, name);
  if (reach != Reach::any) reach_[address] = reach;
  return address;
}

void EmulatedDevice::require_reach(DeviceAddress address, Reach reach) const {
  const Lock lock(mutex_);
  const emulator::Allocation* const memory = machine_.memory().find(address);
  if (memory == nullptr) return;  // the copy says so
  const auto found = reach_.find(memory->address());
  const Reach of_memory = found == reach_.end() ? Reach::any : found->second;
  if (of_memory == reach) return;
  constexpr std::string_view names[] = {"any", "own", "linked"};
  throw Error(
      ErrorKind::usage,
      fmt::format("another device copies {} of {}, which was allocated for Reach::{}, as if "
                  "for Reach::{}",
                  memory->name(), id(), names[static_cast<int>(of_memory)],
                  names[static_cast<int>(reach)]));
}

void EmulatedDevice::free_bytes(std::uint64_t address) noexcept {
  const Lock lock(mutex_);
  queues_.finish_all_quietly();  // as a GPU does: queued work may use it
  reach_.erase(address);
  machine_.free(address);
}

MemoryUse EmulatedDevice::memory_use() const {
  const Lock lock(mutex_);
  const emulator::MemoryMap& memory = machine_.memory();
  return {memory.capacity() - std::min(memory.used(), memory.capacity()), memory.capacity()};
}

std::uint64_t EmulatedDevice::new_stream() {
  const Lock lock(mutex_);
  return queues_.create();
}

void EmulatedDevice::free_stream(std::uint64_t stream) noexcept {
  const Lock lock(mutex_);
  queues_.destroy(stream);
}

std::uint64_t EmulatedDevice::new_event() {
  const Lock lock(mutex_);
  return queues_.create_event();
}

void EmulatedDevice::free_event(std::uint64_t event) noexcept {
  const Lock lock(mutex_);
  queues_.destroy_event(event);
}

std::uint64_t EmulatedDevice::allocate_managed_bytes(std::size_t bytes, std::string_view name) {
  const Lock lock(mutex_);
  return machine_.memory().allocate_shared(bytes, name);
}

Buffer EmulatedDevice::map(void* data, std::size_t bytes, std::string_view name) {
  const Lock lock(mutex_);
  return Buffer(detail::Handle(shared_from_this(), machine_.memory().map(data, bytes, name),
                               [](Device& device, std::uint64_t address) {
                                 static_cast<EmulatedDevice&>(device).free_bytes(address);
                               }),
                bytes);
}

void* EmulatedDevice::allocate_host(std::size_t bytes, std::string& why_not,
                                    std::string_view name) {
  try {
    return reinterpret_cast<void*>(allocate_managed_bytes(bytes, name));
  } catch (const Error& error) {
    why_not = error.what();
    return nullptr;
  }
}

void EmulatedDevice::free_host(void* data) noexcept {
  const Lock lock(mutex_);
  const auto address = reinterpret_cast<std::uint64_t>(data);
  if (machine_.memory().allocations().contains(address)) free_bytes(address);
}

bool EmulatedDevice::register_host(void* data, std::size_t bytes, std::string& why_not,
                                   std::string_view name) {
  const Lock lock(mutex_);
  try {
    machine_.memory().adopt(data, bytes, name);
    return true;
  } catch (const Error& error) {
    why_not = error.what();
    return false;
  }
}

void EmulatedDevice::unregister_host(void* data) noexcept {
  const Lock lock(mutex_);
  queues_.finish_all_quietly();
  const auto address = reinterpret_cast<std::uint64_t>(data);
  if (machine_.memory().allocations().contains(address)) machine_.memory().release(address);
}

bool EmulatedDevice::is_pinned(const void* data, std::size_t bytes) const {
  const emulator::Allocation* const holder =
      machine_.memory().find(reinterpret_cast<std::uint64_t>(data), bytes);
  return holder != nullptr && holder->is_host_memory();
}

void EmulatedDevice::copy_to_device(DeviceAddress to, const void* from, std::size_t bytes,
                                    const Stream& stream) {
  const Lock lock(mutex_);
  if (stream.value() == 0) return machine_.copy_to_device(to, from, bytes);
  if (is_pinned(from, bytes)) {
    return queues_.enqueue(stream.value(), [=, this] { machine_.copy_to_device(to, from, bytes); });
  }
  // Pageable memory is the caller's again at once, although the data arrive later.
  std::vector<std::byte> staged(bytes);
  if (bytes > 0) std::memcpy(staged.data(), from, bytes);
  queues_.enqueue(stream.value(), [this, to, staged = std::move(staged)] {
    machine_.copy_to_device(to, staged.data(), staged.size());
  });
}

void EmulatedDevice::copy_to_host(void* to, DeviceAddress from, std::size_t bytes,
                                  const Stream& stream) {
  const Lock lock(mutex_);
  queues_.enqueue(stream.value(), [=, this] { machine_.copy_to_host(to, from, bytes); });
  if (!is_pinned(to, bytes)) queues_.finish_stream(stream.value());
}

void EmulatedDevice::queue_copy(DeviceAddress to, DeviceAddress from, std::size_t bytes,
                                const Stream& stream) {
  const Lock lock(mutex_);
  queues_.enqueue(stream.value(), [=, this] { machine_.copy_on_device(to, from, bytes); });
}

void EmulatedDevice::fill(DeviceAddress to, std::uint8_t value, std::size_t bytes,
                          const Stream& stream) {
  const Lock lock(mutex_);
  queues_.enqueue(stream.value(), [=, this] { machine_.fill(to, value, bytes); });
}

Kernel EmulatedDevice::load(const KernelRequest& request) {
  const DeviceProperties gpu = compiled_for(properties());
  // Only the resources that a kernel needs stand in machine code, and what the assembler refuses.
  // Our own kernels are assembled when somebody asks for the first; tests assemble some forms of
  // each.
  const bool assembles_later = request.is_self_contained;
  const compile::Program program = program_of(request, gpu, !assembles_later);
  // The user's PTX is named by its file, PTX compiled from CUDA C++ by its origin.
  const std::string file = request.language == SourceLanguage::ptx
                               ? request.source_name
                               : fmt::format("PTX of {}", request.source_name);
  const auto module = std::make_shared<EmulatedModule>(shared_, ptx::parse(program.ptx, file));
  {
    const Lock lock(mutex_);
    ptx_[&module->loaded().module()] = program.ptx;
  }
  Kernel kernel = module->kernel(program.kernel_name);
  auto& loaded = static_cast<EmulatedKernel&>(kernel.state());
  if (assembles_later) {
    loaded.assemble = [request, gpu] { return program_of(request, gpu); };
  } else if (!program.cubin.empty()) {
    loaded.take_resources(program);
  }
  if (!request.kernel.empty() && request.kernel.front() != '(') {  // not a cast: an overload
    kernel.state().name = request.kernel;
  }
  return kernel;
}

Module EmulatedDevice::load_module(std::span<const PtxText> texts) {
  std::vector<ptx::LinkUnit> units;
  for (const PtxText& text : texts) {
    if (!text.machine_code.empty()) continue;
    units.push_back({text.name, ptx::parse(text.ptx, text.name)});
  }
  const bool is_one = units.size() == 1;
  const auto module = std::make_shared<EmulatedModule>(shared_, ptx::link(std::move(units)));
  const Lock lock(mutex_);
  std::string& kept = ptx_[&module->loaded().module()];
  kept.clear();
  for (const PtxText& text : texts) {
    if (is_one && text.machine_code.empty()) kept = text.ptx;
  }
  return Module(module);
}

void EmulatedDevice::launch(const Kernel& kernel, const Launch& launch,
                            const KernelArguments& arguments, const Stream& stream) {
  gpu::require_launchable(
      kernel.name(), launch, properties(),
      {.static_shared_bytes = kernel.state().attributes.static_shared_bytes,
       .max_threads_per_block = kernel.state().attributes.max_threads_per_block});
  const Lock lock(mutex_);
  if (stream.value() == 0) return run(kernel, launch, arguments);
  queues_.enqueue(stream.value(), [=, this] { run(kernel, launch, arguments); });
}

std::function<void(std::string_view)> EmulatedDevice::print_beside(ProgressLine& line) const {
  if (!options_.progress) return options_.print;
  return [&](std::string_view text) {
    line.erase();
    if (options_.print) return options_.print(text);
    std::fwrite(text.data(), 1, text.size(), stdout);
  };
}

std::function<void(std::uint64_t)> EmulatedDevice::progress_in(ProgressLine& line) const {
  if (!options_.progress) return nullptr;
  return [&](std::uint64_t blocks) { line.update(blocks); };
}

void EmulatedDevice::run(const Kernel& kernel, const Launch& launch,
                         const KernelArguments& arguments) {
  auto& loaded = static_cast<EmulatedKernel&>(kernel.state());
  std::string failure;
  if (options_.before_launch) options_.before_launch(kernel, launch);
  // In a program with many launches the line appears after a second of all of them.
  const std::string name = function_name(kernel.name());
  const auto in_a_second = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  ProgressLine line(launches_ == 0 ? name : fmt::format("launch {}, {}", launches_, name),
                    launch.grid.count(), progress_due_.value_or(in_a_second));
  ++launches_;
  const emulator::LaunchOptions options{.threads = options_.threads,
                                        .max_instructions = options_.max_instructions,
                                        .observers = options_.observers,
                                        .cancel = options_.cancel,
                                        .cooperative = launch.cooperative,
                                        .overlaps_previous = launch.overlaps_previous,
                                        .cluster = launch.cluster,
                                        .schedule = options_.schedule,
                                        .interpret = options_.interpret,
                                        .print = print_beside(line),
                                        .progress = progress_in(line),
                                        .after_grid = [&](const emulator::LaunchSummary& grid) {
                                          last_ = grid;
                                          if (options_.after_launch) options_.after_launch(last_);
                                          failure = failure_of(grid);
                                          return options_.tolerant || failure.empty();
                                        }};
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(arguments.bytes().data());
  const auto once = [&](const emulator::LaunchOptions& how) {
    return machine_.launch(loaded.owner->loaded(), loaded.entry, launch.grid, launch.block,
                           static_cast<std::uint32_t>(launch.shared_bytes),
                           {bytes, arguments.bytes().size()}, how);
  };
  if (options_.conduct) {
    options_.conduct(machine_, options, once);
  } else {
    once(options);
  }
  progress_due_ = line.next_due();
  if (!options_.tolerant && !failure.empty()) {
    throw Error(ErrorKind::wrong_result,
                fmt::format("kernel {} failed: {}", kernel.name(), failure));
  }
}

void EmulatedDevice::record(const Event& event, const Stream& stream) {
  const Lock lock(mutex_);
  queues_.record(event.value(), stream.value());
}

void EmulatedDevice::wait(const Stream& stream, const Event& event) {
  const Lock lock(mutex_);
  queues_.wait(stream.value(), event.value());
}

bool EmulatedDevice::finished(const Event& event) {
  const Lock lock(mutex_);
  return queues_.finished(event.value());
}

void EmulatedDevice::call(std::function<void()> function, const Stream& stream) {
  const Lock lock(mutex_);
  queues_.enqueue(stream.value(), std::move(function));
}

bool EmulatedDevice::finished(const Stream& stream) {
  const Lock lock(mutex_);
  return queues_.stream_finished(stream.value());
}

double EmulatedDevice::elapsed_ms(const Event& from, const Event& to) {
  const Lock lock(mutex_);
  return queues_.elapsed_ms(from.value(), to.value());
}

void EmulatedDevice::synchronize(const Event& event) {
  const Lock lock(mutex_);
  queues_.finish_event(event.value());
}

void EmulatedDevice::synchronize(const Stream& stream) {
  const Lock lock(mutex_);
  queues_.finish_stream(stream.value());
}

void EmulatedDevice::synchronize() {
  const Lock lock(mutex_);
  queues_.finish_all();
}

TensorMap EmulatedDevice::tensor_map(const TensorMapRequest& request) {
  if (properties().compute_major < 9) return Device::tensor_map(request);
  emulator::TensorMapImage image;
  image.address = request.address;
  image.type = element_of(request.type);
  image.rank = static_cast<std::uint8_t>(request.extents.size());
  for (std::size_t d = 0; d < request.extents.size(); ++d) {
    image.extents[d] = request.extents[d];
    image.box[d] = static_cast<std::uint16_t>(std::min(request.box[d], 0xffffU));
    image.element_strides[d] = 1;
    if (d != 0) image.strides[d - 1] = request.pitches[d - 1];
  }
  image.swizzle = static_cast<emulator::TensorSwizzle>(request.swizzle);
  if (const std::string problem = emulator::tensor_map_problem(image); !problem.empty()) {
    throw Error(ErrorKind::usage, "a tensor map cannot be made: " + problem);
  }
  return std::bit_cast<TensorMap>(image);
}

}  // namespace tilescope::device
