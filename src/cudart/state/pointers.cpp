#include "cudart/state/pointers.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <array>

namespace tilescope::cudart {
namespace {

constexpr std::array<const char*, 4> kind_names = {"cudaMemcpyHostToHost", "cudaMemcpyHostToDevice",
                                                   "cudaMemcpyDeviceToHost",
                                                   "cudaMemcpyDeviceToDevice"};

const char* name_of_direction(bool from_device, bool to_device) {
  return kind_names[(from_device ? 2 : 0) + (to_device ? 1 : 0)];
}

bool is_device_memory(Context& context, std::uint64_t address) {
  const MemoryBlock* block = context.memory().find(address);
  return block != nullptr ? block->on_device() : context.code().variable_at(address) != nullptr;
}

bool is_known_to_device(Context& context, std::uint64_t address) {
  return context.memory().find(address) != nullptr ||
         context.code().variable_at(address) != nullptr;
}

void report(Context& context, FindingKind kind, std::size_t bytes, MemoryPlace memory,
            const inspect::HostCall* other) {
  if (context.watch() == nullptr) return;
  Finding finding;
  finding.kind = kind;
  finding.memory = std::move(memory);
  HostFacts facts;
  facts.call = context.here().name;
  facts.bytes = bytes;
  finding.facts = std::move(facts);
  context.report(std::move(finding), other);
}

MemoryPlace place_in(const std::string& name, std::uint64_t start, std::size_t bytes,
                     std::uint64_t address) {
  return {.address = address,
          .object = name,
          .object_bytes = bytes,
          .offset = static_cast<std::int64_t>(address - start)};
}

/// Throws unless the bytes lie in one allocation or variable; an address in none of them is
/// accepted where `unknown_allowed`.
void require_inside(Context& context, std::uint64_t address, std::size_t bytes,
                    bool unknown_allowed) {
  if (bytes == 0) return;
  if (const MemoryBlock* block = context.memory().find(address)) {
    if (bytes <= block->bytes - (address - block->address)) return;
    report(context, FindingKind::copy_bounds, bytes,
           place_in(block->name, block->address, block->bytes, address), &block->call);
    throw Failure{cudaErrorInvalidValue};
  }
  if (const ModuleVariable* variable = context.code().variable_at(address)) {
    if (bytes <= variable->bytes - (address - variable->address)) return;
    report(context, FindingKind::copy_bounds, bytes,
           place_in({}, variable->address, variable->bytes, address), nullptr);
    throw Failure{cudaErrorInvalidValue};
  }
  if (unknown_allowed) return;
  if (const FreedBlock* freed = context.memory().find_freed(address)) {
    report(context, FindingKind::use_after_free, bytes,
           {.address = address, .object = freed->name, .object_bytes = freed->bytes}, &freed->call);
  }
  throw Failure{cudaErrorInvalidValue};
}

void require_direction(Context& context, const CopyOperation& copy, cudaMemcpyKind kind) {
  const bool to_known = is_known_to_device(context, copy.to.address);
  const bool from_known = is_known_to_device(context, copy.from.address);
  const bool to_device = is_device_memory(context, copy.to.address);
  const bool from_device = is_device_memory(context, copy.from.address);
  const MemoryBlock* const to_block = context.memory().find(copy.to.address);
  const MemoryBlock* const from_block = context.memory().find(copy.from.address);
  const auto fits = [](bool as_device, bool known, bool device, const MemoryBlock* block) {
    return as_device ? known : !device || (block != nullptr && block->on_host());
  };
  const bool named_to = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool named_from = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (fits(named_to, to_known, to_device, to_block) &&
      fits(named_from, from_known, from_device, from_block)) {
    return;
  }
  for (const CopySide* side : {&copy.to, &copy.from}) {
    if (context.memory().find_freed(side->address) != nullptr) return;  // reported as such
  }
  if (context.watch() != nullptr) {
    Finding finding;
    finding.kind = FindingKind::copy_direction;
    HostFacts facts;
    facts.call = context.here().name;
    facts.given = kind_names[kind];
    facts.right = name_of_direction(from_device, to_device);
    finding.facts = std::move(facts);
    context.report(std::move(finding));
  }
  throw Failure{cudaErrorInvalidValue};
}

/// Whether the host can read the address: a page of the process is there.
bool is_host_memory(std::uint64_t address) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  unsigned char resident = 0;
  return mincore(reinterpret_cast<void*>(address / page * page), 1, &resident) == 0;
}

}  // namespace

