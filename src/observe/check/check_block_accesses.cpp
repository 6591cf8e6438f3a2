// The accesses of a block, one by one: whether their bytes hold values, and whom they race with.
#include <algorithm>
#include <bit>

#include "emulator/known_access.hpp"
#include "observe/check/check_block.hpp"

namespace tilescope::observe {
namespace {

using emulator::Access;
using emulator::AccessKind;
using emulator::LaneMask;
using emulator::Space;

bool reads(AccessKind kind) {
  return verb_of(kind) != AccessVerb::write;
}
bool writes(AccessKind kind) {
  return verb_of(kind) != AccessVerb::read;
}

/// Whether a store changes nothing.
bool stores_same_bits(const Access& access) {
  constexpr std::uint32_t kMost = 8;
  if (access.kind != AccessKind::store) return false;
  for (LaneMask m = access.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    for (std::uint32_t done = 0; done < access.bytes; done += kMost) {
      const std::uint64_t address = access.addresses[lane] + done;
      const std::uint32_t bytes = std::min<std::uint32_t>(kMost, access.bytes - done);
      if (emulator::stored_bits(access, lane, address, bytes) !=
          emulator::present_bits(access, address, bytes)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

void CheckBlock::access(const Access& access) {
  if (access.space == Space::local) {
    local_access(access);
    return;
  }
  if (access.space != Space::shared && access.space != Space::global) return;
  LaneCells& cells = cells_[2 * access.instruction + (access.space == Space::shared ? 1 : 0)];
  if (!cells.describes(access)) {
    if (cells.logged == order_.epoch()) races_.settle(shared_);
    cells.learn(access);
    cells.number = ++last_cells_;
  }
  if (!note_load(access.instruction, access.warp, access.space, access.kind, access.order, cells,
                 base_address(access))) {
    judge(access, cells);
  }
}

void CheckBlock::known_accesses(const emulator::KnownAccesses& known) {
  const KnownPlan& plan = known_plan(known);
  const bool logged = !plan.loads().loads.empty() && note_loads(plan.loads(), known);
  if (logged && !plan.has_others()) return;
  const bool only_races = loads_only_race(known.warp);
  std::array<std::uint64_t, emulator::kWarpSize> addresses;
  for (std::size_t i = 0; i < known.group.accesses.size(); ++i) {
    if (logged && plan.is_load(i)) continue;
    const emulator::KnownAccess& access = known.group.accesses[i];
    const std::uint64_t base = known.address(access);
    if (only_races && plan.is_plain_load(i) &&
        finds_values(access.instruction, plan.cells(i), base)) {
      races_.load(access.instruction, known.warp, plan.cells(i), base, global_);
      continue;
    }
    if (!note_load(access.instruction, known.warp, access.space, access.kind,
                   emulator::MemoryOrder::weak, plan.cells(i), base)) {
      judge(known.single(i, addresses.data()), plan.cells(i));
    }
  }
}

/// Whether plain loads of global memory that find values can at most race with other threads.
bool CheckBlock::loads_only_race(std::uint32_t warp) const {
  return !launch_.grid_order && !async_ && escapes_.empty() && !protocols_.grid.watches() &&
         order_.is_simple(warp);
}

const KnownPlan& CheckBlock::known_plan(const emulator::KnownAccesses& known) {
  if (known.group.number >= known_plans_.size()) known_plans_.resize(known.group.number + 1);
  std::unique_ptr<KnownPlan>& plan = known_plans_[known.group.number];
  if (!plan) {
    std::vector<const LaneCells*> cells;
    for (std::size_t i = 0; i < known.group.accesses.size(); ++i) {
      cells.push_back(&known_cells(known, i));
    }
    plan = std::make_unique<KnownPlan>(known.group, std::move(cells), launch_.roles, last_cells_);
  }
  return *plan;
}

const LaneCells& CheckBlock::known_cells(const emulator::KnownAccesses& known, std::size_t which) {
  const emulator::KnownAccess& access = known.group.accesses[which];
  const std::uint32_t number = 2 * access.pattern->number + (access.space == Space::shared ? 1 : 0);
  if (number >= known_cells_.size()) known_cells_.resize(number + 1);
  std::unique_ptr<LaneCells>& cells = known_cells_[number];
  if (!cells) {
    std::array<std::uint64_t, emulator::kWarpSize> addresses;
    cells = std::make_unique<LaneCells>();
    cells->learn(known.single(which, addresses.data()));
    cells->number = ++last_cells_;
  }
  return *cells;
}

/// Whether reads of shared memory may be logged if they say nothing special: loads of words of a
/// warp.
bool CheckBlock::logs_reads(std::uint32_t warp) const {
  return !async_ && escapes_.empty() && order_.is_simple(warp);
}

/// Whether the bytes hold values; `number` names the runs, as LaneCells::number does.
bool CheckBlock::stays_filled(std::uint64_t number, std::span<const Run> runs, std::uint64_t base) {
  const FilledCells key{number << 20 | base, blocks_seen_};
  FilledCells& known = with_contents_[(base / 4 + number * 37) % with_contents_.size()];
  if (known == key) return true;
  if (!has_contents(runs, base)) return false;
  known = key;
  return true;
}

/// Takes note of a load of words of shared memory that nothing special can be said of; false, and
/// nothing done, of any other access.
bool CheckBlock::note_load(emulator::InstructionId instruction, std::uint32_t warp, Space space,
                           AccessKind kind, emulator::MemoryOrder order, const LaneCells& cells,
                           std::uint64_t base) {
  if (space != Space::shared || kind != AccessKind::load || order != emulator::MemoryOrder::weak ||
      cells.unit != 4 || !logs_reads(warp) || base >= launch_.info.reserved_shared_begin ||
      launch_.roles[instruction].is_special() || !races_.may_log(cells.runs, base, shared_) ||
      !stays_filled(cells.number, cells.runs, base)) {
    return false;
  }
  races_.log_read(instruction, warp, cells, base, shared_);
  return true;
}

/// The same for several, all or none.
bool CheckBlock::note_loads(const KnownLoads& loads, const emulator::KnownAccesses& known) {
  if (!logs_reads(known.warp)) return false;
  starts_.clear();
  for (const KnownLoads::Stretch& stretch : loads.stretches) {
    const std::uint64_t start = known.address(known.group.accesses[stretch.access]) -
                                static_cast<std::uint64_t>(stretch.offset);
    if (start + stretch.extent > launch_.info.reserved_shared_begin ||
        !races_.may_log(stretch.near, start, shared_) ||
        !stays_filled(stretch.number, stretch.runs, start)) {
      return false;
    }
    starts_.push_back(start);
  }
  races_.log_reads(loads, known.warp, starts_, shared_);
  return true;
}

/// `cells` describes the access.
void CheckBlock::judge(const Access& access, const LaneCells& cells) {
  if (launch_.roles[access.instruction].tested && access.order == emulator::MemoryOrder::weak) {
    // As good as a relaxed read: an old value only makes the program try again.
    Access relaxed = access;
    relaxed.order = emulator::MemoryOrder::relaxed;
    relaxed.scope = emulator::Scope::gpu;
    judge(relaxed, cells);
    return;
  }
  const AccessRole role = launch_.roles[access.instruction];
  if (role.decides) races_.note_flags(access, role);
  if (role.escapes || !escapes_.empty()) follow_local_addresses(access, role);
  // The vendor's library only orders threads in the system's part of shared memory.
  const bool reserved =
      access.space == Space::shared && access.mask != 0 &&
      access.addresses[std::countr_zero(access.mask)] >= launch_.info.reserved_shared_begin;
  // On a chip memory without contents may hold any bits, so a store there changes it.
  const bool same_bits = async_ && access.space == Space::shared && role.stores &&
                         has_contents(cells.runs, base_address(access)) && stores_same_bits(access);
  if (access.space == Space::global) {
    global_access(access, cells);
  } else if (!reserved) {
    shared_access(access, cells);
  }
  if (async_ && access.space == Space::shared) {
    async_->access(rank_, access, cells.runs, same_bits);
  }
  if (launch_.synchronises && strength_of(access) != Strength::plain) synchronise(access);
}

/// Finds reads of pointers to local variables of other threads.
void CheckBlock::follow_local_addresses(const Access& access, AccessRole role) {
  if (role.escapes) {
    escapes_.add(access);
  } else if (writes(access.kind)) {
    escapes_.overwrite(access);
  } else if (const LaneMask lanes = escapes_.foreign(access); lanes != 0 && access.bytes >= 8) {
    const std::uint64_t address = access.addresses[std::countr_zero(lanes)];
    faults_.fault({emulator::FaultKind::wrong_space,
                   access.instruction,
                   access.warp,
                   lanes,
                   Space::local,
                   AccessKind::load,
                   access.bytes,
                   address,
                   {},
                   0,
                   0,
                   access.addresses},
                  block_);
  }
}

bool CheckBlock::has_contents(std::span<const Run> runs, std::uint64_t base) const {
  return std::all_of(runs.begin(), runs.end(), [&](const Run& run) {
    return shared_contents_.all(base + static_cast<std::uint64_t>(run.offset), run.bytes);
  });
}

void CheckBlock::shared_access(const Access& access, const LaneCells& cells) {
  const std::uint64_t base = base_address(access);
  const auto at = [&](const Run& run) { return base + static_cast<std::uint64_t>(run.offset); };
  if (reads(access.kind) && !launch_.only_stores(access)) {
    if (!has_contents(cells.runs, base)) {
      const std::uint32_t bytes = access.kind == AccessKind::matrix_load ? 16 : access.bytes;
      for (LaneMask m = access.mask; m != 0; m &= m - 1) {
        const int lane = std::countr_zero(m);
        if (reads_undefined(shared_contents_, access.addresses[lane], bytes,
                            launch_.read_rules[access.instruction])) {
          pending_reads_.add({order_.time(), AccessTag::of(access.instruction, access.warp, lane,
                                                           strength_of(access))},
                             access.addresses[lane], bytes);
        }
      }
    }
  }
  if (writes(access.kind)) {
    // An atomic builds on the value it read; only a plain write initialises the element.
    if (!pending_reads_.empty() && verb_of(access.kind) == AccessVerb::write) {
      pending_reads_.write(order_, access.warp, cells, base, block_, undefined_);
    }
    for (const Run& run : cells.runs) {
      shared_contents_.set(at(run), run.bytes);
      if (protocols_.tiles.has_tiles()) protocols_.tiles.overwrite(at(run), at(run) + run.bytes);
    }
  }
  races_.access(access, cells, shared_);
  if (access.kind == AccessKind::async_store) begin_copies(access);
}

void CheckBlock::global_access(const Access& access, const LaneCells& cells) {
  if (protocols_.grid.watches()) protocols_.grid.access(access);
  if (async_ && async_->watches_global()) async_->global_access(rank_, access, cells.runs);
  if (async_ && async_->watches_maps() && writes(access.kind)) async_->change_map(rank_, access);
  if (reads(access.kind) && !launch_.all_initialised && !launch_.only_stores(access)) {
    check_global_contents(access, cells);
  }
  races_.access(access, cells, global_);
  if (copies_pending_ && writes(access.kind)) check_copy_sources(access);
  if (access.kind == AccessKind::store && launch_.roles[access.instruction].stores) {
    lone_stores_.add(access, cells);
  }
  if (access.kind == AccessKind::async_load) {
    for (LaneMask m = access.mask; m != 0; m &= m - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(m));
      copy_sources_[lane] = {access.addresses[lane], access.bytes};
    }
  }
  if (launch_.grid_order) {
    launch_.grid_order->access(block_, order_.time(), access, cells, races_.flags());
  }
}

/// The allocation that holds the address; null: none. A load tends to stay in one, so the one it
/// found last is tried first, unless the kernel may free it meanwhile.
const emulator::Allocation* CheckBlock::read_from(emulator::InstructionId load,
                                                  std::uint64_t address) {
  const emulator::Allocation*& last = found_last_[load];
  if (last != nullptr && address - last->address() < last->bytes()) return last;
  const emulator::Allocation* found = launch_.info.memory.find(address);
  if (found != nullptr && found->kind() != emulator::AllocationKind::device_heap) last = found;
  return found;
}

/// Whether all bytes of a load of global memory held values when the launch began.
bool CheckBlock::finds_values(emulator::InstructionId load, const LaneCells& cells,
                              std::uint64_t base) {
  if (launch_.all_initialised) return true;
  const emulator::Allocation* last = found_last_[load];
  if (last != nullptr && !cells.runs.empty()) {
    const Run& highest = cells.runs.back();
    const std::uint64_t begin = base + static_cast<std::uint64_t>(cells.runs.front().offset);
    const std::uint64_t end = base + static_cast<std::uint64_t>(highest.offset) + highest.bytes;
    if (last->fully_initialised() && begin >= last->address() &&
        end <= last->address() + last->bytes()) {
      return true;
    }
  }
  return std::all_of(cells.runs.begin(), cells.runs.end(), [&](const Run& run) {
    const std::uint64_t address = base + static_cast<std::uint64_t>(run.offset);
    const emulator::Allocation* in = read_from(load, address);
    return in == nullptr || in->initialised(address - in->address(), run.bytes);
  });
}

void CheckBlock::check_global_contents(const Access& access, const LaneCells& cells) {
  if (finds_values(access.instruction, cells, base_address(access))) return;
  // The bytes that this block has written are defined too.
  struct Flags {
    const emulator::Allocation& in;
    GlobalShadow& shadow;
    std::uint32_t start;
    bool one(std::uint64_t offset) const {
      if (in.initialised(offset, 1)) return true;
      const std::uint64_t address = in.address() + offset;
      const ShadowPage* page = shadow.page(address);
      if (page == nullptr) return true;  // no room for records: do not judge
      const auto in_page = static_cast<std::uint32_t>(address % ShadowPage::kBytes);
      const Cell cell = page->cell(page->by_bytes ? in_page : in_page / 4);
      return cell.write.time >= start || cell.atomic.time >= start;
    }
    bool all(std::uint64_t offset, std::uint64_t bytes) const {
      for (std::uint64_t i = 0; i < bytes; ++i) {
        if (!one(offset + i)) return false;
      }
      return true;
    }
    bool any(std::uint64_t offset, std::uint64_t bytes) const {
      for (std::uint64_t i = 0; i < bytes; ++i) {
        if (one(offset + i)) return true;
      }
      return false;
    }
  };
  for (LaneMask m = access.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::uint64_t address = access.addresses[lane];
    const emulator::Allocation* in = read_from(access.instruction, address);
    if (in == nullptr || in->fully_initialised()) continue;
    const Flags flags{*in, global_, order_.block_start()};
    if (reads_undefined(flags, address - in->address(), access.bytes,
                        launch_.read_rules[access.instruction])) {
      undefined(access, lane);
    }
  }
}

void CheckBlock::local_access(const Access& access) {
  auto& warp = local_contents_[access.warp];
  for (LaneMask m = access.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    emulator::ByteFlags& flags = warp[static_cast<std::size_t>(lane)];
    const std::uint64_t address = access.addresses[lane];
    flags.grow(address + access.bytes);
    // Other lanes decide whether a shuffled value is used.
    if (reads(access.kind) && !launch_.roles[access.instruction].shuffled &&
        reads_undefined(flags, address, access.bytes, launch_.read_rules[access.instruction])) {
      const emulator::Place place = view_->place(Space::local, address, access.warp, lane);
      undefined_.add(access.instruction, Space::local,
                     {block_, place.object.empty() ? address : place.offset,
                      access.warp * emulator::kWarpSize + static_cast<std::uint32_t>(lane)},
                     std::string(place.object));
    }
    if (writes(access.kind)) flags.set(address, access.bytes);
  }
}

void CheckBlock::undefined(const Access& access, int lane, const std::string& variable) {
  undefined_.add(access.instruction, access.space,
                 {block_, access.addresses[lane],
                  access.warp * emulator::kWarpSize + static_cast<std::uint32_t>(lane)},
                 variable);
}

/// Atomics and strong accesses publish what their warp has fenced, and learn what others have
/// published.
void CheckBlock::synchronise(const Access& access) {
  const bool releases = access.order == emulator::MemoryOrder::release ||
                        access.order == emulator::MemoryOrder::acquire_release;
  if (strength_of(access) == Strength::pending) return;
  if (releases) fence(access.warp, access.scope);
  for (LaneMask m = access.mask; m != 0; m &= m - 1) {
    const std::uint64_t variable = word_at(access.space, access.addresses[std::countr_zero(m)]);
    const AccessRole role = launch_.roles[access.instruction];
    const bool global = access.space == Space::global && launch_.grid_order && !role.block_scope;
    if (reads(access.kind) && access.kind != AccessKind::reduction) {
      order_.acquire(access.warp, variable, role.relaxed);
      if (global) launch_.grid_order->acquire(block_, variable, role.relaxed);
    }
    if (writes(access.kind)) {
      order_.release(access.warp, variable);
      if (global) launch_.grid_order->release(block_, variable, order_.published(access.warp));
      if (global && launch_.polls && role.stores) {
        launch_.grid_order->set_flag(block_, variable, order_.passed(access.warp));
      }
    }
  }
  if (access.space == Space::shared && launch_.info.cluster.count() > 1) {
    synchronise_cluster(access, rank_);
  }
  if (async_ && !launch_.async->on_mbarrier(access.instruction)) {
    async_->flag(rank_, access, rank_);
  }
}

}  // namespace tilescope::observe
