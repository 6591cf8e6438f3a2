// The compiler's output for Tilescope's own sources, read, printed and read again.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "parse_text.hpp"
#include "ptx/control_flow.hpp"
#include "ptx/location.hpp"
#include "same_module.hpp"

namespace tilescope::ptx {
namespace {

std::string read(const std::string& name) {
  std::ifstream file(std::string(TILESCOPE_TEST_DATA "/ptx/") + name);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

Module fixture(const std::string& name) {
  return parse(read(name), name);
}

class Fixture : public ::testing::TestWithParam<const char*> {};

TEST_P(Fixture, IsReadWithoutAnythingUnknown) {
  const Module module = fixture(GetParam());
  std::size_t instructions = 0;
  for (const Function& function : module.functions) {
    for (const std::string& text : function.unknown_texts) ADD_FAILURE() << text;
    instructions += function.instructions.size();
  }
  EXPECT_GT(instructions, 10u);
}

TEST_P(Fixture, SurvivesPrinting) {
  const Module module = fixture(GetParam());
  const std::string printed = print(module);
  const Module again = parse(printed, "printed.ptx");
  EXPECT_EQ(difference(module, again), "") << printed;
  EXPECT_EQ(print(again), printed);
}

TEST_P(Fixture, EveryInstructionHasAPlaceAndABlock) {
  const Module module = fixture(GetParam());
  for (const Function& function : module.functions) {
    if (!function.has_body) continue;
    const ControlFlow flow = build_control_flow(function);
    for (std::uint32_t i = 0; i < function.instructions.size(); ++i) {
      const BasicBlock& block = flow.blocks.at(flow.block_of.at(i));
      EXPECT_TRUE(block.begin <= i && i < block.end);
      if (module.files.empty()) continue;
      const auto chain = inline_chain(module, function.instructions[i]);
      ASSERT_FALSE(chain.empty()) << print(module, function, function.instructions[i]);
      EXPECT_TRUE(chain.back().file.ends_with(".cu") || chain.back().line == 0)
          << chain.back().file << ":" << chain.back().line;
    }
  }
}

/// Any cut and any damaged byte gives a module or an error, and nothing else.
TEST_P(Fixture, SurvivesDamage) {
  const std::string text = read(GetParam());
  const std::size_t step = text.size() / 97 + 1;
  std::size_t refused = 0;
  for (std::size_t at = 0; at < text.size(); at += step) {
    refused += error_of(text.substr(0, at)).empty() ? 0 : 1;
    for (const char damage : {'\0', '{', '}', '"', '<', '9', ';', '\xff'}) {
      std::string damaged = text;
      damaged[at] = damage;
      refused += error_of(damaged).empty() ? 0 : 1;
    }
  }
  EXPECT_GT(refused, 97u);
}

INSTANTIATE_TEST_SUITE_P(Ptx, Fixture,
                         ::testing::Values("arithmetic_80.ptx", "calls_90.ptx", "data_90.ptx",
                                           "hopper_90.ptx", "matrix_75.ptx", "matrix_90.ptx",
                                           "memory_90.ptx", "tile_90.ptx", "warp_80.ptx"),
                         [](const auto& each) {
                           const std::string name = each.param;
                           return name.substr(0, name.find('.'));
                         });

TEST(Fixtures, AreAllTested) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TILESCOPE_TEST_DATA "/ptx")) {
    files += entry.path().extension() == ".ptx" ? 1 : 0;
  }
  EXPECT_EQ(files, 9u) << "a new file needs a line in the list above";
}

TEST(Fixtures, TritonsCodeSurvivesPrinting) {
  std::size_t files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(TILESCOPE_SOURCE_DIR "/tests/triton/ptx")) {
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    const Module module = parse(text.str(), entry.path().string());
    const Module again = parse(print(module), "printed.ptx");
    EXPECT_EQ(difference(module, again), "") << entry.path();
    for (const Function& function : module.functions) {
      for (const std::string& unknown : function.unknown_texts) ADD_FAILURE() << unknown;
    }
    ++files;
  }
  EXPECT_GT(files, 0u);
}

TEST(Fixtures, TheTileKernelNamesItsLines) {
  const Module module = fixture("tile_90.ptx");
  const std::uint32_t index = module.find_function("_Z5tiledPKfS0_Pfi");
  ASSERT_NE(index, no_index);
  const Function& kernel = module.functions[index];
  EXPECT_EQ(kernel.bounds.maxntid[0], 64u);
  EXPECT_EQ(kernel.bounds.minnctapersm, 2u);
  ASSERT_EQ(kernel.variables.size(), 2u);
  EXPECT_EQ(kernel.variables[0].size, 256u);
  std::size_t inlined = 0;
  for (const Instruction& each : kernel.instructions) {
    if (each.opcode != Opcode::fma) continue;
    const auto chain = inline_chain(module, each);
    ASSERT_EQ(chain.size(), 3u);
    EXPECT_EQ(chain[0].line, 3u);
    EXPECT_EQ(chain[0].function, "_Z7productfff");
    EXPECT_EQ(chain[1].line, 7u);
    EXPECT_EQ(chain[2].line, 19u);
    ++inlined;
  }
  EXPECT_EQ(inlined, 24u) << "eight for each copy of the loop that the compiler made";
}

TEST(Fixtures, ThePackedStructHoldsAnAddressByteByByte) {
  const Module module = fixture("data_90.ptx");
  const Variable& packed = module.variables.at(module.find_variable("packed"));
  ASSERT_EQ(packed.relocations.size(), 8u);
  EXPECT_EQ(packed.relocations[7].shift, 56);
  EXPECT_TRUE(packed.relocations[7].generic);
  EXPECT_EQ(packed.relocations[7].symbol.index, module.find_variable("counter"));
}

}  // namespace
}  // namespace tilescope::ptx
