#include "parse_text.hpp"
#include "ptx/print.hpp"

namespace tilescope::ptx {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Functions, DeclarationAndDefinitionAreOne) {
  const Module module = parse_text(R"(
.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);
.func (.param .b32 r) f (.param .b32 a);
.entry k() { ret; }
.visible .func (.param .b32 result) f (.param .b32 argument) { ret; }
)");
  ASSERT_EQ(module.functions.size(), 3u);
  EXPECT_FALSE(module.functions[0].has_body);
  EXPECT_EQ(module.functions[0].linkage, Linkage::external);
  EXPECT_EQ(module.functions[1].name, "f");
  EXPECT_TRUE(module.functions[1].has_body);
  EXPECT_EQ(module.functions[1].parameters[0].name, "argument");
  EXPECT_TRUE(module.functions[2].is_entry);
}

TEST(Functions, DirectCalls) {
  const Module module = parse_text(R"(
.func (.param .b32 r) f (.param .b32 a) { ret; }
.func g { ret; }
.entry k() {
  .reg .b32 %x;
  { .reg .b32 unused; .param .b32 p; .param .b32 q; st.param.b32 [p+0], 1; call.uni (q), f, (p); }
  { .param .b32 p; .param .b32 q; call (q), f, (p); ld.param.b32 %x, [q]; }
  call g;
})");
  const Function& k = module.functions[2];
  ASSERT_EQ(k.calls.size(), 3u);
  EXPECT_TRUE(k.instructions[1].modifiers.has(Flag::uni));
  EXPECT_EQ(k.calls[0].callee.symbol, (Symbol{SymbolKind::function, 0}));
  EXPECT_EQ(k.calls[0].arguments[0].symbol, (Symbol{SymbolKind::local_variable, 0}));
  EXPECT_EQ(k.calls[1].returns[0].symbol, (Symbol{SymbolKind::local_variable, 3}));
  EXPECT_EQ(k.instructions[3].operands[1].symbol.index, 3u);
  EXPECT_TRUE(k.calls[2].arguments.empty());
}

TEST(Functions, AVectorOfRegistersIsAParameterForEachComponent) {
  const Module module = parse_text(R"(
.func (.reg .v2 .f32 r) later (.reg .v2 .f32 a);
.func (.reg .v2 .f32 r) f (.reg .b32 n, .reg .v4 .f32 a) {
  mov.f32 r.x, a.w; mov.f32 r.y, a.x; ret;
}
.entry k() {
  .reg .v4 .f32 x; .reg .v2 .f32 y; .reg .f32 z;
  call (y), f, (1, x); call ({y.x, z}), later, (y);
})");
  const Function& f = module.functions[1];
  ASSERT_EQ(f.returns.size(), 2u);
  ASSERT_EQ(f.parameters.size(), 5u);
  EXPECT_EQ(f.parameters[4].name, "a_w");
  EXPECT_EQ(f.instructions[0].operands[0].reg, f.returns[0].reg);
  EXPECT_EQ(f.instructions[0].operands[1].reg, f.parameters[4].reg);
  EXPECT_EQ(module.functions[0].parameters[1].name, "a_y");
  EXPECT_EQ(module.functions[2].calls[0].arguments.size(), 5u);
  EXPECT_EQ(module.functions[2].calls[1].returns.size(), 2u);
  EXPECT_THAT(error_of(with_head(".func f(.reg .v8 .b32 a) { ret; }")),
              HasSubstr("at most four components"));
}

TEST(Functions, RegistersMustBeDeclaredFirst) {
  EXPECT_EQ(error_of(with_head(".entry k() {\nmov.b32 %x, 1;\n.reg .b32 %x;\n}")),
            "t.ptx:5: '%x' is not declared");
}

