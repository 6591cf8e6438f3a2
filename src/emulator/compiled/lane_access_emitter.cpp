#include "emulator/compiled/lane_access_emitter.hpp"

#include <cstddef>

#include "emulator/compiled/runtime_calls.hpp"

namespace tilescope::emulator::compiled {
namespace {

constexpr Gpr kMemory = rcx;  ///< what is added to an address for the host's
constexpr int kWrong = 0, kFirst = 1, kLast = 2, kLanes = 3, kMore = 4;  // vectors

}  // namespace

bool LaneAccessEmitter::takes(const FunctionPlan& plan, const Operation& operation) {
  if (operation.act != Act::load && operation.act != Act::store) return false;
  const Space space = operation.space(0);
  return (space == Space::shared ||
          (space == Space::global && plan.registers()[operation.in[0]].width == 8)) &&
         operation.code->offset % operation.code->bytes == 0;
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

/// kFirst: the lowest address of the memory less the instruction's offset; kLast: the highest
/// address of a lane less the lowest; kMemory.
void LaneAccessEmitter::load_extent() {
  const auto offset = static_cast<std::uint64_t>(operation_.code->offset);
  const auto broadcast = [&](int to) {
    a_.vector(vmovq, to, 0, rax);
    a_.vector(vpbroadcastq, to, 0, ymm(to));
  };
  if (is_shared()) {
    a_.mov_constant(rax, ~offset + 1);
    broadcast(kFirst);
    a_.mov(rax, at(kState, offsetof(CompiledState, shared_bytes)), 8);
    a_.add_constant(rax, ~std::uint64_t{operation_.code->bytes} + 1, 8);
    broadcast(kLast);
    a_.mov(kMemory, at(kState, offsetof(CompiledState, shared)), 8);
  } else {
    const auto member = [&](std::size_t at_byte) {
      return at(kBounds, std::int64_t{bounds_} * std::int64_t{sizeof(AccessBounds)} +
                             static_cast<std::int64_t>(at_byte));
    };
    a_.mov(rax, member(offsetof(AccessBounds, begin)), 8);
    a_.add_constant(rax, ~offset + 1, 8);
    broadcast(kFirst);
    a_.mov(rax, member(offsetof(AccessBounds, limit)), 8);
    a_.add_constant(rax, ~std::uint64_t{0}, 8);
    broadcast(kLast);
    a_.mov(kMemory, member(offsetof(AccessBounds, to_host)), 8);
  }
  a_.add_constant(kMemory, offset, 8);
}

/// Each address less the lowest is neither negative nor above the last that fits.
void LaneAccessEmitter::check_longs() {
  load_extent();
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

void LaneAccessEmitter::move_lane(int lane) {
  const Operation& operation = operation_;
  const unsigned slot = operation.width == 8 ? 8 : 4;
  const unsigned address = plan_.registers()[operation.in[0]].width;
  a_.mov(rax, at(kFrame, lane_of(operation.in[0], lane)), address);
  if (address == 4) a_.add_constant(rax, static_cast<std::uint64_t>(operation.code->offset), 4);
  a_.add(rax, kMemory, 8);
  const auto element = [&](std::size_t i) {
    return at(rax, static_cast<std::int64_t>(i) * operation.width);
  };
  for (std::size_t i = 0; i < operation.out.size(); ++i) {
    if (operation.width < 4) {
      a_.load_narrow(rdx, element(i), operation.width, operation.is_signed);
    } else {
      a_.mov(rdx, element(i), slot);
    }
    a_.store(at(kFrame, lane_of(operation.out[i], lane)), rdx, slot);
  }
  for (std::size_t i = 1; i < operation.in.size(); ++i) {
    a_.mov(rdx, at(kFrame, lane_of(operation.in[i], lane)), slot);
    a_.store(element(i - 1), rdx, operation.width);
  }
}

void LaneAccessEmitter::emit() {
  if (plan_.registers()[operation_.in[0]].width == 4) {
    check_words();
  } else {
    check_longs();
  }
  for (int lane = 0; lane < 32; ++lane) move_lane(lane);
  a_.bind(behind_);
}

void LaneAccessEmitter::emit_slow() {
  a_.bind(slow_);
  a_.vzeroupper();
  a_.mov(rdi, kState, 8);
  a_.mov_constant(rsi, reinterpret_cast<std::uint64_t>(operation_.code));
  a_.mov_constant(rdx, bounds_);
  a_.mov_constant(rax, reinterpret_cast<std::uint64_t>(&run_lanes));
  a_.call(rax);
  a_.jump(behind_);
}

}  // namespace tilescope::emulator::compiled
