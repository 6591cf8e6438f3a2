#include "parse_text.hpp"

namespace tilescope::ptx {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Variables, TypesSizesAndAlignment) {
  const Module module = parse_text(R"(
.global .align 16 .b8 bytes[40];
.visible .const .f64 c;
.extern .shared .align 16 .b8 dynamic[];
.shared .v4 .f32 quads[2][3];
.weak .global .u32 weak;
.global .attribute(.managed) .align 4 .u32 managed = 4;
.global .texref texture;
)");
  const Variable& bytes = variable(module, "bytes");
  EXPECT_EQ(bytes.space, Space::global);
  EXPECT_EQ(bytes.alignment, 16u);
  EXPECT_EQ(bytes.size, 40u);
  EXPECT_THAT(bytes.dims, ElementsAre(40));
  EXPECT_FALSE(bytes.initialized);

  EXPECT_EQ(variable(module, "c").space, Space::constant);
  EXPECT_EQ(variable(module, "c").linkage, Linkage::visible);
  EXPECT_EQ(variable(module, "c").alignment, 8u);
  EXPECT_TRUE(variable(module, "c").dims.empty());

  const Variable& dynamic = variable(module, "dynamic");
  EXPECT_TRUE(dynamic.unsized);
  EXPECT_EQ(dynamic.linkage, Linkage::external);
  EXPECT_EQ(dynamic.size, 0u);

  const Variable& quads = variable(module, "quads");
  EXPECT_EQ(quads.vector, 4);
  EXPECT_EQ(quads.element_count, 6u);
  EXPECT_EQ(quads.size, 96u);
  EXPECT_EQ(quads.alignment, 16u);
  EXPECT_EQ(variable(module, "weak").linkage, Linkage::weak);
  EXPECT_TRUE(variable(module, "managed").managed);
  EXPECT_EQ(variable(module, "texture").size, 8u);
}

