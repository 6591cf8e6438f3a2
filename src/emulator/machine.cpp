#include "emulator/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <tilescope/error.hpp>

#include "base/errors.hpp"
#include "emulator/address_space.hpp"
#include "emulator/decoder.hpp"
#include "emulator/launch_state.hpp"

namespace tilescope::emulator {

std::vector<std::string> LoadedModule::kernels() const {
  std::vector<std::string> names;
  for (const ptx::Function& function : module_->functions) {
    if (function.is_entry && function.has_body) names.push_back(function.name);
  }
  return names;
}

std::shared_ptr<const Program> LoadedModule::program(std::string_view kernel, bool pauses) {
  auto& programs = programs_[pauses ? 1 : 0];
  if (const auto found = programs.find(kernel); found != programs.end()) return found->second;
  const std::uint32_t index = module_->find_function(kernel);
  if (index == ptx::no_index || !module_->functions[index].is_entry ||
      !module_->functions[index].has_body) {
    std::string list;
    for (const std::string& name : kernels()) list += (list.empty() ? "" : ", ") + name;
    throw input_error("the module has no kernel '{}'; it has: {}", kernel,
                      list.empty() ? "none" : list);
  }
  auto program = decode_program(module_, index, addresses_, pauses);
  programs.emplace(kernel, program);
  return program;
}

std::shared_ptr<const Program> LoadedModule::kernel_at(std::uint64_t address) {
  const std::uint64_t index = (address - kFunctionBase) / kFunctionStride;
  if (address < kFunctionBase || (address - kFunctionBase) % kFunctionStride != 0 ||
      index >= module_->functions.size()) {
    return nullptr;
  }
  const ptx::Function& function =
      module_->functions[resolve_alias(*module_, static_cast<std::uint32_t>(index))];
  return function.is_entry && function.has_body ? program(function.name) : nullptr;
}

Machine::Machine(DeviceProperties gpu) : gpu_(std::move(gpu)), memory_(gpu_.global_bytes) {}
Machine::~Machine() = default;

std::uint64_t Machine::allocate(std::uint64_t bytes, std::string_view name) {
  return memory_.allocate(bytes, name);
}
void Machine::free(std::uint64_t address) {
  memory_.free(address);
}

std::uint8_t* Machine::range(std::uint64_t address, std::size_t bytes,
                             std::string_view what) const {
  Allocation* found = memory_.find(address, bytes);
  if (found != nullptr) return found->data() + (address - found->address());
  const Allocation* start = memory_.find(address, 0);
  throw Error(ErrorKind::usage,
              start != nullptr
                  ? fmt::format("{} of {} bytes at offset {} exceeds '{}' of {} bytes", what, bytes,
                                address - start->address(), start->name(), start->bytes())
                  : fmt::format("{} of {} bytes at {:#x}, where no device memory is allocated",
                                what, bytes, address));
}

void Machine::copy_to_device(std::uint64_t to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  std::memcpy(range(to, bytes, "copy"), from, bytes);
  Allocation& target = *memory_.find(to);
  target.mark_initialised(to - target.address(), bytes);
}

void Machine::copy_to_host(void* to, std::uint64_t from, std::size_t bytes) const {
  if (bytes != 0) std::memcpy(to, range(from, bytes, "copy"), bytes);
}

void Machine::copy_on_device(std::uint64_t to, std::uint64_t from, std::size_t bytes) {
  if (bytes == 0) return;
  std::memmove(range(to, bytes, "copy"), range(from, bytes, "copy"), bytes);
  const Allocation& source = *memory_.find(from);
  Allocation& target = *memory_.find(to);
  target.copy_initialised(to - target.address(), source, from - source.address(), bytes);
}

void Machine::fill(std::uint64_t to, std::uint8_t value, std::size_t bytes) {
  if (bytes == 0) return;
  std::memset(range(to, bytes, "fill"), value, bytes);
  Allocation& target = *memory_.find(to);
  target.mark_initialised(to - target.address(), bytes);
}

void Machine::initialise(const ptx::Module& module, const ptx::Variable& variable,
                         const SymbolAddresses& addresses, std::uint64_t address) {
  Allocation& target = *memory_.find(address, variable.size);
  // Statics without an initialiser are zero.
  target.mark_initialised(0, variable.size);
  std::copy(variable.initial.begin(), variable.initial.end(), target.data());
  for (const ptx::Relocation& relocation : variable.relocations) {
    std::uint64_t value = static_cast<std::uint64_t>(relocation.addend);
    if (relocation.symbol.kind == ptx::SymbolKind::function) {
      value += kFunctionBase + relocation.symbol.index * kFunctionStride;
    } else {
      value += addresses.variables[relocation.symbol.index];
      const ptx::Space space = module.variables[relocation.symbol.index].space;
      if (space == ptx::Space::shared && relocation.generic) value += kSharedWindow;
    }
    value >>= relocation.shift;
    if (relocation.offset + relocation.width <= variable.size) {
      std::memcpy(target.data() + relocation.offset, &value,
                  std::min<std::size_t>(relocation.width, 8));
    }
  }
}

std::shared_ptr<LoadedModule> Machine::load(ptx::Module module) {
  auto loaded = std::make_shared<LoadedModule>();
  loaded->module_ = std::make_shared<const ptx::Module>(std::move(module));
  const ptx::Module& text = *loaded->module_;
  if (text.address_size != 64) {
    throw input_error("the PTX has 32-bit addresses; compile for 64 bits");
  }
  loaded->addresses_.capability =
      static_cast<unsigned>(10 * gpu_.compute_major + gpu_.compute_minor);
  std::vector<std::uint64_t>& addresses = loaded->addresses_.variables;
  addresses.assign(text.variables.size(), 0);
  std::uint64_t constant_bytes = 0;
  for (std::size_t i = 0; i < text.variables.size(); ++i) {
    const ptx::Variable& variable = text.variables[i];
    if (variable.space == ptx::Space::constant) {
      constant_bytes += variable.size;
      addresses[i] =
          memory_.allocate(variable.size, variable.name, AllocationKind::constant_variable);
    } else if (variable.space == ptx::Space::global) {
      constexpr auto kind = AllocationKind::module_variable;
      addresses[i] = variable.managed ? memory_.allocate_shared(variable.size, variable.name, kind)
                                      : memory_.allocate(variable.size, variable.name, kind);
    }
  }
  if (gpu_.constant_bytes != 0 && constant_bytes > gpu_.constant_bytes) {
    unload(*loaded);
    throw input_error("the module's constant variables take {} bytes; {} has {}", constant_bytes,
                      gpu_.name, gpu_.constant_bytes);
  }
  for (std::size_t i = 0; i < text.variables.size(); ++i) {
    if (addresses[i] != 0) initialise(text, text.variables[i], loaded->addresses_, addresses[i]);
  }
  return loaded;
}

void Machine::unload(LoadedModule& module) {
  for (std::uint64_t& address : module.addresses_.variables) {
    if (address != 0) memory_.free(address);
    address = 0;
  }
}

Variable Machine::variable(const LoadedModule& module, std::string_view name) const {
  const std::uint32_t index = module.module().find_variable(name);
  if (index == ptx::no_index || module.addresses_.variables[index] == 0) {
    throw input_error("the module has no variable '{}' in global or constant memory", name);
  }
  const ptx::Variable& variable = module.module().variables[index];
  return {module.addresses_.variables[index], variable.size, variable.managed};
}

std::uint64_t Machine::resident_blocks(const Program& program, Dim3 block,
                                       std::uint32_t dynamic_shared_bytes) const {
  const auto at_least_1 = [](std::uint64_t n) { return std::max<std::uint64_t>(n, 1); };
  const std::uint64_t warps = (block.count() + kWarpSize - 1) / kWarpSize;
  std::uint64_t per_sm = static_cast<std::uint64_t>(gpu_.max_blocks_per_sm);
  per_sm = std::min(per_sm, static_cast<std::uint64_t>(gpu_.max_threads_per_sm) /
                                (at_least_1(warps) * kWarpSize));
  const std::uint64_t shared = std::uint64_t{program.static_shared_bytes()} + dynamic_shared_bytes +
                               gpu_.reserved_shared_bytes_per_block;
  if (shared != 0) per_sm = std::min(per_sm, std::uint64_t{gpu_.shared_bytes_per_sm} / shared);
  return at_least_1(per_sm) * at_least_1(static_cast<std::uint64_t>(gpu_.sm_count));
}

void Machine::check_launch(const Program& program, Dim3 grid, Dim3 block,
                           std::uint32_t dynamic_shared_bytes, std::size_t argument_bytes,
                           bool cooperative) const {
  const auto refuse = [&](const std::string& text) {
    throw usage_error("kernel '{}': {}", program.kernel(), text);
  };
  if (grid.count() == 0 || block.count() == 0) {
    refuse(fmt::format("a launch of {} x {} x {} blocks of {} x {} x {} threads has no thread",
                       grid.x, grid.y, grid.z, block.x, block.y, block.z));
  }
  if (grid.x > gpu_.max_grid.x || grid.y > gpu_.max_grid.y || grid.z > gpu_.max_grid.z) {
    refuse(fmt::format("a grid of {} x {} x {} blocks exceeds the limit of {} x {} x {}", grid.x,
                       grid.y, grid.z, gpu_.max_grid.x, gpu_.max_grid.y, gpu_.max_grid.z));
  }
  if (block.x > gpu_.max_block.x || block.y > gpu_.max_block.y || block.z > gpu_.max_block.z ||
      block.count() > static_cast<std::uint64_t>(gpu_.max_threads_per_block)) {
    refuse(
        fmt::format("a block of {} x {} x {} = {} threads exceeds the limit of {} ({} x {} x {})",
                    block.x, block.y, block.z, block.count(), gpu_.max_threads_per_block,
                    gpu_.max_block.x, gpu_.max_block.y, gpu_.max_block.z));
  }
  // The host's memory for a block's registers; a GPU would have spilled most of them.
  constexpr std::uint64_t kMostRegisterBytes = 256 << 20;
  const std::uint64_t warps = (block.count() + kWarpSize - 1) / kWarpSize;
  const std::uint64_t frames = warps * program.functions()[0].image.size();
  if (frames > kMostRegisterBytes) {
    refuse(
        fmt::format("the PTX registers of a block of {} threads take {} bytes; the emulator's "
                    "limit is {}",
                    block.count(), frames, kMostRegisterBytes));
  }
  const ptx::LaunchBounds& bounds = program.functions()[0].source->bounds;
  const auto product = [](const std::array<std::uint32_t, 3>& d) {
    return std::uint64_t{d[0]} * std::max(d[1], 1u) * std::max(d[2], 1u);
  };
  if (const std::uint64_t most = product(bounds.maxntid); most != 0 && block.count() > most) {
    refuse(
        fmt::format("{} threads a block exceed the {} of its launch bounds", block.count(), most));
  }
  const auto& required = bounds.reqntid;
  if (required[0] != 0 && (block.x != required[0] || block.y != std::max(required[1], 1u) ||
                           block.z != std::max(required[2], 1u))) {
    refuse(fmt::format("it requires blocks of {} x {} x {} threads", required[0],
                       std::max(required[1], 1u), std::max(required[2], 1u)));
  }
  const std::uint64_t shared = std::uint64_t{program.static_shared_bytes()} + dynamic_shared_bytes;
  if (shared > gpu_.shared_bytes_per_block_optin) {
    refuse(fmt::format("{} bytes of shared memory a block exceed the limit of {}", shared,
                       gpu_.shared_bytes_per_block_optin));
  }
  if (argument_bytes < program.parameter_bytes()) {
    refuse(fmt::format("its parameters take {} bytes, but {} were given", program.parameter_bytes(),
                       argument_bytes));
  }
  const std::uint64_t resident = resident_blocks(program, block, dynamic_shared_bytes);
  if (cooperative && grid.count() > resident) {
    refuse(fmt::format("a cooperative launch of {} blocks exceeds the {} that fit on {} at once",
                       grid.count(), resident, gpu_.name));
  }
}

Dim3 Machine::cluster_of(const Program& program, Dim3 grid, const LaunchOptions& options) const {
  const auto refuse = [&](const std::string& text) {
    throw usage_error("kernel '{}': {}", program.kernel(), text);
  };
  const auto text = [](const Dim3& d) { return fmt::format("{} x {} x {}", d.x, d.y, d.z); };
  const ptx::LaunchBounds& bounds = program.functions()[0].source->bounds;
  const auto& d = bounds.reqnctapercluster;
  const Dim3 required{d[0], std::max(d[1], 1u), std::max(d[2], 1u)};
  Dim3 cluster = options.cluster;
  if (d[0] != 0) {
    if (cluster.count() != 1 && cluster != required) {
      refuse(fmt::format("it requires clusters of {} blocks; the launch asks for {}",
                         text(required), text(cluster)));
    }
    cluster = required;
  }
  constexpr std::uint64_t most = 16;  // portable programs use up to 8
  if (cluster.count() == 0 || cluster.count() > most) {
    refuse(fmt::format("clusters of {} blocks; 1 to {} are possible", text(cluster), most));
  }
  if (bounds.maxclusterrank != 0 && cluster.count() > bounds.maxclusterrank) {
    refuse(fmt::format("clusters of {} blocks exceed the {} of its launch bounds", text(cluster),
                       bounds.maxclusterrank));
  }
  if (cluster.count() > 1 && gpu_.compute_major < 9) {
    refuse(fmt::format("clusters need compute capability 9.0; {} has {}.{}", gpu_.name,
                       gpu_.compute_major, gpu_.compute_minor));
  }
  if (grid.x % cluster.x != 0 || grid.y % cluster.y != 0 || grid.z % cluster.z != 0) {
    refuse(fmt::format("a grid of {} blocks is no multiple of its clusters of {}", text(grid),
                       text(cluster)));
  }
  return cluster;
}

LaunchSummary Machine::launch_grid(LoadedModule& module, const Grid& grid,
                                   const LaunchOptions& options,
                                   std::unique_ptr<DeviceRuntime>& runtime) {
  const std::shared_ptr<const Program> program = module.program(grid.kernel, options.schedule != 0);
  check_launch(*program, grid.grid, grid.block, grid.dynamic_shared_bytes, grid.arguments.size(),
               options.cooperative);
  const Dim3 cluster = cluster_of(*program, grid.grid, options);
  const ptx::LaunchBounds& bounds = program->functions()[0].source->bounds;
  if (program->needs().heap && !heap_) {
    heap_ = std::make_unique<KernelHeap>(
        memory_.allocate(limits_.heap_bytes, "kernel heap", AllocationKind::device_heap),
        limits_.heap_bytes);
  }
  if (program->needs().device_runtime) {
    runtime = std::make_unique<DeviceRuntime>(DeviceRuntime::Setup{
        .memory = memory_,
        .heap = *heap_,
        .gpu = gpu_,
        .limits = limits_,
        .pending = pending_,
        .numbers = children_,
        .program = program,
        .kernel = [&module](std::uint64_t address) { return module.kernel_at(address); }});
  }
  if (options.cooperative) {
    constexpr std::uint64_t kWorkspaceBytes = 4096;
    if (grid_workspace_ == 0) {
      grid_workspace_ =
          memory_.allocate(kWorkspaceBytes, kGridWorkspace, AllocationKind::device_heap);
    }
    fill(grid_workspace_, 0, kWorkspaceBytes);
  }
  const LaunchSetup setup{
      .program = *program,
      .memory = memory_,
      .textures = textures_,
      .grid = grid.grid,
      .block = grid.block,
      .cluster = cluster,
      .explicit_cluster =
          cluster.count() > 1 || bounds.explicit_cluster || bounds.reqnctapercluster[0] != 0,
      .dynamic_shared_bytes = grid.dynamic_shared_bytes,
      .parameters = {grid.arguments.begin(), grid.arguments.end()},
      .sm_count = static_cast<std::uint32_t>(std::max(1, gpu_.sm_count)),
      .resident_blocks = resident_blocks(*program, grid.block, grid.dynamic_shared_bytes),
      .grid_workspace = options.cooperative ? grid_workspace_ : 0,
      .grid_id = ++launches_,
      .heap = heap_.get(),
      .device_runtime = runtime.get(),
      .options = options};
  return run_grid(setup);
}

void Machine::run_copies(const ChildWork& work) {
  if (const auto* copy = std::get_if<ChildCopy>(&work)) {
    for (std::uint64_t row = 0; row < copy->rows; ++row) {
      copy_on_device(copy->to + row * copy->to_pitch, copy->from + row * copy->from_pitch,
                     copy->width);
    }
  } else if (const auto* filled = std::get_if<ChildFill>(&work)) {
    for (std::uint64_t row = 0; row < filled->rows; ++row) {
      fill(filled->to + row * filled->pitch, filled->value, filled->width);
    }
  }
}

LaunchSummary Machine::launch(LoadedModule& module, std::string_view kernel, Dim3 grid, Dim3 block,
                              std::uint32_t dynamic_shared_bytes,
                              std::span<const std::uint8_t> arguments,
                              const LaunchOptions& options) {
  // Grids that have work of their kernels left, a grid behind the one that launched it.
  std::vector<std::unique_ptr<DeviceRuntime>> open;
  const auto run = [&](const Grid& next, const LaunchOptions& how, LaunchSummary& summary) {
    std::unique_ptr<DeviceRuntime> runtime;
    summary = launch_grid(module, next, how, runtime);
    if (runtime) open.push_back(std::move(runtime));
    const bool wanted = options.after_grid ? options.after_grid(summary) : summary.complete();
    return wanted && summary.end != LaunchEnd::cancelled;
  };
  pending_ = 0;
  LaunchSummary first, latest;
  LaunchOptions own = options;
  own.cooperative = own.overlaps_previous = false;
  own.cluster = {1};
  own.progress = nullptr;
  bool go_on = run({kernel, grid, block, dynamic_shared_bytes, arguments}, options, first);
  const DeviceRuntime* root = open.empty() ? nullptr : open.front().get();
  while (go_on && !open.empty()) {
    const std::optional<ChildWork> work = open.back()->take();
    // A grid has ended when its children have, and before its tail launches run: a kernel that
    // launches itself so does not nest.
    if (!work || open.back()->ends_with_tail()) {
      if (open.back().get() != root) --pending_;
      if (open.back().get() == root) root = nullptr;
      open.pop_back();
    }
    if (!work) continue;
    if (const auto* child = std::get_if<ChildGrid>(&*work)) {
      const std::size_t before = open.size();
      own.child = child->number;
      go_on = run({child->kernel, child->grid, child->block, child->dynamic_shared_bytes,
                   child->parameters},
                  own, latest);
      if (open.size() == before) --pending_;
    } else {
      run_copies(*work);
    }
  }
  return first;
}

Machine::State Machine::save() const {
  State state{MemoryContents(memory_), std::nullopt, launches_};
  if (heap_) state.heap = *heap_;
  return state;
}

void Machine::restore(const State& state) {
  state.memory.restore(memory_);
  launches_ = state.launches;
  if (heap_ && state.heap) *heap_ = *state.heap;
  if (heap_ && !state.heap) heap_->clear();
}

}  // namespace tilescope::emulator