TEST(Functions, IndirectCalls) {
  const Module module = parse_text(R"(
.func f (.param .b32 a) { ret; }
.func g (.param .b32 a) { ret; }
.entry k() {
  .reg .b64 p; .reg .b32 a;
  proto: .callprototype (.param .b32 _) _ (.param .b64 _, .param .b32 _);
  list: .calltargets f, g;
  { .param .b32 r; .param .b64 x; .param .b32 y; call (r), p, (x, y), proto; }
  { .param .b32 y; call p, (y), list; }
  mov.u64 p, f;
})");
  const Function& k = module.functions[2];
  ASSERT_EQ(k.calls.size(), 2u);
  EXPECT_EQ(k.instructions[0].detail, 0u);
  EXPECT_EQ(k.calls[0].callee.kind, Operand::Kind::reg);
  EXPECT_EQ(k.calls[0].prototype, 0u);
  EXPECT_EQ(k.calls[0].arguments.size(), 2u);
  EXPECT_EQ(k.prototypes[0].parameters[1].type, Type::b32);
  EXPECT_EQ(k.calls[1].targets, 0u);
  EXPECT_THAT(k.call_targets[0], ElementsAre(0, 1));
  EXPECT_EQ(k.instructions[2].operands[1].symbol, (Symbol{SymbolKind::function, 0}));
}

TEST(Functions, ParametersInRegistersAndRecursion) {
  const Module module = parse_text(R"(
.func (.reg .b32 r) f (.reg .b32 a) { call (r), f, (a); add.s32 r, a, 1; ret; }
)");
  const Function& f = module.functions[0];
  EXPECT_TRUE(f.parameters[0].in_register);
  EXPECT_EQ(f.instructions[1].operands[1].reg, f.parameters[0].reg);
  EXPECT_EQ(f.instructions[1].operands[0].reg, f.returns[0].reg);
  EXPECT_EQ(f.calls[0].callee.symbol.index, 0u);
}

TEST(Functions, Aliases) {
  const Module module = parse_text(".func f { ret; }\n.func g;\n.alias g, f;");
  EXPECT_EQ(module.functions[1].alias_of, 0u);
  EXPECT_EQ(error_of(with_head(".func f { ret; }\n.alias g, f;")),
            "t.ptx:5: .alias must name two functions of the module");
}

TEST(Scopes, InnerNamesAreTheirOwn) {
  const Module module = parse_kernel(
      ".reg .b32 x; .shared .b32 s; mov.b32 x, 1;\n"
      "{ .reg .b64 x; .shared .b64 s; mov.b64 x, 2; mov.u64 x, s; }\n"
      "mov.b32 x, 3; mov.u32 x, s;");
  const Function& k = module.functions[0];
  ASSERT_EQ(k.registers.size(), 2u);
  EXPECT_EQ(k.registers[0], (Register{"x", Type::b32}));
  EXPECT_EQ(k.registers[1], (Register{"x$1", Type::b64}));
  EXPECT_EQ(k.instructions[1].operands[0].reg, 1u);
  EXPECT_EQ(k.instructions[2].operands[1].symbol.index, 1u);
  EXPECT_EQ(k.instructions[3].operands[0].reg, 0u);
  EXPECT_EQ(k.instructions[4].operands[1].symbol.index, 0u);
  EXPECT_EQ(k.variables[1].name, "s$1");
}

TEST(Scopes, LabelsOfInlineAssembly) {
  const Module module =
      parse_kernel("L: bra L;\n{ L: bra L; bra DONE; DONE: }\n{ bra L; bra DONE; }\nDONE: ret;");
  const Function& k = module.functions[0];
  const auto target = [&](std::size_t i) {
    return k.labels[k.instructions[i].operands[0].label].instruction;
  };
  EXPECT_EQ(target(0), 0u);
  EXPECT_EQ(target(1), 1u) << "the inner L";
  EXPECT_EQ(target(2), 3u) << "the inner DONE, behind the branch";
  EXPECT_EQ(target(3), 0u) << "the outer L";
  EXPECT_EQ(target(4), 5u) << "the outer DONE, defined further down";
}

