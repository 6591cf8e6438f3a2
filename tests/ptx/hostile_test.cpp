// Texts that no one writes by accident: each must give one clear error, soon.
#include <chrono>

#include "parse_text.hpp"

namespace tilescope::ptx {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string repeated(std::string_view text, std::size_t count) {
  std::string all;
  all.reserve(text.size() * count);
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

TEST(Hostile, NotPtx) {
  EXPECT_EQ(error_of(""), "t.ptx:1: there is no .version directive, so this is not PTX");
  EXPECT_EQ(error_of(".version 9.0"), "t.ptx:1: there is no .target directive");
  EXPECT_THAT(error_of("\x7f"
                       "ELF"),
              StartsWith("t.ptx:1: expected a directive, found '\\x7f'"));
  EXPECT_THAT(error_of("int main() { return 0; }"), StartsWith("t.ptx:1: expected a directive"));
  for (const char* version : {"", "9", "x", "0.1", "9.x", "9.0.1", "99999999999.1", "0f3F800000"}) {
    EXPECT_THAT(error_of(".version " + std::string(version) + "\n.target sm_90\n"),
                HasSubstr(".version must be of the form 9.0"))
        << version;
  }
  EXPECT_EQ(error_of(with_head(".address_size 48")),
            "t.ptx:4: the .address_size must be 32 or 64, not 48");
}

TEST(Hostile, ErrorsAreCollected) {
  EXPECT_EQ(error_of(kernel("mov.b32 %x, 1;\nmov.b32 %r1, 2;\nmov.b32 %y, 3;\nbra L;")),
            "t.ptx:10: '%x' is not declared\nt.ptx:12: '%y' is not declared\n"
            "t.ptx:13: the label 'L' is not defined");
  const std::string many = error_of(kernel(repeated("mov.b32 %x, 1;\n", 1000)));
  EXPECT_EQ(std::count(many.begin(), many.end(), '\n'), 9) << "ten lines, then it gives up";
}

TEST(Hostile, OneErrorDoesNotMakeOthers) {
  EXPECT_EQ(error_of(kernel("mov.b64 {%x, %r1}, %rd1;\nret;")), "t.ptx:10: '%x' is not declared");
  EXPECT_EQ(error_of(kernel("add.s32 %r1, %r2;\nret;")),
            "t.ptx:10: 'add' takes 3 operands, this has 2");
  EXPECT_EQ(error_of(kernel("mov.b32 %x, 1\n")), "t.ptx:10: '%x' is not declared")
      << "the brace on the next line closes the function";
}

TEST(Hostile, CutAnywhere) {
  EXPECT_THAT(error_of(with_head(".entry k() {")),
              HasSubstr("expected '}' to close the function 'k', found the end of the text"));
  EXPECT_THAT(error_of(with_head(".entry k(")), HasSubstr("found the end of the text"));
  EXPECT_THAT(error_of(with_head(".global .b8 x[3] = {1, ")),
              HasSubstr("found the end of the text"));
  EXPECT_THAT(error_of(with_head(".section .debug_str {")), HasSubstr("found the end of the text"));
  EXPECT_THAT(error_of(with_head("/* never closed")), "");
  EXPECT_THAT(error_of(with_head(".file 1 \"never closed")), HasSubstr("expected the path"));
}

TEST(Hostile, Nesting) {
  EXPECT_THAT(error_of(kernel(repeated("{", 100000))),
              HasSubstr("scopes are nested more than 256 deep"));
  EXPECT_THAT(error_of(with_head(".global .b8 x[" + repeated("(", 100000))),
              HasSubstr("an expression is nested more than 64 deep"));
  EXPECT_THAT(error_of(kernel("mov.b32 %r1, " + repeated("{", 100000))),
              HasSubstr("operands are nested too deep"));
  EXPECT_THAT(error_of(with_head(".global .b8 x[1][1] = " + repeated("{", 100000))),
              HasSubstr("more braces than dimensions"));
  EXPECT_THAT(error_of(with_head(".global .b8 x" + repeated("[1]", 100000) + ";")),
              HasSubstr("more than 8 dimensions"));
}

TEST(Hostile, Sizes) {
  EXPECT_THAT(error_of(kernel("mov.b32 {" + repeated("%r1,", 100000) + "%r1}, %r1;")),
              HasSubstr("a vector has more than 256 elements"));
  EXPECT_THAT(error_of(kernel("add.s32 %r1" + repeated(",%r1", 100000) + ";")),
              HasSubstr("'add' has too many operands"));
  EXPECT_THAT(
      error_of(with_head(".entry k(.param .b32 p" + repeated(", .param .b32 p", 70000) + ");")),
      HasSubstr("too many parameters"));
  EXPECT_EQ(error_of(kernel(".local .b8 x[1<<41];")),
            "t.ptx:10: the size of an array must be from 0 to 1099511627776, not 2199023255552");
}

TEST(Hostile, MessagesArePrintable) {
  const std::string error = error_of(with_head("\x01\x02" + repeated("x", 100000)));
  EXPECT_LT(error.size(), 400u);
  EXPECT_EQ(error.find('\x01'), std::string::npos);
}

TEST(Hostile, TenMegabytesInTwoSeconds) {
  const std::string text = kernel(
      repeated("add.s32 %r1, %r2, %r3;\n@%p1 ld.global.f32 %f1, [%rd2+4];\n", 10'000'000 / 56));
  const auto begin = std::chrono::steady_clock::now();
  const Module module = parse(text, "t.ptx");
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  EXPECT_GT(module.functions[0].instructions.size(), 350'000u);
#if !defined(__SANITIZE_ADDRESS__)
  EXPECT_LT(seconds.count(), 2.0);
#endif
}

TEST(Hostile, NoTextIsSlow) {
  const std::size_t mega = 1'000'000;
  const std::string texts[] = {
      kernel(repeated("ret;", mega / 4)),
      kernel(repeated("{}", mega / 2)),
      kernel(repeated("{.reg .b32 x; mov.b32 x, x;}", mega / 28)),
      kernel("add" + repeated(".s32", mega / 4) + " %r1, %r2, %r3;"),
      kernel("L: t: .branchtargets L" + repeated(",L", mega / 2) + "; brx.idx %r1, t;"),
      kernel(repeated(".loc 1 1 1, function_name x, inlined_at 1 1 1\nret;", mega / 50)),
      kernel(repeated("x y;", mega / 4)),
      with_head(".global .b64 x[] = {1" + repeated(",1", mega / 2) + "};"),
      with_head(".global .b32 x = 1" + repeated("+1", mega / 2) + ";"),
      with_head(repeated("\x01;{}}@", mega / 6)),
      with_head(repeated("/*", mega / 2)),
  };
  for (const std::string& text : texts) {
    const auto begin = std::chrono::steady_clock::now();
    error_of(text);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5))
        << text.substr(0, 300);
  }
}

}  // namespace
}  // namespace tilescope::ptx
