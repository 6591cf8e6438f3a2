#include "emulator/random_kernel.hpp"

#include "emulator/kernel_generator.hpp"

namespace tilescope::emulator::test {

std::string KernelGenerator::word_or_constant() {
  if (chance(60)) return word();
  return chance(70) ? std::to_string(below(40))
                    : std::to_string(static_cast<std::int32_t>(random_()));
}

void KernelGenerator::word_operation() {
  const std::string d = word(), a = word(), b = word_or_constant(), c = word();
  switch (below(14)) {
    case 0:
    case 1:
      return line("add.s32 {}, {}, {}", d, a, b);
    case 2:
      return line("sub.s32 {}, {}, {}", d, a, b);
    case 3:
      return line("mul.lo.s32 {}, {}, {}", d, a, b);
    case 4:
      return line("mad.lo.s32 {}, {}, {}, {}", d, a, b, c);
    case 5:
      return line("{}.b32 {}, {}, {}", pick({"and", "or", "xor"}), d, a, b);
    case 6:
      return line("{} {}, {}, {}", pick({"shl.b32", "shr.u32", "shr.s32"}), d, a, b);
    case 7:
      return line("{} {}, {}, {}", pick({"min.s32", "max.s32", "min.u32", "max.u32"}), d, a, b);
    case 8:
      return line("{} {}, {}", pick({"not.b32", "neg.s32", "mov.u32", "popc.b32", "abs.s32"}), d,
                  a);
    case 9:
      return line("mov.u32 {}, {}", d,
                  pick({"%tid.x", "%tid.y", "%ctaid.x", "%laneid", "7", "%ntid.x", "%clock"}));
    case 10:
      return line("selp.b32 {}, {}, {}, {}", d, a, b, predicate());
    case 11:
      return line("cvt.u32.u64 {}, {}", d, longer());
    case 12:
      if (chance(40)) {  // the same for all lanes
        return line("{} {}, {}, {}",
                    pick({"div.s32", "div.u32", "rem.s32", "rem.u32", "mul.hi.s32"}), d,
                    pick({"%ctaid.x", "%ntid.x", "-5"}), pick({"3", "0", "-1", "%ntid.y", "7"}));
      }
      return line("{} {}, {}, {}",
                  pick({"div.s32", "div.u32", "rem.u32", "mul.hi.s32", "mul.hi.u32"}), d, a, b);
    default:
      if (chance(70)) return short_conversions(d, a);
      return line("bfe.u32 {}, {}, 3, 9", d, a);
  }
}

/// By way of registers of 16 bits, or between parts of words.
void KernelGenerator::short_conversions(const std::string& d, const std::string& a) {
  if (chance(40)) return line("cvt.{} {}, {}", pick({"u32.u8", "s32.s16", "s32.u32"}), d, a);
  line("cvt.{} %h0, {}", pick({"u16.u32", "s16.s32", "u16.s32", "u8.u32"}), a);
  line("mov.{} %h1, %h0", pick({"u16", "s16", "b16"}));
  line("cvt.{} {}, %h1", pick({"u32.u16", "s32.s16", "s32.u16"}), d);
}

void KernelGenerator::long_operation() {
  const std::string d = longer(), a = longer(), b = longer();
  switch (below(11)) {
    case 0:
      return line("add.s64 {}, {}, {}", d, a, b);
    case 10:
      return line("{} {}, {}, {}", pick({"min.s64", "max.u64", "div.s64", "rem.u64"}), d, a, b);
    case 1:
      return line("sub.s64 {}, {}, {}", d, a, b);
    case 2:
      return line("mul.wide.{} {}, {}, {}", pick({"s32", "u32"}), d, word(),
                  chance(70) ? std::string("4") : word());
    case 3:
      return line("mad.wide.{} {}, {}, 8, {}", pick({"s32", "u32"}), d, word(), a);
    case 4:
      return line("cvt.{} {}, {}", pick({"u64.u32", "s64.s32"}), d, chance(70) ? word() : a);
    case 5:
      return line("{}.b64 {}, {}, {}", pick({"and", "or", "xor"}), d, a, b);
    case 6:
      return line("{} {}, {}, {}", pick({"shl.b64", "shr.u64", "shr.s64"}), d, a,
                  chance(60) ? std::string("3") : word());
    case 7:
      return line("{} {}, {}", pick({"not.b64", "neg.s64", "mov.u64"}), d, a);
    case 8:
      return line("mul.lo.s64 {}, {}, {}", d, a, b);
    default:
      return line("selp.b64 {}, {}, {}, {}", d, a, b, predicate());
  }
}

void KernelGenerator::real_operation() {
  if (chance(25)) {
    const std::string d = twice(), a = twice(), b = twice(), c = twice();
    if (chance(30)) return line("fma.rn.f64 {}, {}, {}, {}", d, a, b, c);
    if (chance(20)) return line("cvt.f64.f32 {}, {}", d, single());
    if (chance(20)) return line("{} {}, {}", pick({"neg.f64", "abs.f64", "sqrt.rn.f64"}), d, a);
    return line("{} {}, {}, {}", pick({"add.f64", "sub.f64", "mul.f64", "div.rn.f64"}), d, a, b);
  }
  const std::string d = single(), a = single(), b = single(), c = single();
  switch (below(8)) {
    case 0:
    case 1:
    case 2:
      return line("fma.rn.f32 {}, {}, {}, {}", d, a, b, c);
    case 3:
      return line("{} {}, {}, {}",
                  pick({"add.f32", "sub.f32", "mul.f32", "div.rn.f32", "min.f32", "add.ftz.f32",
                        "add.rz.f32"}),
                  d, a, b);
    case 4:
      return line("{} {}, {}", pick({"neg.f32", "abs.f32", "sqrt.rn.f32", "mov.f32"}), d, a);
    case 5:
      return line("cvt.rn.f32.s32 {}, {}", d, word());
    case 6:
      return line("mov.b32 {}, {}", word(), a);
    default:
      return line("selp.f32 {}, {}, {}, {}", d, a, b, predicate());
  }
}

void KernelGenerator::predicate_operation() {
  const std::string d = predicate(), a = predicate(), b = predicate();
  switch (below(5)) {
    case 0:
    case 1:
      return line(
          "setp.{} {}, {}, {}",
          pick({"eq.s32", "ne.u32", "lt.s32", "lt.u32", "le.s32", "gt.u32", "ge.s32", "ls.u32"}), d,
          word(), word_or_constant());
    case 2:
      return line("setp.{} {}, {}, {}",
                  pick({"lt.f32", "geu.f32", "eq.f32", "neu.f32", "nan.f32", "gtu.f32"}), d,
                  single(), single());
    case 3:
      return line("setp.{} {}, {}, {}", pick({"lt.s64", "ge.u64", "eq.u64", "gt.s64"}), d, longer(),
                  longer());
    default:
      return line("{}.pred {}, {}, {}", pick({"and", "or", "xor"}), d, a, b);
  }
}

/// All lanes of the warp exchange values.
void KernelGenerator::warp_operation() {
  const std::string d = word(), a = word();
  switch (below(9)) {
    case 0:
      return line("shfl.sync.bfly.b32 {}, {}, {}, 31, 0xffffffff", d, a, 1 << below(5));
    case 1:
      return line("shfl.sync.down.b32 {}, {}, {}, 31, 0xffffffff", d, a, below(20));
    case 7:  // operands in registers, as nvcc has them
      line("mov.u32 %i, -1");
      return line("shfl.sync.{}.b32 {}|{}, {}, {}, 0x1f, %i", pick({"down", "bfly", "idx"}), d,
                  predicate(), a, below(33));
    case 8:
      line("mov.u32 %i, {}", below(33));
      return line("shfl.sync.{}.b32 {}, {}, %i, {}, 0xffffffff", pick({"up", "bfly"}), d, a,
                  pick({"0", "0x1f", "0x1807"}));
    case 2:
      return line("shfl.sync.up.b32 {}, {}, {}, {}, 0xffffffff", d, a, below(20),
                  pick({"0", "0x1800", "5"}));
    case 3:
      return line("shfl.sync.idx.b32 {}|{}, {}, {}, {}, 0xffffffff", d, predicate(), a, below(40),
                  pick({"31", "0x181f", "7"}));
    case 4:
      return line("shfl.sync.idx.b32 {}, {}, {}, 31, 0xffffffff", d, a, word());
    case 5:
      return line("vote.sync.ballot.b32 {}, {}, 0xffffffff", d, predicate());
    default:
      return line("shfl.sync.down.b32 {}, {}, {}, 31, 0xffffffff", single(), single(), below(33));
  }
}

void KernelGenerator::shared_sum() {
  line("and.b32 %i, {}, {}", chance(70) ? word() : "%tid.x", chance(97) ? 63 : 4095);
  line("shl.b32 %i, %i, 2");
  line("add.u32 %i, %i, %base");
  const bool is_long = chance(30);
  if (is_long) line("cvt.u64.u32 %at, %i");
  const std::string place = fmt::format("[{}+{}]", is_long ? "%at" : "%i", 4 * below(3));
  const std::string value = chance(30) ? std::to_string(below(3)) : word();
  if (chance(50)) return line("red.shared.add.u32 {}, {}", place, value);
  return line("atom.shared.add.s32 {}, {}, {}", word(), place, value);
}

void KernelGenerator::rare(bool together) {
  switch (below(9)) {
    case 0:
      if (chance(50)) {
        return line("atom.global.add.u32 {}, [%data+{}], {}", word(), 4 * below(16), word());
      }
      line("and.b32 %i, {}, {}", word(), chance(97) ? 63 : 4095);
      line("mul.wide.u32 %at, %i, 8");
      line("add.s64 %at, %at, %data");
      if (chance(40)) return line("red.global.add.u64 [%at], {}", longer());
      if (chance(50)) {
        return line("red.{}.add.u32 [%at+4], {}", pick({"global", "relaxed.sys.global"}),
                    chance(30) ? std::to_string(below(3)) : word());
      }
      return line("atom.global.add.s32 {}, [%at+4], {}", word(), word());
    case 7:
    case 8:
      return shared_sum();
    case 1:
      return line("red.shared.max.u32 [%base+{}], {}", 4 * below(16), word());
    case 2:
      if (together) line("bar.sync {}", chance(80) ? 0 : 1);
      return;
    case 3:
    case 4:
      if (together) warp_operation();
      return;
    case 5:
      return copy();
    default:
      return line("ex2.approx.f32 {}, {}", single(), single());
  }
}

std::string KernelGenerator::guard_of_branch() {
  if (chance(60)) return predicate();
  // Nothing but branches reads it, sometimes two.
  if (chance(25)) return "%b";
  if (chance(25)) {  // nothing but the sign of bits of several words together
    line("sub.u32 %s0, {}, {}", chance(70) ? "%tid.x" : word(), below(40));
    line("sub.u32 %s1, {}, {}", word(), below(40));
    line("or.b32 %sign, %s0, %s1");
    if (chance(30)) line("or.b32 %sign, %sign, {}", word());
    line("setp.{} %b, %sign, {}", pick({"lt.s32", "ge.s32"}), chance(80) ? 0 : below(60));
    return "%b";
  }
  line("setp.{} %b, {}, {}", pick({"lt.s32", "ge.u32", "gt.s32", "le.u32"}),
       chance(50) ? "%tid.x" : word(), word_or_constant());
  return "%b";
}

/// A statement that neither waits nor parts lanes.
void KernelGenerator::simple_statement() {
  const unsigned kind = below(100);
  if (kind < 8) guard_ = fmt::format("@{}{} ", chance(50) ? "!" : "", predicate());
  if (kind < 25) {
    word_operation();
  } else if (kind < 35) {
    long_operation();
  } else if (kind < 50) {
    real_operation();
  } else if (kind < 58) {
    predicate_operation();
  } else if (kind < 76) {
    access();
  } else if (kind < 84) {
    edge();
  } else if (kind < 91) {
    one_place();
  } else if (kind < 94) {
    vector_access();
  } else {
    rare(false);
  }
  guard_.clear();
}

/// Only some lanes run a few statements; or those of the other side go another way to the same
/// place.
void KernelGenerator::simple_branch(int depth) {
  const int label = labels_++;
  const std::string guard = guard_of_branch();
  const bool turned = chance(25);
  if (chance(20)) line("mov.b32 {}, 0x{:08x}", single(), 0x7fc00001u + below(99));
  if (turned) {
    text_ += fmt::format("  @{}{} bra S{};\n  bra.uni E{};\nS{}:\n", chance(50) ? "!" : "", guard,
                         label, label, label);
  } else {
    text_ += fmt::format("  @{}{} bra E{};\n", chance(50) ? "!" : "", guard, label);
  }
  if (chance(15)) {  // many results, where other lanes may have a NaN that no operation gives
    for (int i = 0; i < 2 * kSingles; ++i) real_operation();
  }
  for (unsigned i = 1 + below(6); i-- > 0;) {
    depth < 3 && chance(8) ? simple_branch(depth + 1) : simple_statement();
  }
  if (chance(10)) text_ += fmt::format("  bra.uni T{};\nT{}:\n", label, label);
  for (unsigned i = below(3); i-- > 0;) simple_statement();
  text_ += fmt::format("E{}:\n", label);
}

void KernelGenerator::branch(int depth) {
  const int label = labels_++;
  const bool both = chance(50);
  const std::string guard = guard_of_branch();
  text_ += fmt::format("  @{}{} bra E{};\n", chance(50) ? "!" : "", guard, label);
  statements(depth + 1, 1 + static_cast<int>(below(5)), false);
  if (both) text_ += fmt::format("  bra.uni J{};\n", label);
  text_ += fmt::format("E{}:\n", label);
  if (both) {
    statements(depth + 1, 1 + static_cast<int>(below(5)), false);
    text_ += fmt::format("J{}:\n", label);
  }
}

/// As often for all lanes, or for each as its lane number says.
void KernelGenerator::loop(int depth, bool together) {
  const int label = labels_++;
  const bool uniform = together && chance(70);
  const std::string count = fmt::format("%n{}", depth);
  if (uniform || chance(30)) {
    line("mov.u32 {}, {}", count, 1 + below(12));
  } else if (chance(50)) {  // as in loops over the elements of a tile by the threads of a block
    line("mad.lo.s32 {}, %tid.y, %ntid.x, %tid.x", count);
    line("sub.s32 {}, {}, {}", count, below(200), count);
    line("shr.s32 {}, {}, {}", count, count, 3 + below(4));
    line("max.s32 {}, {}, 1", count, count);
    line("min.s32 {}, {}, 12", count, count);
  } else {
    line("mov.u32 {}, %laneid", count);
    line("and.b32 {}, {}, {}", count, count, 7);
    line("add.u32 {}, {}, 1", count, count);
  }
  text_ += fmt::format("L{}:\n", label);
  if (chance(40)) {
    for (unsigned i = 1 + below(6); i-- > 0;) chance(15) ? simple_branch() : simple_statement();
  } else {
    statements(depth + 1, 2 + static_cast<int>(below(10)), uniform);
  }
  if (chance(20)) shared_sum();  // the loop may wait for others
  line("sub.u32 {}, {}, 1", count, count);
  line("setp.ne.u32 %q, {}, 0", count);
  text_ += fmt::format("  @%q bra L{};\n", label);
}

/// One behind the other, with little between.
void KernelGenerator::barriers() {
  for (unsigned i = 3 + below(5); i-- > 0;) {
    for (unsigned k = 1 + below(3); k-- > 0;) chance(20) ? simple_branch() : simple_statement();
    if (chance(15)) branch(3);
    line("bar.sync {}", chance(80) ? 0 : 1);
  }
}

void KernelGenerator::statement(int depth, bool together) {
  const unsigned kind = below(100);
  if (together && kind < 3) return barriers();
  if (kind < 6) return simple_branch();
  if (depth < 3 && kind < 9) return branch(depth);
  if (depth < 3 && kind < 14) return loop(depth, together);
  guard_ = chance(5) ? fmt::format("@{}{} ", chance(50) ? "!" : "", predicate()) : "";
  if (kind < 38) {
    word_operation();
  } else if (kind < 50) {
    long_operation();
  } else if (kind < 68) {
    real_operation();
  } else if (kind < 76) {
    predicate_operation();
  } else if (kind < 92) {
    access();
  } else if (kind < 95) {
    chance(50) ? vector_access() : row();
  } else {
    const bool guarded = !guard_.empty();
    rare(together && !guarded);
  }
  guard_.clear();
}

void KernelGenerator::statements(int depth, int count, bool together) {
  for (int i = 0; i < count; ++i) statement(depth, together);
}

void KernelGenerator::start() {
  line("ld.param.u64 %data, [data]");
  line("ld.param.u64 %results, [results]");
  line("mov.u32 %base, tile");
  for (int i = 0; i < kWords; ++i) {
    line("mov.u32 %r{}, {}", i, i < 3 ? "%tid.x" : std::to_string(below(1000)));
  }
  line("mad.lo.u32 %r1, %ctaid.x, %ntid.x, %tid.x");
  for (int i = 0; i < kLongs; ++i) line("mul.wide.u32 %rd{}, %r{}, {}", i, i, 1 + below(99));
  for (int i = 0; i < kSingles; ++i) {
    line("mov.f32 %f{}, 0f{:08X}", i, i == 5 ? 0x7fc00001u : 0x3f800000u + below(1u << 24));
  }
  line("cvt.rn.f32.u32 %f1, %r1");
  for (int i = 0; i < kDoubles; ++i) line("cvt.f64.f32 %fd{}, %f{}", i, i);
  for (int i = 0; i < kPredicates; ++i) line("setp.lt.u32 %p{}, %r0, {}", i, below(40));
  line("setp.lt.s32 %b, %tid.x, {}", below(60));
}

/// Every register of each thread.
void KernelGenerator::finish() {
  const bool some_leave = chance(40);
  if (some_leave) {  // before they have stored
    const std::string guard = guard_of_branch();
    text_ += fmt::format("  @{}{} bra DONE;\n", chance(50) ? "!" : "", guard);
    for (unsigned i = below(3); i-- > 0;) simple_statement();
  }
  line("mul.lo.u32 %n0, %ntid.y, %ntid.x");
  line("mad.lo.u32 %i, %tid.y, %ntid.x, %tid.x");
  line("mad.lo.u32 %i, %ctaid.x, %n0, %i");
  line("mul.wide.u32 %at, %i, {}", kRandomResultBytes);
  line("add.s64 %at, %at, %results");
  stores_of_results();
  if (some_leave) text_ += "DONE:\n";
  line("ret");
}

void KernelGenerator::stores_of_results() {
  unsigned offset = 0;
  for (int i = 0; i < kLongs; ++i, offset += 8) line("st.global.u64 [%at+{}], %rd{}", offset, i);
  for (int i = 0; i < kDoubles; ++i, offset += 8) line("st.global.f64 [%at+{}], %fd{}", offset, i);
  for (int i = 0; i < kWords; ++i, offset += 4) line("st.global.u32 [%at+{}], %r{}", offset, i);
  for (int i = 0; i < kSingles; ++i, offset += 4) line("st.global.f32 [%at+{}], %f{}", offset, i);
  for (int i = 0; i < kPredicates; ++i, offset += 4) {
    line("selp.u32 %i, 1, 0, %p{}", i);
    line("st.global.u32 [%at+{}], %i", offset);
  }
}

std::string KernelGenerator::kernel() {
  start();
  statements(0, 20 + static_cast<int>(below(25)), true);
  finish();
  return fmt::format(
      ".shared .align 16 .b8 tile[{}];\n"
      ".visible .entry k(.param .u64 data, .param .u64 results) {{\n"
      "  .reg .b32 %r<{}>, %i, %base, %n<4>, %s<2>, %sign;\n  .reg .b64 %rd<{}>, %at, %data, "
      "%results;\n"
      "  .reg .f32 %f<{}>;\n  .reg .f64 %fd<{}>;\n  .reg .b16 %h<2>;\n"
      "  .reg .pred %p<{}>, %q, %b;\n{}}}\n",
      kTileBytes, kWords, kLongs, kSingles, kDoubles, kPredicates, text_);
}

std::string random_kernel(std::uint64_t seed) {
  return KernelGenerator(seed).kernel();
}

}  // namespace tilescope::emulator::test
