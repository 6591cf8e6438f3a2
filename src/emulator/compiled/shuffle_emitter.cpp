#include "emulator/compiled/shuffle_emitter.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "emulator/instructions/shuffle_source.hpp"

namespace tilescope::emulator::compiled {

ShuffleEmitter::ShuffleEmitter(Assembler& assembler, const Code& code, std::uint32_t by,
                               std::uint32_t control)
    : a_(assembler), code_(code) {
  for (int lane = 0; lane < 32; ++lane) {
    const ShuffleSource source =
        shuffle_source(static_cast<ptx::ShuffleMode>(code.aux), lane, by, control);
    sources_[static_cast<std::size_t>(lane)] = source.lane;
    if (source.inside) inside_ |= LaneMask{1} << lane;
  }
}

/// The result may take the place of the operand: all loads come before the first store.
void ShuffleEmitter::emit() {
  const int bytes = a_.strip_bytes(), strips = kWarpSize * 4 / bytes;
  if (a_.has_512()) {
    permute();
  } else {
    for (int strip = 0; strip < strips; ++strip) load(strip, sources_.data() + strip * 8);
  }
  for (int strip = 0; strip < strips; ++strip) {
    a_.strip(vmovups_store, strip, 0, at(kFrame, std::int64_t{code_.dst} + strip * bytes));
  }
  if (code_.dst2 == kSinkOffset) return;
  a_.mov_constant(rax, inside_);
  a_.store(at(kFrame, code_.dst2), rax, 4);
}

/// With AVX-512: vectors 0 and 1 of any lanes.
void ShuffleEmitter::permute() {
  constexpr int kLower = 2;
  a_.strip(vmovups, kLower, 0, lane(0));
  for (int half = 0; half < 2; ++half) {
    std::string order(64, '\0');
    for (std::size_t i = 0; i < 16; ++i) {
      order[i * 4] = static_cast<char>(sources_[static_cast<std::size_t>(half) * 16 + i]);
    }
    a_.strip(vmovups, half, 0, a_.constant(order));
    a_.strip(vpermi2d, half, kLower, lane(16));
  }
}

/// Eight lanes.
void ShuffleEmitter::load(int to, const int* from) {
  const auto follow = [&](int step) {
    for (int i = 1; i < 8; ++i) {
      if (from[i] != from[0] + i * step) return false;
    }
    return true;
  };
  const bool together =
      std::all_of(from, from + 8, [&](int lane) { return lane / 8 == from[0] / 8; });
  if (follow(1)) {
    a_.vector(vmovups, to, 0, lane(from[0]));
  } else if (follow(0)) {
    a_.vector(vbroadcastss, to, 0, lane(from[0]));
  } else if (together) {
    std::string order(32, '\0');
    for (int i = 0; i < 8; ++i)
      order[static_cast<std::size_t>(i) * 4] = static_cast<char>(from[i] % 8);
    a_.vector(vmovups, to, 0, a_.constant(order));
    a_.vector(vpermd, to, to, lane(from[0] / 8 * 8));
  } else {
    constexpr int kUpper = 4;
    load_half(to, from);
    load_half(kUpper, from + 4);
    a_.vector(vinserti128, to, to, Source::ymm(kUpper), 1);
  }
}

void ShuffleEmitter::load_half(int to, const int* from) {
  a_.vector(vmovd, to, 0, lane(from[0]));
  for (int i = 1; i < 4; ++i) {
    a_.vector(vpinsrd, to, to, lane(from[i]), static_cast<std::uint8_t>(i));
  }
}

}  // namespace tilescope::emulator::compiled
