// Every operation of the list, with modifiers of real programs or drawn at random, and operands
// most of which are of the class that the row asks for: each is refused in one line, or runs.
#include <filesystem>
#include <map>
#include <set>
#include <tilescope/error.hpp>

#include "emulator/harness.hpp"
#include "ptx/opcode_table.hpp"
#include "ptx/operand_classes.hpp"

namespace tilescope::emulator::test {
namespace {

using ptx::Modifiers;
using ptx::Opcode;

constexpr int kTries = 60;  // of each operation

constexpr std::string_view kOperandTypes[] = {
    "b1",         "b8",       "b16",       "b32",     "b64",     "b128",    "u8",
    "u16",        "u32",      "u64",       "s8",      "s16",     "s32",     "s64",
    "f16",        "f32",      "f64",       "bf16",    "tf32",    "f16x2",   "bf16x2",
    "u16x2",      "s16x2",    "e4m3",      "e4m3x2",  "pred",    "global",  "shared",
    "local",      "const",    "param",     "v2",      "v4",      "x1",      "x2",
    "x4",         "rn",       "rz",        "rm",      "rni",     "rzi",     "eq",
    "lt",         "neu",      "nan",       "lo",      "and",     "or",      "xor",
    "hi",         "wide",     "add",       "min",     "inc",     "exch",    "cas",
    "popc",       "weak",     "relaxed",   "acquire", "release", "acq_rel", "sc",
    "cta",        "gpu",      "sys",       "gl",      "cg",      "cv",      "L2",
    "up",         "bfly",     "idx",       "all",     "any",     "uni",     "ballot",
    "l",          "r",        "clamp",     "wrap",    "f4e",     "ecr",     "finite",
    "normal",     "sync",     "arrive",    "red",     "m8n8",    "m16n8k8", "m16n8k16",
    "m16n16k16",  "row",      "col",       "a",       "d",       "1d",      "2d",
    "ftz",        "sat",      "satfinite", "relu",    "approx",  "full",    "NaN",
    "cc",         "shiftamt", "aligned",   "to",      "trans",   "parity",  "expect_tx",
    "noComplete", "noinc",    "noftz",     "po",      "shr7",    "shr15",   "xorsign",
    "abs"};

class Draw {
 public:
  explicit Draw(unsigned seed) : generator_(seed) {}
  std::size_t below(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(generator_);
  }
  bool one_in(std::size_t n) { return below(n) == 0; }
  template <class T>
  auto of(const T& list) {
    return list[below(std::size(list))];
  }