TEST(Scopes, RangesOfRegisters) {
  const Module module = parse_kernel(
      ".reg .b32 %q<4000000000>; mov.b32 %q3999999999, %q0; { .reg .b64 %q<2>; mov.b64 %q1, 1; "
      "mov.b32 %q2, 1; }");
  const Function& k = module.functions[0];
  ASSERT_EQ(k.registers.size(), 4u) << "four billion declared, four named";
  EXPECT_EQ(k.registers[2].type, Type::b64);
  EXPECT_EQ(k.registers[3], (Register{"%q2", Type::b32}));
  for (const char* name : {"%q4000000000", "%q01", "%q99999999999999999999999", "%q"}) {
    EXPECT_THAT(error_of(kernel(".reg .b32 %q<4000000000>; mov.b32 " + std::string(name) + ", 1;")),
                HasSubstr("is not declared"))
        << name;
  }
}

TEST(Branches, Indexed) {
  const Module module =
      parse_kernel("t: .branchtargets A, B, A;\nbrx.idx %r1, t;\nA: exit;\nB: ret;");
  const Function& k = module.functions[0];
  EXPECT_EQ(k.instructions[0].opcode, Opcode::brx_idx);
  ASSERT_EQ(k.instructions[0].detail, 0u);
  ASSERT_EQ(k.branch_targets[0].size(), 3u);
  EXPECT_EQ(k.labels[k.branch_targets[0][1]].instruction, 2u);
}

TEST(Unknown, OperationsAreKeptWithTheirText) {
  const Module module = parse_kernel(
      "@!%p1 tcgen05.ld.sync \t {%r1, /* c */ %r2},\n [%rd1+4];\nadd.approx.s32 %r1, %r2, %r3;");
  const Function& k = module.functions[0];
  EXPECT_EQ(k.instructions[0].opcode, Opcode::unknown);
  EXPECT_TRUE(k.instructions[0].guarded());
  EXPECT_EQ(k.unknown_texts[k.instructions[0].detail], "tcgen05.ld.sync {%r1, %r2}, [%rd1+4]");
  EXPECT_EQ(k.instructions[1].opcode, Opcode::unknown) << "a modifier that is not allowed";
  EXPECT_EQ(k.instructions[1].line, 12u);
  EXPECT_EQ(print(module, k, k.instructions[0]), "@!%p1 tcgen05.ld.sync {%r1, %r2}, [%rd1+4]");
}

TEST(Errors, OfFunctions) {
  const auto error = [](std::string_view text) { return error_of(with_head(text)); };
  EXPECT_EQ(error(".func f { ret; }\n.func f { ret; }"),
            "t.ptx:5: the function 'f' is defined twice, first in line 4");
  EXPECT_EQ(error(".func f (.param .b32 a);\n.func f { ret; }"),
            "t.ptx:5: the function 'f' does not agree with its declaration in line 4");
  EXPECT_EQ(error(".global .b32 f;\n.func f { ret; }"), "t.ptx:5: 'f' is already a variable");
  EXPECT_EQ(error(".func f (.param .b32 a);\n.entry k() {\ncall f;\n}"),
            "t.ptx:6: a call passes 0 and returns 0 values, its function takes 1 and returns 0");
  EXPECT_EQ(error(".entry k() { call g; }"), "t.ptx:4: 'g' is not declared");
  EXPECT_EQ(error(".entry k() { .reg .b64 p; call p; }"),
            "t.ptx:4: a call through a register needs a .callprototype or .calltargets");
  EXPECT_EQ(error(".entry k() { L: ret;\nL: ret; }"),
            "t.ptx:5: the label 'L' is defined twice in one scope");
  EXPECT_EQ(error(".entry k() {\nbra L;\n}"), "t.ptx:5: the label 'L' is not defined");
  EXPECT_EQ(error(".entry k() {\n{ L: }\nbra L;\n}"), "t.ptx:6: the label 'L' is not defined");
  EXPECT_EQ(error(".entry k() { .reg .b32 a; .reg .b64 a; }"),
            "t.ptx:4: 'a' is declared twice in one scope");
  EXPECT_EQ(error(".entry k() { .reg .b32 a; brx.idx a, t; }"),
            "t.ptx:4: 't' is not a .branchtargets declared above");
}

}  // namespace
}  // namespace tilescope::ptx
