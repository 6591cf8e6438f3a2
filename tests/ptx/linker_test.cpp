// Joining modules: who defines a symbol, and what is refused.
#include "ptx/linker.hpp"

#include <fmt/format.h>

#include "parse_text.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope::ptx {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Module linked(const std::vector<std::string>& texts) {
  std::vector<LinkUnit> units;
  for (const std::string& text : texts) {
    const std::string name = fmt::format("unit{}.cu", units.size() + 1);
    units.push_back({name, parse(".version 8.0\n.target sm_80\n.address_size 64\n" + text, name)});
  }
  return link(std::move(units));
}
std::string refusal(const std::vector<std::string>& texts) {
  return testing::error_of(ErrorKind::bad_input, [&] { linked(texts); });
}
const Function& function(const Module& module, std::string_view name) {
  return module.functions.at(module.find_function(name));
}

const std::string declared = ".extern .global .align 4 .u32 x;\n";
const std::string defined = ".visible .global .align 4 .u32 x = 7;\n";

TEST(Linker, ADefinitionTakesThePlaceOfDeclarationsInAnyOrder) {
  for (const auto& texts : {std::vector{declared, defined}, std::vector{defined, declared}}) {
    const Module module = linked(texts);
    ASSERT_EQ(module.variables.size(), 1u);
    EXPECT_THAT(variable(module, "x").initial, ElementsAre(7, 0, 0, 0));
  }
}

TEST(Linker, OperandsCallsAndRelocationsNameTheDefinition) {
  const std::string user =
      ".global .align 4 .u32 own;\n" + declared +
      ".extern .func (.param .b32 r) twice(.param .b32 a);\n"
      ".visible .entry k() { .reg .b32 %v; .reg .b64 %a; .param .b32 p; .param .b32 q;\n"
      "mov.u64 %a, x; ld.global.u32 %v, [x]; st.param.b32 [p], %v;\n"
      "call.uni (q), twice, (p); st.global.u32 [own], %v; ret; }\n";
  const std::string provider = ".visible .func (.param .b32 r) twice(.param .b32 a) { ret; }\n" +
                               defined + ".visible .global .align 8 .u64 table[2] = {x, twice};\n";
  const Module module = linked({user, provider});
  const std::uint32_t x = module.find_variable("x"), twice = module.find_function("twice");
  const Function& k = function(module, "k");
  EXPECT_EQ(k.instructions[0].operands[1].symbol, (Symbol{SymbolKind::variable, x}));
  EXPECT_EQ(k.instructions[1].operands[1].symbol, (Symbol{SymbolKind::variable, x}));
  EXPECT_EQ(k.calls[0].callee.symbol, (Symbol{SymbolKind::function, twice}));
  EXPECT_TRUE(module.functions[twice].has_body);
  EXPECT_EQ(k.instructions[4].operands[0].symbol.index, module.find_variable("own"));
  const Variable& table = variable(module, "table");
  EXPECT_EQ(table.relocations[0].symbol, (Symbol{SymbolKind::variable, x}));
  EXPECT_EQ(table.relocations[1].symbol, (Symbol{SymbolKind::function, twice}));
}

TEST(Linker, InternalSymbolsOfOneNameStayApart) {
  const std::string first =
      ".global .u32 s = 1;\n.visible .entry a() { .reg .b32 %v;\n"
      "ld.global.u32 %v, [s]; ret; }\n";
  const std::string second =
      ".visible .global .u32 s = 2;\n.visible .entry b() { .reg .b32 %v;\n"
      "ld.global.u32 %v, [s]; ret; }\n";
  const std::string third =
      ".global .u32 s = 3;\n.visible .entry c() { .reg .b32 %v;\n"
      "ld.global.u32 %v, [s]; ret; }\n";
  const Module module = linked({first, second, third});
  const auto value_of = [&](const char* kernel) {
    const Symbol symbol = function(module, kernel).instructions[0].operands[1].symbol;
    return module.variables[symbol.index].initial[0];
  };
  EXPECT_EQ(value_of("a"), 1);
  EXPECT_EQ(value_of("b"), 2);
  EXPECT_EQ(value_of("c"), 3);
  EXPECT_EQ(variable(module, "s").initial[0], 2) << "the visible one keeps its name";
  EXPECT_EQ(variable(module, "s.1").initial[0], 1);
  EXPECT_EQ(variable(module, "s.3").initial[0], 3);
}

TEST(Linker, AStrongDefinitionBeatsWeakOnes) {
  const std::string weak = ".weak .func f() { .reg .b32 %v; mov.u32 %v, 1; ret; }\n";
  const std::string strong = ".visible .func f() { ret; }\n";
  EXPECT_EQ(function(linked({weak, strong}), "f").instructions.size(), 1u);
  EXPECT_EQ(function(linked({strong, weak}), "f").instructions.size(), 1u);
  EXPECT_EQ(linked({weak, weak}).functions.size(), 1u);
}

TEST(Linker, DynamicSharedMemoryIsOneArrayForAll) {
  const Module module =
      linked({".extern .shared .align 4 .b8 tile[];\n", ".extern .shared .align 16 .b8 tile[];\n"});
  ASSERT_EQ(module.variables.size(), 1u);
  EXPECT_EQ(module.variables[0].alignment, 16u);
}

TEST(Linker, LinesKeepTheirFiles) {
  const auto unit = [](const char* kernel, const char* file, int line) {
    return fmt::format(".visible .entry {}() {{\n.loc 1 {} 3\nret; }}\n.file 1 \"{}\"\n", kernel,
                       line, file);
  };
  const Module module = linked({unit("a", "a.cu", 5), unit("b", "b.cu", 6), unit("c", "a.cu", 7)});
  const auto place = [&](const char* kernel) {
    const Location& at = module.locations[function(module, kernel).instructions[0].location];
    return fmt::format("{}:{}", module.files.at(at.file), at.line);
  };
  EXPECT_EQ(place("a"), "a.cu:5");
  EXPECT_EQ(place("b"), "b.cu:6");
  EXPECT_EQ(place("c"), "a.cu:7");
  EXPECT_EQ(module.files.size(), 2u);
}

TEST(Linker, RefusesWhatDoesNotFitTogether) {
  EXPECT_THAT(refusal({declared, declared}),
              HasSubstr("'x' is declared .extern in unit1.cu, and nothing defines it"));
  EXPECT_THAT(refusal({defined, defined}), HasSubstr("'x' is defined in unit1.cu and in unit2.cu"));
  EXPECT_THAT(refusal({defined, ".extern .const .align 4 .u32 x;\n"}),
              HasSubstr("'x' is in .const in unit2.cu and in .global in unit1.cu"));
  EXPECT_THAT(refusal({defined, ".extern .global .align 8 .u64 x;\n"}),
              HasSubstr("'x' has 8 bytes in unit2.cu and 4 in unit1.cu"));
  const std::string body = ".visible .func f(.param .b32 a) { ret; }\n";
  EXPECT_THAT(refusal({body, body}), HasSubstr("'f' is defined in unit1.cu and in unit2.cu"));
  EXPECT_THAT(refusal({body, ".extern .func f(.param .b64 a);\n"}),
              HasSubstr("the parameters of 'f' in unit2.cu differ from those in unit1.cu"));
  EXPECT_THAT(refusal({body, ".extern .func f();\n"}), HasSubstr("differ"));
  EXPECT_THAT(refusal({}), HasSubstr("no PTX"));
  EXPECT_NO_THROW(linked({".extern .func vprintf(.param .b64 a);\n"}))
      << "a function may come later";
}

}  // namespace
}  // namespace tilescope::ptx