 private:
  std::mt19937 generator_;
};

const std::vector<std::string> kRegisters[] = {
    {"%p1", "%p2"}, {"%h1", "%h2"}, {"%r1", "%f1"}, {"%d1", "%e1"}, {"%q1", "%q2"}};

std::string any_register(Draw& draw) {
  return draw.of(draw.of(kRegisters));
}

std::string vector_of(std::size_t count, Draw& draw, auto element) {
  std::string text = "{";
  for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + element(draw);
  return text + "}";
}

/// An operand of any class whatever.
std::string any_operand(Draw& draw) {
  static const std::string kOthers[] = {
      "0",        "-1",       "31",    "0f3F800000", "1.5",    "%tid.x",
      "%clock64", "%envreg1", "s",     "l",          "g+8",    "f",
      "k_0",      "_",        "!%p1",  "-%r1",       "%r1.b0", "%r1|%p1",
      "%p1|%r1",  "%p1|_",    "[%d1]", "[%r1+4]",    "[%p1]",  "[%h1]",
      "[%q1]",    "[s]",      "[l+4]", "[16]",       "[k_0]",  "[%d1, {%r1, %r2}]",
      "END"};
  switch (draw.below(4)) {
    case 0:
      return draw.of(kOthers);
    case 1:
      return vector_of(draw.below(5) + 1, draw, any_register);
    default:
      return any_register(draw);
  }
}

/// One of the class that the row asks for, as far as the letter alone tells.
std::string right_operand(char letter, const ptx::Instruction& in, std::size_t i, Draw& draw) {
  const ptx::Type type = ptx::operand_type(in, i);
  const unsigned bits = ptx::bit_width(type);
  const auto& registers = kRegisters[type == ptx::Type::pred ? 0
                                     : bits <= 16            ? 1
                                     : bits <= 32            ? 2
                                     : bits == 64            ? 3
                                                             : 4];
  const auto of_type = [&](Draw& d) { return d.of(registers); };
  switch (letter) {
    case 'a':
    case 'k':
    case 'm':
      return draw.of(std::vector<std::string>{"[%d1]", "[%r2]", "[s]", "[%d1+16]"});
    case 'i':
      return draw.of(std::vector<std::string>{"0", "4", "16"});
    case 'b':
      return "END";
    case 'F':
    case 'f': {
      const std::size_t counts[] = {1, 2, 4, 8};
      const bool wide = type == ptx::Type::f64;
      return vector_of(draw.of(counts), draw,
                       [&](Draw& d) { return d.of(kRegisters[wide ? 3 : 2]); });
    }
    case 'L':
    case 'l':
    case 'E':
    case 'e':
      if (in.modifiers.vector > 1) return vector_of(in.modifiers.vector, draw, of_type);
      return of_type(draw);
    default:
      return draw.one_in(6) && letter >= 'a' && type != ptx::Type::pred ? "3" : of_type(draw);
  }
}

/// Modifiers that the programs of the tests have, by operation.
std::map<Opcode, std::vector<Modifiers>> real_modifiers() {
  std::map<Opcode, std::vector<Modifiers>> found;
  for (const auto& entry : std::filesystem::directory_iterator(TILESCOPE_TEST_DATA "/ptx")) {
    if (entry.path().extension() != ".ptx") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    for (const ptx::Function& function : ptx::parse(text.str(), "data.ptx").functions) {
      for (const ptx::Instruction& in : function.instructions) {
        found[in.opcode].push_back(in.modifiers);
      }
    }
  }
  return found;
}

Modifiers random_modifiers(Opcode opcode, Draw& draw) {
  Modifiers modifiers;
  for (const ptx::Slot& slot : ptx::slots(opcode)) {
    if (!ptx::is_required_type(slot) && draw.one_in(2)) continue;
    for (int attempt = 0; attempt < 200; ++attempt) {
      if (ptx::accept(slot, draw.of(kOperandTypes), modifiers)) break;
    }
  }
  return modifiers;
}

std::string instruction(Opcode opcode, const Modifiers& modifiers, Draw& draw) {
  std::string letters(ptx::operand_letters(opcode, modifiers));
  const std::size_t open = letters.find('['), close = letters.find(']');
  if (open != std::string::npos) {
    letters = letters.substr(0, open) +
              (draw.one_in(2) ? letters.substr(open + 1, close - open - 1) : "") +
              letters.substr(close + 1);
  }
  ptx::Instruction in;
  in.opcode = opcode;
  in.modifiers = modifiers;
  in.operands.resize(letters.size());
  std::string text = draw.one_in(8) ? "@!%p2 " : "";
  text += ptx::mnemonic(opcode, modifiers);
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const std::string operand =
        draw.one_in(8) ? any_operand(draw) : right_operand(letters[i], in, i, draw);
    text += (i == 0 ? " " : ", ") + operand;
  }
  return text + ";";
}

std::string opcode_kernel(const std::string& instruction) {
  return std::string(kHeader) +
         ".global .align 16 .b8 g[64];\n.func f() { ret; }\n"
         ".visible .entry k(.param .u64 k_0) {\n"
         ".reg .pred %p<3>; .reg .b16 %h<3>; .reg .b32 %r<3>; .reg .f32 %f<2>; .reg .b64 %d<3>;\n"
         ".reg .f64 %e<2>; .reg .b128 %q<3>; .shared .align 16 .b8 s[256]; .local .b8 l[64];\n"
         "ld.param.u64 %d1, [k_0]; mov.u32 %r2, s; mov.u32 %r1, %laneid; setp.eq.u32 %p1, %r1, "
         "3;\n" +
         instruction + "\nEND: ret; }\n";
}

class Operations : public ::testing::Test {
 protected:
  Operations() : machine_(tilescope::testing::h200()) {
    buffer_ = machine_.allocate(1 << 16, "buffer");
  }
  /// True if it ran; else what refuses it names the line.
  bool runs(const std::string& text) {
    try {
      const auto module = machine_.load(ptx::parse(text, "m.ptx"));
      machine_.launch(*module, "k", {2}, {48}, 0, pack(buffer_),
                      {.threads = 1, .max_instructions = 2000, .print = [](std::string_view) {}});
      return true;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), ::testing::ContainsRegex("m.ptx:|line [0-9]+ of the PTX"));
      return false;
    }
  }

  Machine machine_;
  std::uint64_t buffer_;
};

TEST_F(Operations, AreRefusedOrRun) {
  const auto real = real_modifiers();
  Draw draw(20241123);
  std::set<Opcode> run;
  for (std::size_t i = 1; i < static_cast<std::size_t>(Opcode::count_); ++i) {
    const auto opcode = static_cast<Opcode>(i);
    const ptx::BlockEnd end = ptx::info(opcode).end;
    if (end == ptx::BlockEnd::call || end == ptx::BlockEnd::branch_indexed) continue;  // have lists
    const auto known = real.find(opcode);
    for (int attempt = 0; attempt < kTries; ++attempt) {
      const Modifiers modifiers = known != real.end() && !draw.one_in(3)
                                      ? draw.of(known->second)
                                      : random_modifiers(opcode, draw);
      const std::string text = instruction(opcode, modifiers, draw);
      SCOPED_TRACE(text);
      if (runs(opcode_kernel(text))) run.insert(opcode);
    }
  }
  EXPECT_GE(run.size(), 115u) << "most operations have a decoder and must have run once";
}

TEST_F(Operations, WithOperandsOfEveryClassInEveryPlace) {
  Draw draw(7);
  for (const auto& [opcode, list] : real_modifiers()) {
    const ptx::BlockEnd end = ptx::info(opcode).end;
    if (end == ptx::BlockEnd::call || end == ptx::BlockEnd::branch_indexed) continue;
    for (int attempt = 0; attempt < kTries; ++attempt) {
      const Modifiers& modifiers = list[draw.below(list.size())];
      std::string text = ptx::mnemonic(opcode, modifiers);
      const std::size_t count = draw.below(5);
      for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? " " : ", ") + any_operand(draw);
      SCOPED_TRACE(text);
      runs(opcode_kernel(text + ";"));
    }
  }
}

}  // namespace
}  // namespace tilescope::emulator::test