TEST(Variables, InitialBytes) {
  const Module module = parse_text(R"(
.global .u16 words[4] = {1, -2, 0x1234};
.global .f32 single = 0f3F800000;
.global .f32 real[2] = {1.5, -1};
.global .f64 wide = 0d3FF0000000000000;
.global .b8 rows[2][3] = {{1, 2}, {3}};
.global .b8 flat[2][3] = {1, 2, 3, 4};
.global .v2 .b16 pairs[2] = {{1, 2}, {3, 4}};
.global .b8 counted[] = {1, 2, 3};
.global .b8 zero[8] = {0};
)");
  EXPECT_THAT(variable(module, "words").initial, ElementsAre(1, 0, 0xfe, 0xff, 0x34, 0x12));
  EXPECT_THAT(variable(module, "single").initial, ElementsAre(0, 0, 0x80, 0x3f));
  EXPECT_THAT(variable(module, "real").initial, ElementsAre(0, 0, 0xc0, 0x3f, 0, 0, 0x80, 0xbf));
  EXPECT_EQ(variable(module, "wide").initial.at(6), 0xf0);
  EXPECT_THAT(variable(module, "rows").initial, ElementsAre(1, 2, 0, 3));
  EXPECT_THAT(variable(module, "flat").initial, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(variable(module, "pairs").initial, ElementsAre(1, 0, 2, 0, 3, 0, 4, 0));
  EXPECT_EQ(variable(module, "counted").size, 3u);
  EXPECT_FALSE(variable(module, "counted").unsized);
  EXPECT_TRUE(variable(module, "zero").initialized);
  EXPECT_TRUE(variable(module, "zero").initial.empty()) << "what is beyond the image is zero";
}

TEST(Variables, AddressesInInitialisers) {
  const Module module = parse_text(R"(
.global .u32 first;
.global .u64 table[3] = {first, generic(first)+8, later-4};
.global .u8 packed[9] = {97, 0xFF(generic(first)), 0xFF00(first), 0xFF00000000000000(first+1)};
.global .u32 later;
.func f;
.global .u64 function = f;
)");
  const Symbol first{SymbolKind::variable, module.find_variable("first")};
  const Symbol later{SymbolKind::variable, module.find_variable("later")};
  EXPECT_THAT(variable(module, "table").relocations,
              ElementsAre(Relocation{0, 8, 0, false, first, 0}, Relocation{8, 8, 0, true, first, 8},
                          Relocation{16, 8, 0, false, later, -4}));
  EXPECT_THAT(variable(module, "packed").relocations,
              ElementsAre(Relocation{1, 1, 0, true, first, 0}, Relocation{2, 1, 8, false, first, 0},
                          Relocation{3, 1, 56, false, first, 1}));
  EXPECT_THAT(variable(module, "packed").initial, ElementsAre(97));
  EXPECT_EQ(variable(module, "function").relocations.at(0).symbol,
            (Symbol{SymbolKind::function, module.find_function("f")}));
}

TEST(Variables, ADefinitionReplacesAnExternDeclaration) {
  const Module module = parse_text(R"(
.extern .global .u32 x;
.global .u64 address = x;
.visible .global .u32 x = 7;
.extern .global .u32 x;
)");
  ASSERT_EQ(module.variables.size(), 2u);
  EXPECT_EQ(module.variables[0].initial.at(0), 7);
  EXPECT_EQ(module.variables[0].linkage, Linkage::visible);
  EXPECT_EQ(module.variables[1].relocations.at(0).symbol.index, 0u);
}

TEST(Variables, InitialisersOfVariablesInFunctions) {
  const Module module =
      parse_text(".global .u32 x;\n.entry k() { .global .u64 a = 1; { .const .u64 a = x; } ret; }");
  EXPECT_TRUE(module.functions[0].variables.empty()) << "they outlive the function";
  const auto& variables = module.variables;
  ASSERT_EQ(variables.size(), 3u);
  EXPECT_EQ(variables[1].name, "k$a");
  EXPECT_EQ(variables[1].initial.at(0), 1);
  EXPECT_EQ(variables[2].name, "k$a$1");
  EXPECT_EQ(variables[2].space, Space::constant);
  EXPECT_EQ(variables[2].relocations.at(0).symbol.index, 0u);
}

TEST(Variables, AGlobalOneOfAFunctionIsNamedThereAlone) {
  const Module module = parse_text(
      ".entry k() { .reg .b64 a; .global .u32 x; mov.u64 a, x; ret; }\n.global .u32 x;\n"
      ".entry l() { .reg .b64 a; mov.u64 a, x; ret; }");
  EXPECT_EQ(module.functions[0].instructions[0].operands[1].symbol,
            (Symbol{SymbolKind::variable, module.find_variable("k$x")}));
  EXPECT_EQ(module.functions[1].instructions[0].operands[1].symbol,
            (Symbol{SymbolKind::variable, module.find_variable("x")}));
}

TEST(Parameters, OfAKernelHaveOffsets) {
  const Module module = parse_text(R"(
.visible .entry k(.param .u8 a, .param .align 16 .b8 b[24], .param .u64 .ptr .global .align 4 c,
                  .param .v2 .f32 d) { ret; }
)");
  const Function& k = module.functions[0];
  EXPECT_EQ(k.linkage, Linkage::visible);
  ASSERT_EQ(k.parameters.size(), 4u);
  EXPECT_EQ(k.parameters[0].offset, 0u);
  EXPECT_EQ(k.parameters[1].offset, 16u);
  EXPECT_EQ(k.parameters[1].size, 24u);
  EXPECT_TRUE(k.parameters[1].is_array);
  EXPECT_EQ(k.parameters[2].offset, 40u);
  EXPECT_TRUE(k.parameters[2].pointer);
  EXPECT_EQ(k.parameters[2].pointer_space, Space::global);
  EXPECT_EQ(k.parameters[2].pointer_alignment, 4u);
  EXPECT_EQ(k.parameters[3].offset, 48u);
  EXPECT_EQ(k.parameter_bytes, 56u);
}

TEST(Parameters, LaunchBounds) {
  const Module module = parse_text(R"(
.entry k() .maxntid 256, 2 .minnctapersm 3 .maxnreg 64 .pragma "nounroll"; { ret; }
.entry c() .reqntid 8 .reqnctapercluster 2, 1, 1 .explicitcluster .maxclusterrank 4 { ret; }
.func f .noreturn;
)");
  EXPECT_THAT(module.functions[0].bounds.maxntid, ElementsAre(256, 2, 1));
  EXPECT_THAT(module.functions[0].bounds.reqntid, ElementsAre(0, 0, 0));
  EXPECT_EQ(module.functions[0].bounds.minnctapersm, 3u);
  EXPECT_EQ(module.functions[0].bounds.maxnreg, 64u);
  EXPECT_THAT(module.functions[1].bounds.reqnctapercluster, ElementsAre(2, 1, 1));
  EXPECT_TRUE(module.functions[1].bounds.explicit_cluster);
  EXPECT_EQ(module.functions[1].bounds.maxclusterrank, 4u);
  EXPECT_TRUE(module.functions[2].noreturn);
}

TEST(Module, HeadAndComments) {
  const Module module = parse(
      "// a comment\n/* another\n one */ .version 8.7\n# 1 \"x\"\n.target sm_90a, debug\n"
      ".address_size 64\n.file 1 \"a b.cu\", 123, 456\n.pragma \"x\";\n",
      "t.ptx");
  EXPECT_EQ(module.version_major, 8u);
  EXPECT_EQ(module.version_minor, 7u);
  EXPECT_EQ(module.target, "sm_90a");
  EXPECT_THAT(module.target_options, ElementsAre("debug"));
  EXPECT_EQ(module.address_size, 64u);
  EXPECT_EQ(module.files.at(1), "a b.cu");
}

TEST(Variables, AreRefusedWithTheirLine) {
  const auto error = [](std::string_view text) { return error_of(with_head(text)); };
  EXPECT_EQ(
      error(".global .b8 x[1<<60];"),
      "t.ptx:4: the size of an array must be from 0 to 1099511627776, not 1152921504606846976");
  EXPECT_EQ(error(".global .b64 x[1<<39][1<<39];"), "t.ptx:4: 'x' is larger than 2^40 bytes");
  EXPECT_EQ(error(".global .b8 x[0][1<<39][1<<39] = {{{1}}};"),
            "t.ptx:4: 'x' is larger than 2^40 bytes");
  EXPECT_EQ(error(".global .align 3 .b8 x;"), "t.ptx:4: the alignment 3 is not a power of two");
  EXPECT_EQ(error(".global .pred x;"), "t.ptx:4: a variable in memory cannot be of type .pred");
  EXPECT_EQ(error(".global .b8 x[2] = {1, 2, 3};"),
            "t.ptx:4: 'x' has more initial values than elements");
  EXPECT_EQ(error(".global .b8 x[2] = {{1}};"),
            "t.ptx:4: an initialiser has more braces than dimensions");
  EXPECT_EQ(error(".global .u64 x = nothing;"), "t.ptx:4: 'nothing' is not declared");
  EXPECT_EQ(error(".global .u8 x = y;\n.global .u8 y;"),
            "t.ptx:4: an address does not fit in an element of type .u8");
  EXPECT_EQ(error(".global .u8 y[1] = {0x1FF(y)};"),
            "t.ptx:4: the mask of an address in an initialiser must select one byte");
  EXPECT_EQ(error(".global .u8 x;\n.global .u8 x;"),
            "t.ptx:5: 'x' is declared twice, first in line 4");
  EXPECT_EQ(error(".extern .global .u8 x;\n.const .u8 x;"),
            "t.ptx:5: 'x' is in .const here and in .global in line 4");
  EXPECT_EQ(error(".global x;"), "t.ptx:4: expected a type, found 'x'");
  EXPECT_EQ(error(".local2 .b8 x;"), "t.ptx:4: the directive '.local2' is not known in a module");
  EXPECT_THAT(error(".global .b8 x[1048576][1048576] = {{1},{1},{1}," +
                    [] {
                      std::string rows;
                      for (int i = 0; i < 300; ++i) rows += "{1},";
                      return rows;
                    }() +
                    "{1}};"),
              HasSubstr("has an initialiser beyond 268435456 bytes"));
}

}  // namespace
}  // namespace tilescope::ptx
