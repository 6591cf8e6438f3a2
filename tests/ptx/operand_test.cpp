#include <fmt/format.h>

#include "parse_text.hpp"
#include "ptx/print.hpp"

namespace tilescope::ptx {
namespace {

using Kind = Operand::Kind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// The instructions of a kernel, as printed.
std::vector<std::string> printed(std::string_view body) {
  const Module module = parse_kernel(body);
  std::vector<std::string> lines;
  for (const Instruction& each : module.functions[0].instructions) {
    lines.push_back(print(module, module.functions[0], each));
  }
  return lines;
}

std::string one(std::string_view body) {
  return printed(body).at(0);
}

TEST(Operand, Registers) {
  const Module module = parse_kernel("add.s32 %r7, %r3, %r7;");
  const Function& function = module.functions[0];
  const auto& operands = function.instructions[0].operands;
  ASSERT_EQ(function.registers.size(), 2u) << "only those that are named";
  EXPECT_EQ(function.registers[0], (Register{"%r7", Type::b32}));
  EXPECT_EQ(operands[0].reg, 0u);
  EXPECT_EQ(operands[1].reg, 1u);
  EXPECT_EQ(operands[0], operands[2]);
}

TEST(Operand, Addresses) {
  EXPECT_EQ(one("ld.global.u32 %r1, [%rd1];"), "ld.global.u32 %r1, [%rd1]");
  EXPECT_EQ(one("ld.global.u32 %r1, [%rd1+-8];"), "ld.global.u32 %r1, [%rd1+-8]");
  EXPECT_EQ(one("ld.global.u32 %r1, [%rd1-8+4];"), "ld.global.u32 %r1, [%rd1+-4]");
  EXPECT_EQ(one("ld.param.u64 %rd1, [k_param_0+0];"), "ld.param.u64 %rd1, [k_param_0]");
  EXPECT_EQ(one("ld.global.u32 %r1, [0x10];"), "ld.global.u32 %r1, [16]");
  EXPECT_EQ(one(".shared .u16 x[8]; ld.shared.u16 %rs1, [x+4];"), "ld.shared.u16 %rs1, [x+4]");
  EXPECT_EQ(one("tex.2d.v4.f32.s32 {%r1, %r2, %r3, %r4}, [%rd1, {%r5, %r6}];"),
            "tex.2d.v4.f32.s32 {%r1, %r2, %r3, %r4}, [%rd1, {%r5, %r6}]");
}

TEST(Operand, OneElementInBracesIsTheElement) {
  EXPECT_EQ(one("ld.global.b32 { %r1 }, [ %rd1 + 0 ];"), "ld.global.b32 %r1, [%rd1]");
  EXPECT_EQ(one("st.global.b16 [%rd1], {%rs1};"), "st.global.b16 [%rd1], %rs1");
  EXPECT_EQ(one("tex.1d.v4.f32.s32 {%r1, %r2, %r3, %r4}, [%rd1, {%r5}];"),
            "tex.1d.v4.f32.s32 {%r1, %r2, %r3, %r4}, [%rd1, {%r5}]");
  EXPECT_THAT(error_of(kernel("ld.global.b32 {}, [%rd1];")), HasSubstr("found '}'"));
}

TEST(Operand, ARegisterPlusAConstantIsAnAddition) {
  EXPECT_THAT(printed("@%p1 st.global.u32 [%rd1], %r1 + 4;"),
              ElementsAre("@%p1 add.u32 %r1$1, %r1, 4", "@%p1 st.global.u32 [%rd1], %r1$1"));
  EXPECT_EQ(error_of(kernel("mov.f32 %f1, %f2+1;")),
            "t.ptx:10: a constant can only be added to an integer register");
  EXPECT_THAT(error_of(kernel("mov.b32 %r1, -%r2+1;")), HasSubstr("integer register"));
}

TEST(Operand, PartsOfRegisters) {
  EXPECT_EQ(one("vadd.s32.u32.u32 %r1.b2, %r2.h1, %r3, %r4;"),
            "vadd.s32.u32.u32 %r1.b2, %r2.h1, %r3, %r4");
  EXPECT_EQ(one("vadd4.s32.s32.s32 %r1.b20, %r2.b7531, %r3, %r4;"),
            "vadd4.s32.s32.s32 %r1.b20, %r2.b7531, %r3, %r4");
  EXPECT_EQ(one("vadd2.s32.s32.s32 %r1.h10, %r2.h32, %r3.h10, %r4;"),
            "vadd2.s32.s32.s32 %r1.h10, %r2.h32, %r3.h10, %r4");
  for (const char* part : {"b8", "h41", "b12345", "h210", "c1"}) {
    EXPECT_THAT(error_of(kernel(fmt::format("vadd4.s32.s32.s32 %r1, %r2.{}, %r3, %r4;", part))),
                HasSubstr(fmt::format("the register '%r2' has no part '.{}'", part)));
  }
}

TEST(Operand, MovOfVectors) {
  EXPECT_EQ(one(".reg .v4 .u16 x; mov.v4.u16 x, {%rs1, %rs2, %rs3, %rs4};"),
            "mov.v4.u16 {x_x, x_y, x_z, x_w}, {%rs1, %rs2, %rs3, %rs4}");
  EXPECT_THAT(error_of(kernel("mov.v2.u16 %rs1, {%rs2, %rs3};")),
              HasSubstr("operand 1 of 'mov' must be a register to write: a vector of 2 elements"));
}

TEST(Operand, AddressFields) {
  const Module module = parse_kernel(".local .b8 d[40]; st.local.u32 [d+12], -3;");
  const auto& operands = module.functions[0].instructions[0].operands;
  EXPECT_EQ(operands[0].kind, Kind::address);
  EXPECT_EQ(operands[0].reg, no_index);
  EXPECT_EQ(operands[0].symbol, (Symbol{SymbolKind::local_variable, 0}));
  EXPECT_EQ(operands[0].offset, 12);
  EXPECT_EQ(operands[1].kind, Kind::immediate);
  EXPECT_EQ(operands[1].bits, static_cast<std::uint64_t>(-3));
}

TEST(Operand, AnIndexBehindAModuleArrayCountsElements) {
  const Module module = parse_text(
      ".global .v2 .f32 x[9];\n.entry k() { .reg .b64 a; mov.u64 a, x[3]; ld.global.u64 a, [x+8]; "
      "}");
  EXPECT_EQ(module.functions[0].instructions[0].operands[1].offset, 24);
  EXPECT_EQ(module.functions[0].instructions[1].operands[1].offset, 8);
}

TEST(Operand, VectorsPairsSinksAndNegation) {
  EXPECT_EQ(one("mov.b64 {%r1, _}, %rd1;"), "mov.b64 {%r1, _}, %rd1");
  EXPECT_EQ(one("setp.lt.s32 %p1|%p2, %r1, 5;"), "setp.lt.s32 %p1|%p2, %r1, 5");
  EXPECT_EQ(one("elect.sync _|%p1, -1;"), "elect.sync _|%p1, -1");
  EXPECT_EQ(one("setp.lt.and.s32 %p1, %r1, 5, !%p2;"), "setp.lt.and.s32 %p1, %r1, 5, !%p2");
  EXPECT_EQ(one("vadd.s32.u32.s32.sat %r1, %r2.b0, %r3.h1;"),
            "vadd.s32.u32.s32.sat %r1, %r2.b0, %r3.h1");
  EXPECT_EQ(one("atom.shared.exch.b32 _, [%r1], 3;"), "atom.shared.exch.b32 _, [%r1], 3");
}

TEST(Operand, ConstantsInEveryForm) {
  EXPECT_EQ(one("mov.f32 %f1, 0f3F800000;"), "mov.f32 %f1, 0f3F800000");
  EXPECT_EQ(one("mov.f64 %fd1, 1.5;"), "mov.f64 %fd1, 0d3FF8000000000000");
  EXPECT_EQ(one("mov.u32 %r1, (1 << 4) | 0b11;"), "mov.u32 %r1, 19");
  EXPECT_EQ(one("mov.u32 %r1, WARP_SZ;"), "mov.u32 %r1, 32");
  EXPECT_EQ(one("mov.u64 %rd1, 0xFFFFFFFFFFFFFFFF;"), "mov.u64 %rd1, -1");
}

TEST(Operand, SpecialRegisters) {
  for (const char* name : {"%tid.x",
                           "%ntid.y",
                           "%ctaid.z",
                           "%nctaid.x",
                           "%laneid",
                           "%warpid",
                           "%nwarpid",
                           "%smid",
                           "%nsmid",
                           "%gridid",
                           "%lanemask_lt",
                           "%lanemask_ge",
                           "%clock",
                           "%clock64",
                           "%clock_hi",
                           "%globaltimer_lo",
                           "%dynamic_smem_size",
                           "%total_smem_size",
                           "%envreg0",
                           "%envreg31",
                           "%pm7",
                           "%pm3_64",
                           "%cluster_ctarank",
                           "%cluster_nctaid.z",
                           "%clusterid.x",
                           "%reserved_smem_offset_1",
                           "%reserved_smem_offset_cap"}) {
    EXPECT_EQ(one("mov.u32 %r1, " + std::string(name) + ";"), "mov.u32 %r1, " + std::string(name));
  }
  EXPECT_EQ(one("mov.pred %p1, %is_explicit_cluster;"), "mov.pred %p1, %is_explicit_cluster");
  const Module module = parse_kernel("mov.u32 %r1, %tid.y; mov.u32 %r1, %envreg7;");
  const auto& code = module.functions[0].instructions;
  EXPECT_EQ(code[0].operands[1].special, SpecialRegister::tid_y);
  EXPECT_EQ(code[1].operands[1].special, SpecialRegister::envreg);
  EXPECT_EQ(code[1].operands[1].bits, 7u);
  for (const char* name : {"%tid.w", "%tid", "%envreg32", "%pm8", "%envreg07", "%nothing"}) {
    EXPECT_THAT(error_of(kernel("mov.u32 %r1, " + std::string(name) + ";")),
                ::testing::HasSubstr("is not declared"))
        << name;
  }
}

TEST(Operand, RegistersOfVectorTypeBecomeScalars) {
  const auto lines = printed(
      ".reg .v4 .f32 v; ld.global.v4.f32 v, [%rd1]; add.f32 %f1, v.x, v.w; mov.f32 v.g, %f1;");
  EXPECT_EQ(lines[0], "ld.global.v4.f32 {v_x, v_y, v_z, v_w}, [%rd1]");
  EXPECT_EQ(lines[1], "add.f32 %f1, v_x, v_w");
  EXPECT_EQ(lines[2], "mov.f32 v_y, %f1");
}

TEST(Operand, GuardsAndSpacesInsideAMnemonic) {
  EXPECT_EQ(one("@%p1 add .s32 %r1, %r2, %r3;"), "@%p1 add.s32 %r1, %r2, %r3");
  EXPECT_EQ(one("@!%p1 exit;"), "@!%p1 exit");
  EXPECT_EQ(one("ld.global.u32 %r1, [%rd1].unified;"), "ld.global.unified.u32 %r1, [%rd1]");
}

TEST(Operand, NumberAndKindAreChecked) {
  const auto error = [](std::string_view body) { return error_of(kernel(body)); };
  EXPECT_EQ(error("add.s32 %r1, %r2;"), "t.ptx:10: 'add' takes 3 operands, this has 2");
  EXPECT_EQ(error("ret 3;"), "t.ptx:10: 'ret' takes 0 operands, this has 1");
  EXPECT_EQ(error("ld.global.u32 %r1, %rd1;"),
            "t.ptx:10: operand 2 of 'ld' must be an address in brackets, its base a register of 32 "
            "or 64 bits, not %rd1 of type .b64");
  EXPECT_EQ(error("add.s32 3, %r1, %r2;"),
            "t.ptx:10: operand 1 of 'add' must be a register to write: a number of 32 bits, not a "
            "constant");
  EXPECT_EQ(
      error("add.s32 %r1, [%r2], 1;"),
      "t.ptx:10: operand 2 of 'add' must be a number of 32 bits, not an address, its base %r2 "
      "of type .b32");
  EXPECT_EQ(error("mov.b64 {{%r1}}, %rd1;"),
            "t.ptx:10: operand 1 of 'mov' must be a register to write: a number of 64 bits, not a "
            "vector of 1 elements");
  EXPECT_EQ(error("mov.u32 %r1, k_param_0 + nothing;"),
            "t.ptx:10: expected a constant, found 'nothing'");
  EXPECT_EQ(error("add %r1, %r2, %r3;"), "t.ptx:10: 'add' needs 1 type, this has 0");
  EXPECT_EQ(error("mov.u32 %r1, %r2.q;"), "t.ptx:10: the register '%r2' has no part '.q'");
}

/// An operand of a wrong class, how the message begins, and a right instruction.
constexpr struct {
  const char* wrong;
  const char* operand;
  const char* right;
} kCases[] = {
    {"or.pred %rd1, %p1, %p2;", "operand 1 of 'or'", "or.pred %p3, %p1, !%p2;"},
    {"or.pred %p1, %p2, %r1;", "operand 3 of 'or'", "or.b32 %r1, %r2, -1;"},
    {"add.s32 %p1, %r1, %r2;", "operand 1 of 'add'", "add.s32 _, %r1, %r2;"},
    {"add.s64 %r1, %rd1, %rd2;", "operand 1 of 'add'", "add.s64 %rd3, %rd1, %rd2;"},
    {"add.s32 %r1, -%r2, %r3;", "operand 2 of 'add'", "vmad.s32.s32.s32 %r1, -%r2, %r3, %r4;"},
    {"add.s32 %r1, %r2.b0, 1;", "operand 2 of 'add'", "vadd.s32.s32.s32 %r1, %r2.b0, %r3;"},
    {"add.s32 {%r1, %r2}, 1, 2;", "operand 1 of 'add'", "mov.b64 {%r1, %r2}, %rd1;"},
    {"mov.b64 {%r1, %rs2}, %rd1;", "operand 1 of 'mov'", "mov.b32 {%rs1, %rs2}, %r1;"},
    {"mul.wide.u32 %r1, %r2, %r3;", "operand 1 of 'mul'", "mul.wide.u32 %rd1, %r2, %r3;"},
    {"mad.wide.s32 %rd1, %r2, %r3, %r4;", "operand 4 of 'mad'",
     "mad.wide.s32 %rd1, %r2, %r3, %rd4;"},
    {"shl.b64 %rd1, %rd2, %rd3;", "operand 3 of 'shl'", "shl.b64 %rd1, %rd2, %r3;"},
    {"popc.b64 %rd1, %rd2;", "operand 1 of 'popc'", "popc.b64 %r1, %rd2;"},
    {"setp.eq.s32 %r1, %r2, %r3;", "operand 1 of 'setp'", "setp.eq.s32 %p1|%p2, %r2, %r3;"},
    {"setp.eq.and.s32 %p1, %r2, %r3, %r4;", "operand 4 of 'setp'",
     "setp.eq.and.s32 %p1, %r2, %r3, !%p4;"},
    {"selp.b32 %r1, %r2, %r3, %r4;", "operand 4 of 'selp'", "selp.b32 %r1, %r2, 3, %p4;"},
    {"ld.global.u32 %p1, [%rd1];", "operand 1 of 'ld'", "ld.global.u32 %rd2, [%rd1];"},
    {"ld.global.u64 %r1, [%rd1];", "operand 1 of 'ld'", "ld.global.u8 %rs1, [%rd1];"},
    {"ld.global.v2.u32 %r1, [%rd1];", "operand 1 of 'ld'", "ld.global.v2.u32 {%r1, _}, [%rd1];"},
    {"ld.global.v2.u32 {%r1, %r2, %r3}, [%rd1];", "operand 1 of 'ld'",
     "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];"},
    {"ld.global.u32 %r1, [%p1];", "operand 2 of 'ld'", "ld.shared.u32 %r1, [%r2];"},
    {"ld.global.u32 %r1, [%rd1, {%r2}];", "operand 2 of 'ld'",
     "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r2}];"},
    {"st.global.u32 [%rd1], %p1;", "operand 2 of 'st'", "st.global.u32 [%rd1], 0;"},
    {"st.global.u32 [%rd1], !%p1;", "operand 2 of 'st'", "st.global.u16 [%rd1], %r1;"},
    {"cvt.u32.u64 %p1, %rd1;", "operand 1 of 'cvt'", "cvt.u16.u64 %rd2, %rd1;"},
    {"cvt.u64.u32 %rd1, %rs1;", "operand 2 of 'cvt'", "cvt.u64.u32 %rd1, %rd2;"},
    {"atom.global.add.u64 %r1, [%rd1], %rd2;", "operand 1 of 'atom'",
     "atom.global.add.u64 %rd3, [%rd1], %rd2;"},
    {"atom.global.cas.b32 %r1, [%rd1], %r2;", "'atom' takes 4 to 5 operands",
     "atom.global.cas.b32 %r1, [%rd1], %r2, %r3;"},
    {"bar.red.popc.u32 %r1, 0;", "'bar' takes 3 to 4 operands", "bar.red.popc.u32 %r1, 0, !%p1;"},
    {"bar.red.and.pred %p1, 0, 32, %r1;", "operand 4 of 'bar'",
     "bar.red.and.pred %p1, 0, 32, %p2;"},
    {"bar.sync 0, %p1;", "operand 2 of 'bar'", "bar.sync 0, 64;"},
    {"shfl.sync.idx.b32 %r1|%r2, %r3, 0, 31, -1;", "operand 1 of 'shfl'",
     "shfl.sync.idx.b32 %f1|%p1, %f2, 0, 31, -1;"},
    {"vote.sync.ballot.b32 %p1, %p2, -1;", "operand 1 of 'vote'",
     "vote.sync.ballot.b32 %r1, %p2, -1;"},
    {"vote.sync.any.pred %p1, %r2, -1;", "operand 2 of 'vote'", "vote.sync.any.pred %p1, %p2, -1;"},
    {"activemask.b32 %p1;", "operand 1 of 'activemask'", "activemask.b32 %r1;"},
    {"mbarrier.try_wait.shared.b64 %p1, [%r1], %r2;", "operand 3 of 'mbarrier.try_wait'",
     "mbarrier.try_wait.parity.shared.b64 %p1, [%r1], %r2;"},
    {"cp.async.ca.shared.global [%r1], [%rd1], %r2;", "operand 3 of 'cp.async'",
     "cp.async.ca.shared.global [%r1], [%rd1], 4, %p1;"},
    {"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%p1}, [%r1];", "operand 1 of 'ldmatrix'",
     "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r1];"},
    {"lop3.b32 %r1, %r2, %r3, %r4, %r5;", "operand 5 of 'lop3'",
     "lop3.b32 %r1, %r2, %r3, %r4, 0x3c;"},
    {"alloca.u64 %rd1, %rd2, %rd3;", "operand 3 of 'alloca'", "alloca.u64 %rd1, %rd2, 16;"},
    {"mov.b128 {%rd1, %rd2}, %tid.x;", "operand 2 of 'mov'", "mov.u32 %r1, %tid.x;"},
    {"nanosleep.u32 %p1;", "operand 1 of 'nanosleep'", "nanosleep.u32 %r1;"},
    {"mov.pred %p1, %tid.x;", "operand 2 of 'mov'", "mov.pred %p1, 1;"},
    {"@%r1 exit;", "what follows '@' must be a register of type .pred", "@!%p1 exit;"},
};

TEST(Operand, ClassesAreChecked) {
  for (const auto& each : kCases) {
    const std::string error = error_of(kernel(each.wrong));
    EXPECT_THAT(error, ::testing::HasSubstr("t.ptx:10: " + std::string(each.operand)))
        << each.wrong;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
    EXPECT_EQ(error_of(kernel(each.right)), "") << each.right;
  }
}

TEST(Operand, WhatACallPassesIsChecked) {
  const auto error = [](std::string_view call) {
    return error_of(with_head(
        ".func (.reg .pred r) f(.reg .pred a, .param .b64 b) { mov.pred r, a; ret; }\n"
        ".entry k() { .reg .pred p; .reg .b32 i; .reg .b64 d; .param .b64 x; .reg .b128 w;\n" +
        std::string(call) + "\nret; }\n"));
  };
  EXPECT_EQ(error("call (p), f, (p, d);"), "");
  EXPECT_EQ(error("call (p), f, (1, x);"), "");
  EXPECT_EQ(
      error("call (p), f, (i, d);"),
      "t.ptx:6: argument 1 of a call must be .pred as the function's 'a', not i of type .b32");
  EXPECT_EQ(error("call (p), f, (p, i);"),
            "t.ptx:6: argument 2 of a call must be .b64 as the function's 'b', not i of type .b32");
  EXPECT_EQ(error("call (d), f, (p, d);"),
            "t.ptx:6: result 1 of a call must be .pred as the function's 'r', not d of type .b64");
  EXPECT_EQ(error("call (3), f, (p, d);"),
            "t.ptx:6: a call returns into registers or .param variables");
  EXPECT_EQ(error("call (p), f, (!p, d);"),
            "t.ptx:6: a call passes registers, .param variables or constants");
  EXPECT_EQ(error("P: .callprototype _ ();\ncall i, (), P;"),
            "t.ptx:7: a call must name a function or a register of 64 bits");
}

}  // namespace
}  // namespace tilescope::ptx
