// The fuzzer's corpus and the PTX of the tests, and 2,000 mutations of them, through parser,
// decoder and a short run: each is either refused with Error, or runs to an end. What libFuzzer
// looks for with coverage (tests/fuzz), this looks for on every machine.
#include <algorithm>
#include <filesystem>
#include <random>
#include <tilescope/error.hpp>

#include "emulator/harness.hpp"

namespace tilescope::emulator::test {
namespace {

constexpr std::size_t kMutations = 2000;

std::vector<std::string> corpus() {
  std::vector<std::filesystem::path> paths;
  for (const char* folder :
       {TILESCOPE_SOURCE_DIR "/tests/fuzz/ptx_corpus", TILESCOPE_SOURCE_DIR "/tests/data/ptx"}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() == ".ptx") paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    texts.push_back(text.str());
  }
  return texts;
}

/// Lets the module's texture and surface references mean small images, so that kernels sample them.
void bind_references(Machine& machine, const LoadedModule& module) {
  TextureTable& textures = machine.textures();
  const TexelFormat format{.channels = 1, .bits = 32, .kind = TexelKind::floating};
  for (const ptx::Variable& variable : module.module().variables) {
    const bool surface = variable.type == ptx::Type::surfref;
    if ((variable.type != ptx::Type::texref && !surface) || variable.size != 8) continue;
    const std::size_t depth = variable.name == "volume" ? 4 : 0;
    const std::uint64_t array = textures.create_array(
        {.format = format, .width = 8, .height = 4, .depth = depth, .writable = surface}, "image");
    const std::uint64_t object =
        surface ? textures.create_surface(array, 0)
                : textures.create_texture(
                      {.array = array, .sampler = {.filter = Filter::linear, .normalized = true}});
    machine.copy_to_device(machine.variable(module, variable.name).address, &object, 8);
  }
}

/// Every kernel of the text, on a few threads, for a few instructions.
void run_all(const std::string& text) {
  DeviceProperties small = tilescope::testing::h200();
  small.global_bytes = std::size_t{64} << 20;
  Machine machine(small);
  const std::shared_ptr<LoadedModule> module = machine.load(ptx::parse(text, "m.ptx"));
  bind_references(machine, *module);
  for (const std::string& kernel : module->kernels()) {
    try {
      const std::shared_ptr<const Program> program = module->program(kernel);
      if (program->parameter_bytes() > 4096) continue;
      // Pointers into a buffer, so that loads and stores find something.
      const std::uint64_t buffer = machine.allocate(1 << 16, "buffer");
      std::vector<std::uint64_t> arguments(program->parameter_bytes() / 8 + 1, buffer);
      std::vector<std::uint8_t> bytes(arguments.size() * 8);
      std::memcpy(bytes.data(), arguments.data(), bytes.size());
      const LaunchOptions options{
          .threads = 1, .max_instructions = 2000, .print = [](std::string_view) {}};
      const LaunchSummary summary = machine.launch(*module, kernel, {2}, {48}, 256, bytes, options);
      EXPECT_LE(summary.blocks_run, 2u);
    } catch (const Error&) {
    }
  }
}

void attempt(const std::string& text) {
  try {
    run_all(text);
  } catch (const Error&) {
  }
}

/// Texts between two commas of an instruction: registers of every class, constants,
/// vectors, pairs, addresses, labels and names that a text may have.
constexpr const char* kOperands[] = {
    "%p1",    "%rs1",     "%r1",        "%rd1",  "%f1",       "%fd1",
    "!%p1",   "-%r1",     "%r1.b0",     "0",     "-1",        "0f3F800000",
    "%tid.x", "%clock64", "{%r1, %r2}", "{%p1}", "%r1|%p1",   "%p1|%p2",
    "[%rd1]", "[%r1+4]",  "[%p1]",      "_",     "$L__BB0_1", "[%rd1, {%r1}]"};

/// Replaces one operand of an instruction near `at`.
void replace_operand(std::string& text, std::size_t at, const char* operand) {
  const std::size_t begin = text.find_first_of(" ,", at);
  const std::size_t end = text.find_first_of(",;", begin == std::string::npos ? begin : begin + 1);
  if (end != std::string::npos) text.replace(begin + 1, end - begin - 1, operand);
}

/// Bytes changed, pieces cut, copied or taken from another text; numbers made extreme.
std::string mutated(const std::vector<std::string>& texts, std::mt19937& generator) {
  const auto below = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n == 0 ? 0 : n - 1)(generator);
  };
  std::string text = texts[below(texts.size())];
  for (std::size_t round = below(3) + 1; round > 0 && !text.empty(); --round) {
    const std::size_t at = below(text.size()),
                      length = below(std::min<std::size_t>(80, text.size()));
    switch (below(9)) {
      case 0:
        text[at] = static_cast<char>(below(256));
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(below(text.size()), length));
        break;
      case 3: {
        const std::string& other = texts[below(texts.size())];
        if (!other.empty()) text.insert(at, other.substr(below(other.size()), length));
        break;
      }
      case 4: {  // a whole line elsewhere
        const std::size_t begin = text.find('\n', at);
        const std::size_t end = begin == std::string::npos ? begin : text.find('\n', begin + 1);
        if (end == std::string::npos) break;
        const std::string line = text.substr(begin, end - begin);
        const std::size_t to = text.find('\n', below(text.size()));
        text.insert(to == std::string::npos ? 0 : to, line);
        break;
      }
      case 5: {  // a number
        const std::size_t digit = text.find_first_of("0123456789", at);
        if (digit == std::string::npos) break;
        static constexpr const char* kNumbers[] = {
            "0", "1", "32", "-1", "4294967295", "2147483648", "18446744073709551615", "65536"};
        std::size_t last = text.find_first_not_of("0123456789", digit);
        if (last == std::string::npos) last = text.size();
        text.replace(digit, last - digit, kNumbers[below(std::size(kNumbers))]);
        break;
      }
      case 6:
      case 7:
        replace_operand(text, at, kOperands[below(std::size(kOperands))]);
        break;
      default: {  // two words change places
        const std::size_t other = below(text.size());
        const std::size_t size = std::min({length, text.size() - std::max(at, other)});
        for (std::size_t i = 0; i < size; ++i) std::swap(text[at + i], text[other + i]);
      }
    }
  }
  return text;
}

TEST(Mutations, TheCorpusItself) {
  const std::vector<std::string> texts = corpus();
  ASSERT_GE(texts.size(), 10u);
  for (const std::string& text : texts) attempt(text);
}

TEST(Mutations, AreRefusedOrRun) {
  const std::vector<std::string> texts = corpus();
  std::mt19937 generator(20240607);
  for (std::size_t i = 0; i < kMutations; ++i) {
    SCOPED_TRACE(i);
    attempt(mutated(texts, generator));
  }
}

}  // namespace
}  // namespace tilescope::emulator::test
