#include "emulator/compiled/lane_access_emitter.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <iterator>

#include "base/one_of.hpp"
#include "emulator/compiled/runtime_calls.hpp"
#include "emulator/compiled/vector_cache.hpp"

namespace tilescope::emulator::compiled {
namespace {

constexpr Gpr kMemory = rcx;           ///< what is added to an address for the host's
constexpr Gpr kLane = r9, kLeft = r8;  ///< the present lane, and those that are left with it
constexpr int kWrong = 0, kFirst = 1, kLast = 2, kLanes = 3, kMore = 4;  // vectors

}  // namespace

bool LaneAccessEmitter::takes(const FunctionPlan& plan, const Operation& operation) {
  if (!is_one_of(operation.act, {Act::load, Act::store, Act::atomic_add})) return false;
  const Space space = operation.space(0);
  return (space == Space::shared ||
          (space == Space::global && plan.registers()[operation.in[0]].width == 8)) &&
         operation.code->offset % operation.code->bytes == 0;
}

/// The place of the present lane in the frame.
Place LaneAccessEmitter::in_frame(std::uint32_t reg) const {
  const RegisterInfo& info = plan_.registers()[reg];
  return lane_ ? at(kFrame, lane_of(reg, *lane_)) : at(kFrame, info.offset, kLane, info.width);
}

/// Calls `visit` for each lane that runs, in ascending order: `in_frame` is its place.
template <class Visit>
void LaneAccessEmitter::each_lane(bool loop, Visit visit) {
  if (!loop) {
    for (int lane = 0; lane < 32; ++lane) {
      lane_ = lane;
      visit();
    }
    return;
  }
  lane_ = std::nullopt;
  const Label next = a_.label();
  if (masked_) {
    a_.mov(kLeft, at(kState, offsetof(CompiledState, mask)), 4);
  } else {
    a_.mov_constant(kLeft, kAllLanes);
  }
  a_.bind(next);
  a_.lowest_one(kLane, kLeft, 4);
  visit();
  a_.mov(rax, kLeft, 4);
  a_.add_constant(rax, ~std::uint64_t{0}, 4);
  a_.bit_and(kLeft, rax, 4);
  a_.jump(Condition::not_equal, next);
}

/// The place of a register's lane in the frame.
std::int64_t LaneAccessEmitter::lane_of(std::uint32_t reg, int lane) const {
  const RegisterInfo& info = plan_.registers()[reg];
  return std::int64_t{info.offset} + std::int64_t{lane} * info.width;
}

/// Addresses of shared memory modulo 2^32, and all bytes inside the block's.
void LaneAccessEmitter::check_words() {
  const auto bytes = static_cast<std::uint32_t>(operation_.code->bytes);
  a_.mov(rax, at(kState, offsetof(CompiledState, shared_bytes)), 8);
  a_.compare_constant(rax, static_cast<std::int32_t>(bytes), 8);
  a_.jump(Condition::below, slow_);
  a_.add_constant(rax, ~std::uint64_t{bytes} + 1, 8);
  a_.vector(vmovd, kLast, 0, rax);
  a_.vector(vpbroadcastd, kLast, 0, ymm(kLast));
  a_.vector(vpbroadcastd, kFirst, 0,
            a_.constant_32(static_cast<std::uint32_t>(operation_.code->offset)));
  // The highest address, and the bits of all.
  for (int lane = 0; lane < 32; lane += 8) {
    a_.vector(vpaddd, kLanes, kFirst, at(kFrame, lane_of(operation_.in[0], lane)));
    if (lane == 0) {
      a_.vector(vmovups, kMore, 0, ymm(kLanes));
      a_.vector(vmovups, kWrong, 0, ymm(kLanes));
    } else {
      a_.vector(vpmaxud, kMore, kMore, ymm(kLanes));
      a_.vector(vpor, kWrong, kWrong, ymm(kLanes));
    }
  }
  a_.vector(vpbroadcastd, kFirst, 0, a_.constant_32(bytes - 1));
  a_.vector(vpand, kWrong, kWrong, ymm(kFirst));
  a_.vector(vpmaxud, kMore, kMore, ymm(kLast));
  a_.vector(vpxor, kMore, kMore, ymm(kLast));
  a_.vector(vpor, kWrong, kWrong, ymm(kMore));
  a_.vector(vptest, kWrong, 0, ymm(kWrong));
  a_.jump(Condition::not_equal, slow_);
  a_.mov(kMemory, at(kState, offsetof(CompiledState, shared)), 8);
}

/// A member of the AccessBounds.
Place LaneAccessEmitter::bound(std::size_t offset) const {
  return at(kBounds, std::int64_t{bounds_} * std::int64_t{sizeof(AccessBounds)} +
                         static_cast<std::int64_t>(offset));
}

/// kFirst: the lowest address of the memory less the instruction's offset; kLast: the highest
/// address of a lane less the lowest, and `beyond` more; kMemory.
void LaneAccessEmitter::load_extent(std::uint64_t beyond) {
  const bool wide = plan_.registers()[operation_.in[0]].width == 8;
  const auto offset = static_cast<std::uint64_t>(operation_.code->offset);
  const auto broadcast = [&](int to) {
    a_.vector(vmovq, to, 0, rax);
    a_.strip(wide ? vpbroadcastq : vpbroadcastd, to, 0, ymm(to));
  };
  if (is_shared()) {
    a_.mov_constant(rax, ~offset + 1);
    broadcast(kFirst);
    a_.mov(rax, at(kState, offsetof(CompiledState, shared_bytes)), 8);
    a_.add_constant(rax, beyond - std::uint64_t{operation_.code->bytes}, 8);
    broadcast(kLast);
    a_.mov(kMemory, at(kState, offsetof(CompiledState, shared)), 8);
  } else {
    a_.mov(rax, bound(offsetof(AccessBounds, begin)), 8);
    a_.add_constant(rax, ~offset + 1, 8);
    broadcast(kFirst);
    a_.mov(rax, bound(offsetof(AccessBounds, limit)), 8);
    a_.add_constant(rax, beyond - 1, 8);
    broadcast(kLast);
    a_.mov(kMemory, bound(offsetof(AccessBounds, to_host)), 8);
  }
  if (wide) a_.add_constant(kMemory, offset, 8);
}

/// Each address less the lowest is neither negative nor above the last that fits.
void LaneAccessEmitter::check_longs() {
  load_extent(0);
  const int bits = kMore + 1;
  a_.vector(vpxor, kWrong, kWrong, ymm(kWrong));
  a_.vector(vpxor, bits, bits, ymm(bits));
  for (int lane = 0; lane < 32; lane += 4) {
    a_.vector(vmovups, kLanes, 0, at(kFrame, lane_of(operation_.in[0], lane)));
    a_.vector(vpor, bits, bits, ymm(kLanes));
    a_.vector(vpsubq, kLanes, kLanes, ymm(kFirst));
    a_.vector(vpcmpgtq, kMore, kLanes, ymm(kLast));
    a_.vector(vpor, kWrong, kWrong, ymm(kLanes));
    a_.vector(vpor, kWrong, kWrong, ymm(kMore));
  }
  a_.vector(vmovmskpd, rax, 0, ymm(kWrong));
  a_.test(rax, rax, 4);
  a_.jump(Condition::not_equal, slow_);
  if (operation_.code->bytes > 1) {
    a_.vector(vpbroadcastq, kLanes, 0, a_.constant_64(operation_.code->bytes - 1u));
    a_.vector(vptest, bits, 0, ymm(kLanes));
    a_.jump(Condition::not_equal, slow_);
  }
}

/// With AVX-512: as the two above, of the lanes that run.
void LaneAccessEmitter::check_512() {
  const std::uint32_t address = operation_.in[0];
  const bool wide = plan_.registers()[address].width == 8;
  const auto bytes = static_cast<std::int32_t>(operation_.code->bytes);
  // Less the lowest address every one must be below the limit. Without memory there is none.
  if (is_shared()) {
    a_.compare_constant(at(kState, offsetof(CompiledState, shared_bytes)), bytes, 8);
    a_.jump(Condition::below, slow_);
  }
  load_extent(1);
  // The highest difference, and the bits of all.
  const int lanes = wide ? 8 : 16;
  a_.strip(vpxor, kWrong, kWrong, ymm(kWrong));
  a_.strip(vpxor, kMore, kMore, ymm(kMore));
  for (int lane = 0; lane < 32; lane += lanes) {
    const auto running = [&](VectorCode code) { return masked_ ? masked(code, kRunning) : code; };
    if (masked_) load_running(a_, lane);
    a_.strip(vmovups, kLanes, 0, at(kFrame, lane_of(address, lane)));
    a_.strip(running(wide ? vporq : vpor), kMore, kMore, ymm(kLanes));
    a_.strip(wide ? vpsubq : vpsubd, kLanes, kLanes, ymm(kFirst));
    a_.strip(running(wide ? vpmaxuq : vpmaxud), kWrong, kWrong, ymm(kLanes));
  }
  constexpr std::uint8_t kNotBelow = 5;
  a_.strip(wide ? vpcmpuq : vpcmpud, kMask, kWrong, ymm(kLast), kNotBelow);
  if (bytes > 1) {
    const auto low = static_cast<std::uint32_t>(bytes - 1);
    a_.strip(repeated(wide ? vptestmq : vptestmd), kMask2, kMore,
             wide ? a_.constant_64(low) : a_.constant_32(low));
    a_.vector(kortestw, kMask, 0, ymm(kMask2));
  } else {
    a_.vector(kortestw, kMask, 0, ymm(kMask));
  }
  a_.jump(Condition::not_equal, slow_);
}

/// The address less kMemory.
void LaneAccessEmitter::load_address(Gpr to) {
  const unsigned bytes = plan_.registers()[operation_.in[0]].width;
  a_.mov(to, in_frame(operation_.in[0]), bytes);
  if (bytes == 4) a_.add_constant(to, static_cast<std::uint64_t>(operation_.code->offset), 4);
}

/// All lanes write memory. The frame is read for some of them before any writes: the CPU may let a
/// load wait for stores whose addresses it does not know yet. `read` and `write` get an address and
/// a register for a value, if `values` says so; not rdx where there is a result.
template <class Read, class Write>
void LaneAccessEmitter::in_groups(bool values, Read read, Write write) {
  constexpr Gpr kFree[] = {rax, rsi, rdi, r8, r9, r10, r11, rdx};
  const int free = static_cast<int>(std::size(kFree)) - (operation_.out.empty() ? 0 : 1);
  const int each = values ? 2 : 1, most = free / each;
  for (int begin = 0; begin < 32; begin += most) {
    const int end = std::min(begin + most, 32);
    const auto visit = [&](auto what) {
      for (int lane = begin; lane < end; ++lane) {
        lane_ = lane;
        const Gpr* const registers = kFree + (lane - begin) * each;
        what(registers[0], registers[each - 1]);
      }
    };
    visit(read);
    visit(write);
  }
}

void LaneAccessEmitter::move_lane() {
  const Operation& operation = operation_;
  const unsigned slot = operation.width == 8 ? 8 : 4;
  load_address(rax);
  const auto element = [&](std::size_t i) {
    return at(kMemory, static_cast<std::int64_t>(i) * operation.width, rax, 1);
  };
  for (std::size_t i = 0; i < operation.out.size(); ++i) {
    if (operation.width < 4) {
      a_.load_narrow(rdx, element(i), operation.width, operation.is_signed);
    } else {
      a_.mov(rdx, element(i), slot);
    }
    a_.store(in_frame(operation.out[i]), rdx, slot);
  }
  for (std::size_t i = 1; i < operation.in.size(); ++i) {
    a_.mov(rdx, in_frame(operation.in[i]), slot);
    a_.store(element(i - 1), rdx, operation.width);
  }
}

/// The number that every lane adds, where an instruction can hold it.
std::optional<std::int32_t> LaneAccessEmitter::known_addend() const {
  const RegisterInfo& addend = plan_.registers()[operation_.in[1]];
  const auto value = static_cast<std::int32_t>(addend.bits);
  const bool fits =
      operation_.width == 4 || static_cast<std::int64_t>(addend.bits) == std::int64_t{value};
  if (addend.kind != RegisterKind::constant || !fits) return std::nullopt;
  return value;
}

/// Context::atomic_changes: the lanes that run and do not add 0.
void LaneAccessEmitter::count_changes() {
  const bool wide = operation_.width == 8;
  const Place changes = at(rdx, offsetof(Context, atomic_changes));
  a_.mov(rdx, at(kState, offsetof(CompiledState, context)), 8);
  const std::optional<std::int32_t> known = known_addend();
  if (known == 0) return;
  if (known && !masked_) return a_.add_to(changes, 32);
  if (known) {
    a_.count_ones(rax, at(kState, offsetof(CompiledState, mask)), 4);
    return a_.add_to(changes, rax, 8);
  }
  const int lanes = a_.strip_bytes() / operation_.width;
  if (!a_.has_512()) a_.vector(vpxor, kFirst, kFirst, ymm(kFirst));
  a_.mov_constant(rsi, 0);
  for (int lane = 0; lane < 32; lane += lanes) {
    a_.strip(vmovups, kLanes, 0, at(kFrame, lane_of(operation_.in[1], lane)));
    if (a_.has_512()) {
      const VectorCode test = wide ? vptestmq : vptestmd;
      if (masked_) load_running(a_, lane);
      a_.strip(masked_ ? masked(test, kRunning) : test, kMask, kLanes, ymm(kLanes));
      a_.vector(kmovw_to, rax, 0, ymm(kMask));
    } else {
      a_.vector(wide ? vpcmpeqq : vpcmpeqd, kLanes, kLanes, ymm(kFirst));
      a_.vector(wide ? vmovmskpd : vmovmskps, rax, 0, ymm(kLanes));
    }
    a_.count_ones(rax, rax, 4);
    a_.add(rsi, rax, 8);
  }
  if (!a_.has_512()) {  // those that add 0 have been counted
    a_.add_to(changes, 32);
    a_.negate(rsi, 8);
  }
  a_.add_to(changes, rsi, 8);
}

void LaneAccessEmitter::store_lanes() {
  const unsigned slot = operation_.width == 8 ? 8 : 4;
  in_groups(
      true,
      [&](Gpr address, Gpr value) {
        load_address(address);
        a_.mov(value, in_frame(operation_.in[1]), slot);
      },
      [&](Gpr address, Gpr value) {
        a_.store(at(kMemory, 0, address, 1), value, operation_.width);
      });
}

/// In ascending order, as lanes may name the same word.
void LaneAccessEmitter::add_lanes() {
  in_groups(
      !known_addend(), [&](Gpr address, Gpr addend) { load_sum(address, addend); },
      [&](Gpr address, Gpr addend) { add_lane(address, addend, false); });
}

void LaneAccessEmitter::load_sum(Gpr address, Gpr addend) {
  load_address(address);
  if (!known_addend()) a_.mov(addend, in_frame(operation_.in[1]), operation_.width);
}

/// `locks`: as one step for all host threads.
void LaneAccessEmitter::add_lane(Gpr address, Gpr addend, bool locks) {
  const unsigned width = operation_.width;
  const bool has_result = !operation_.out.empty();
  const Place place = at(kMemory, 0, address, 1);
  if (has_result) a_.mov(rdx, place, width);
  if (locks) a_.lock();
  if (const std::optional<std::int32_t> known = known_addend()) {
    a_.add_to(place, *known, width);
  } else {
    a_.add_to(place, addend, width);
  }
  if (has_result) a_.store(in_frame(operation_.out[0]), rdx, width);
}

/// The same one lane after the other, of those that run.
void LaneAccessEmitter::add_in_loop(bool locks) {
  each_lane(true, [&] {
    load_sum(rax, rsi);
    add_lane(rax, rsi, locks);
  });
}

/// rax: the address of lane 0 less kMemory, if lanes are neighbours. In the frame lanes that do not
/// run may have another one.
void LaneAccessEmitter::load_first_address() {
  if (!masked_) {
    lane_ = 0;
    return load_address(rax);
  }
  lane_ = std::nullopt;
  a_.lowest_one(kLane, at(kState, offsetof(CompiledState, mask)), 4);
  load_address(rax);
  a_.shift_left(kLane, static_cast<std::uint8_t>(std::countr_zero(unsigned{operation_.width})), 8);
  a_.subtract(rax, kLane, 8);
}

/// No two lanes name the same word.
void LaneAccessEmitter::add_neighbours() {
  const auto running = [&](VectorCode code) { return masked_ ? masked(code, kRunning) : code; };
  load_first_address();
  a_.add(rax, kMemory, 8);
  for (int lane = 0; lane < 32; lane += strip_lanes(a_)) {
    const Place words = at(rax, std::int64_t{lane} * operation_.width);
    if (masked_) load_running(a_, lane);
    if (const std::optional<std::int32_t> known = known_addend()) {
      a_.strip(vpbroadcastd, kLanes, 0, a_.constant_32(static_cast<std::uint32_t>(*known)));
    } else {
      a_.strip(vmovups, kLanes, 0, at(kFrame, lane_of(operation_.in[1], lane)));
    }
    a_.strip(running(vpaddd), kLanes, kLanes, words);
    a_.strip(running(vmovups_store), kLanes, 0, words);
  }
}

void LaneAccessEmitter::emit() {
  if (a_.has_512()) {
    check_512();
  } else if (plan_.registers()[operation_.in[0]].width == 4) {
    check_words();
  } else {
    check_longs();
  }
  if (operation_.act == Act::atomic_add) {
    count_changes();
    if (!is_shared()) {
      if (static_cast<Scope>(operation_.code->scope) == Scope::system) {
        a_.jump(shared_by_threads_);
      } else {
        a_.compare_constant(at(kState, offsetof(CompiledState, alone)), 0, 4);
        a_.jump(Condition::equal, shared_by_threads_);
      }
    }
    if (neighbours_ && operation_.width == 4 && operation_.out.empty()) {
      add_neighbours();
    } else {
      masked_ ? add_in_loop(false) : add_lanes();
    }
  } else if (operation_.act == Act::store && operation_.in.size() == 2 && !masked_) {
    store_lanes();
  } else {
    each_lane(masked_, [&] { move_lane(); });
  }
  a_.bind(behind_);
}

void LaneAccessEmitter::emit_slow() {
  if (operation_.act == Act::atomic_add && !is_shared()) {
    a_.bind(shared_by_threads_);
    add_in_loop(true);
    a_.jump(behind_);
  }
  a_.bind(slow_);
  a_.mov_constant(rsi, reinterpret_cast<std::uint64_t>(operation_.code));
  a_.mov_constant(rdx, bounds_);
  emit_call(a_, masked_ ? &run_masked_lanes : &run_lanes);
  a_.jump(behind_);
}

}  // namespace tilescope::emulator::compiled
