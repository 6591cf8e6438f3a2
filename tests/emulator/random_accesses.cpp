// The accesses to memory of random kernels.
#include "emulator/kernel_generator.hpp"
#include "emulator/random_kernel.hpp"

namespace tilescope::emulator::test {

/// Mostly inside the data; a few go beyond.
void KernelGenerator::access() {
  const bool shared = chance(50);
  const std::string index =
      chance(60) ? std::string(pick({"%tid.x", "%laneid", "%ctaid.x"})) : word();
  if (chance(15)) {  // a signed division by eight
    line("shr.s32 %i, {}, 31", index);
    line("shr.u32 %i, %i, 29");
    line("add.s32 %i, %i, {}", index);
    line("shr.s32 %i, %i, 3");
  } else if (chance(15)) {  // rows of a tile
    const unsigned columns = 5 + below(30);
    line("div.u32 %n3, {}, {}", index, columns);
    line("rem.u32 %i, {}, {}", index, columns);
    line("mad.lo.u32 %i, %n3, {}, %i", columns + below(20));
  } else {
    line("mov.u32 %i, {}", index);
  }
  if (chance(97)) line("and.b32 %i, %i, {}", chance(50) ? 63 : 255);
  if (chance(30))
    line("mad.lo.u32 %i, {}, 16, %i", chance(50) ? std::string("%ctaid.x") : std::string("3"));
  const unsigned offset = below(8) * 8;
  const std::string_view type = pick({"u32", "f32", "u32", "f32", "u64", "f64", "u8", "s16"});
  const bool wide = type == "u64" || type == "f64";
  const std::string data = type == "f32"   ? single()
                           : type == "f64" ? twice()
                           : wide          ? longer()
                                           : word();
  std::string address;
  if (shared) {
    line("shl.b32 %i, %i, {}", wide ? 3 : 2);
    line("add.u32 %i, %i, %base");
    if (chance(1)) line("add.u32 %i, %i, 2");  // not aligned, for most types
    const bool is_long = chance(30);
    if (is_long) line("cvt.u64.u32 %at, %i");
    address = fmt::format("[{}+{}]", is_long ? "%at" : "%i", offset);
  } else {
    line("mul.wide.u32 %at, %i, {}", wide ? 8 : 4);
    line("add.s64 %at, %at, %data");
    address = fmt::format("[%at+{}]", offset);
  }
  const std::string_view space = shared ? "shared" : "global";
  if (chance(60)) {
    line("ld.{}.{} {}, {}", space, type, data, address);
  } else {
    line("st.{}.{} {}, {}", space, type == "s16" ? "u16" : type, address, data);
  }
}

/// Neighbours, of which some may lie beyond the memory's end or begin. Those that do are mostly
/// lanes that do not run.
void KernelGenerator::edge() {
  const bool shared = chance(50);
  const std::uint32_t words = (shared ? kTileBytes : kRandomDataBytes) / 4;
  const int first =
      chance(70) ? static_cast<int>(words - 1 - below(60)) : static_cast<int>(below(60)) - 59;
  line("add.s32 %i, %tid.x, {}", first);
  std::string address;
  if (shared) {
    line("shl.b32 %i, %i, 2");
    line("add.u32 %i, %i, %base");
    address = "%i";
  } else {
    line("mul.wide.s32 %at, %i, 4");
    line("add.s64 %at, %at, %data");
    address = "%at";
  }
  const std::string_view space = shared ? "shared" : "global";
  if (chance(50)) return line("ld.{}.f32 {}, [{}]", space, single(), address);
  line("st.{}.u32 [{}], {}", space, address, word());
}

/// All lanes that run access one place: of those that store, the highest wins.
void KernelGenerator::one_place() {
  const bool shared = chance(60);
  const unsigned offset = 8 * below(40);
  const std::string place = fmt::format("[{}+{}]", shared ? "%base" : "%data", offset);
  const std::string_view space = shared ? "shared" : "global";
  if (chance(40)) return line("ld.{}.u32 {}, {}", space, word(), place);
  switch (below(4)) {
    case 0:
      return line("st.{}.u32 {}, {}", space, place, word());
    case 1:
      return line("st.{}.f64 {}, {}", space, place, twice());
    case 2:
      return line("st.{}.u16 {}, {}", space, place, word());
    default:
      return line("st.{}.u32 {}, {}", space, place, below(100));
  }
}

void KernelGenerator::vector_access() {
  line("and.b32 %i, {}, 31", pick({"%tid.x", "%r1", "%r2"}));
  line("shl.b32 %i, %i, 4");
  line("add.u32 %i, %i, %base");
  if (chance(60)) {
    line("ld.shared.v4.f32 {{%f0, %f1, %f2, %f3}}, [%i]");
  } else {
    line("st.shared.v2.u32 [%i+8], {{{}, {}}}", word(), word());
  }
}

/// Each lane reads neighbouring words of its own row, one by one and in any order, with other work
/// in between that may read and write the same registers.
void KernelGenerator::row() {
  const bool shared = chance(60);
  line("and.b32 %i, {}, {}", pick({"%tid.x", "%laneid", "%r1"}), chance(70) ? 31 : 7);
  const unsigned stride = 4u << below(5);
  if (shared) {
    line("mad.lo.u32 %i, %i, {}, %base", chance(70) ? stride : 68);
  } else {
    line("mul.wide.u32 %at, %i, {}", stride);
    line("add.s64 %at, %at, %data");
  }
  for (unsigned i = 4 + below(8); i-- > 0;) {
    if (chance(50)) chance(70) ? real_operation() : word_operation();
    const bool real = chance(70);
    line("ld.{}.{} {}, [{}+{}]", shared ? "shared" : "global", real ? "f32" : "u32",
         real ? single() : word(), shared ? "%i" : "%at", 4 * below(8));
  }
}

/// cp.async: at tid or at a place that the data say.
void KernelGenerator::copy() {
  const unsigned bytes = 4u << below(3);
  line("and.b32 %i, {}, 63", pick({"%tid.x", "%laneid", "%r1", "%r2"}));
  line("mul.wide.u32 %at, %i, {}", chance(80) ? bytes : 16);
  line("add.s64 %at, %at, %data");
  line("mad.lo.u32 %i, %i, {}, %base", chance(80) ? bytes : 16);
  const unsigned offset = bytes * below(4);
  if (bytes == 16 && chance(70)) {
    line("cp.async.cg.shared.global [%i+{}], [%at+{}], 16", offset, 16 * below(9));
  } else {
    line("cp.async.ca.shared.global [%i+{}], [%at+{}], {}", offset, bytes * below(9), bytes);
  }
  if (chance(30)) line("cp.async.commit_group");
  if (chance(30)) line("cp.async.wait_group {}", below(2));
}

}  // namespace tilescope::emulator::test