void note_filled(Context& context, std::uint64_t address, const CopyOperation* copy) {
  if (!context.checks()) return;
  CopyTarget target;
  if (const MemoryBlock* block = context.memory().find(address)) {
    target = {block->name, block->address, block->bytes};
  } else if (const ModuleVariable* variable = context.code().variable_at(address)) {
    target = {context.code().name_at(address), variable->address, variable->bytes, true};
  } else {
    return;
  }
  context.sizes().filled(target, copy, context.here());
}

void report_suspect_sizes(Context& context) {
  if (!context.checks()) return;
  for (SizeSuspects::Suspect& suspect : context.sizes().launched()) {
    Finding finding;
    finding.kind = FindingKind::copy_size;
    finding.memory = place_in(suspect.target.name, suspect.target.address, suspect.target.bytes,
                              suspect.target.address);
    HostFacts facts;
    facts.call = suspect.call.name;
    facts.bytes = suspect.bytes;
    finding.facts = std::move(facts);
    context.watch()->report(std::move(finding), suspect.call);
  }
}

void resolve(Context& context, CopyOperation& copy, cudaMemcpyKind kind) {
  require(kind >= cudaMemcpyHostToHost && kind <= cudaMemcpyDefault,
          cudaErrorInvalidMemcpyDirection);
  if (copy.empty()) return;
  require(copy.to.address != 0 && copy.from.address != 0, cudaErrorInvalidValue);
  if (kind != cudaMemcpyDefault) require_direction(context, copy, kind);
  for (const CopySide* side : {&copy.to, &copy.from}) {
    const bool inside = side->x_bytes + copy.row_bytes <= side->pitch;
    require(side->array == 0 || inside, cudaErrorInvalidValue);
  }
  const bool named_to = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool named_from = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  copy.to.on_device = named_to || is_device_memory(context, copy.to.address);
  copy.from.on_device = named_from || is_device_memory(context, copy.from.address);
  for (const CopySide* side : {&copy.to, &copy.from}) {
    require_inside(context, side->address, extent(*side, copy.row_bytes, copy.rows, copy.slices),
                   !side->on_device);
  }
  if (copy.to.on_device && copy.to.array == 0) note_filled(context, copy.to.address, &copy);
}

void require_on_device(Context& context, std::uint64_t address, std::size_t bytes) {
  require_inside(context, address, bytes, false);
}

void report_arguments(Context& context, const KernelOperation& launch,
                      const std::vector<KernelParameter>& parameters) {
  if (context.watch() == nullptr) return;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].kind != KernelParameter::Kind::pointer) continue;
    std::uint64_t address = 0;
    std::memcpy(&address, launch.arguments.bytes().data() + launch.arguments.offsets()[i],
                sizeof address);
    if (address == 0 || is_known_to_device(context, address)) continue;
    const FreedBlock* const freed = context.memory().find_freed(address);
    // The kernel itself finds memory that cudaFree has freed.
    const bool freed_in_order = freed != nullptr && freed->in_stream_order;
    if (!freed_in_order && (freed != nullptr || !is_host_memory(address))) continue;
    Finding finding;
    finding.kind = freed_in_order ? FindingKind::use_after_free : FindingKind::host_pointer;
    finding.kernel = launch.kernel.name();
    MemoryPlace memory;
    memory.address = address;
    if (freed_in_order) {
      memory.object = freed->name;
      memory.object_bytes = freed->bytes;
    }
    finding.memory = std::move(memory);
    HostFacts facts;
    facts.call = context.here().name;
    facts.argument = static_cast<std::uint32_t>(i + 1);
    finding.facts = std::move(facts);
    context.report(std::move(finding), freed_in_order ? &freed->call : nullptr);
  }
}

void* address_in_variable(Context& context, const void* symbol, std::size_t bytes,
                          std::size_t offset) {
  const CodeVariable& known = context.registry().variable(symbol);
  const ModuleVariable variable = context.code().variable(context.device(), known);
  if (offset > variable.bytes || bytes > variable.bytes - offset) {
    report(context, FindingKind::copy_bounds, bytes,
           place_in(known.name, variable.address, variable.bytes, variable.address + offset),
           nullptr);
    throw Failure{cudaErrorInvalidValue};
  }
  return reinterpret_cast<void*>(variable.address + offset);
}

void report_bad_free(Context& context, std::uint64_t address) {
  if (const FreedBlock* freed = context.memory().find_freed(address)) {
    return report(context, FindingKind::double_free, 0,
                  {.address = address, .object = freed->name, .object_bytes = freed->bytes},
                  &freed->call);
  }
  const MemoryBlock* const block = context.memory().find(address);
  report(context, FindingKind::bad_free, 0,
         block == nullptr ? MemoryPlace{.address = address}
                          : place_in(block->name, block->address, block->bytes, address),
         block == nullptr ? nullptr : &block->call);
}

}  // namespace tilescope::cudart
