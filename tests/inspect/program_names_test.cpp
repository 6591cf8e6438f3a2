// The names that a program's source gives to allocations, and its main().
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <tilescope/program.hpp>

#include "inspect/program/object_names.hpp"
#include "inspect/program/program_sources.hpp"

namespace tilescope::inspect {
namespace {

TEST(ObjectInCall, IsTheVariableWhoseAddressIsPassed) {
  const auto name = [](std::string_view code) { return object_in_call(code, "cudaMalloc").name; };
  EXPECT_EQ(name("cudaMalloc(&d_x, bytes);"), "d_x");
  EXPECT_EQ(name("  CHECK(cudaMalloc((void**)&d_x, n * sizeof(float)));"), "d_x");
  EXPECT_EQ(name("cudaMalloc((void **) &(s->data), n);"), "s->data");
  EXPECT_EQ(name("cudaMalloc(reinterpret_cast<void**>(&list.head[i]), n);"), "list.head[i]");
  EXPECT_EQ(name("err = cudaMalloc<float>(&y, n);"), "y");
  EXPECT_EQ(name("cudaMalloc(\n  &x,\n  n);"), "x");
}

TEST(ObjectInCall, IsTheArgumentOfARegistration) {
  EXPECT_EQ(object_in_call("cudaHostRegister(h, n, 0);", "cudaHostRegister").name, "h");
}

TEST(ObjectInCall, IsNothingWithoutAnAddress) {
  EXPECT_EQ(object_in_call("cudaMalloc(pointer, n);", "cudaMalloc").name, "");
  EXPECT_EQ(object_in_call("cudaMallocManaged(&x, n);", "cudaMalloc").name, "");
  EXPECT_EQ(object_in_call("cudaMalloc(", "cudaMalloc").name, "");
  EXPECT_EQ(object_in_call("", "cudaMalloc").name, "");
}

TEST(ObjectInCall, IsOneOfSeveralInALine) {
  const std::string_view code =
      "CK(cudaMalloc(&x, 4 * n)); CK(cudaMalloc(&y, n));\ncudaMalloc(&z);";
  EXPECT_EQ(calls_in_line(code, "cudaMalloc"), 2U);
  EXPECT_EQ(object_in_call(code, "cudaMalloc", 1).name, "y");
  EXPECT_EQ(object_in_call(code, "cudaMalloc", 3).name, "");
}

TEST(ObjectInCall, ElementsAreOfTheOnlySizeof) {
  const auto bytes = [](std::string_view code) {
    return object_in_call(code, "cudaMalloc").element_bytes;
  };
  EXPECT_EQ(bytes("cudaMalloc(&x, n * sizeof(double));"), 8U);
  EXPECT_EQ(bytes("cudaMalloc(&x, n * sizeof(unsigned int));"), 4U);
  EXPECT_EQ(bytes("cudaMalloc(&x, n);"), 0U);
  EXPECT_EQ(bytes("cudaMalloc(&x, n * sizeof(float*));"), 0U);
  EXPECT_EQ(bytes("cudaMalloc(&x, sizeof(float) + sizeof(double));"), 0U);
  EXPECT_EQ(bytes("cudaMalloc(&x, n); cudaMalloc(&y, sizeof(int));"), 0U);
}

bool has_main_in(const std::string& text) {
  const std::string path = ::testing::TempDir() + "tilescope-has-main.cu";
  std::ofstream(path) << text;
  const bool found = has_main(path);
  std::filesystem::remove(path);
  return found;
}

TEST(HasMain, FindsAFunctionAtFileScope) {
  EXPECT_TRUE(has_main_in("int main() {}"));
  EXPECT_TRUE(has_main_in("__global__ void k() { if (1) { } }\nint\nmain (int c, char** v)\n{}"));
  EXPECT_FALSE(has_main_in("__global__ void k() {}"));
  EXPECT_FALSE(has_main_in("// int main()\n/* main() */ const char* s = \"main()\";"));
  EXPECT_FALSE(has_main_in("struct S { void main(); };"));
  EXPECT_FALSE(has_main_in("#define RUN int main()\n"));
  EXPECT_FALSE(has_main_in("int main_loop(); void f() { main(); }"));
  // Both alternatives open a brace, or close one.
  EXPECT_TRUE(
      has_main_in("void f() {\n#if A\n  for (;;) {\n#elif B\n  if (1) {\n#else\n  while (1) "
                  "{\n#endif\n}}\nint main() {}"));
  EXPECT_TRUE(
      has_main_in("void f() { while (1) {\n#ifdef A\n #if B\n  g(); }\n #else\n }\n #endif\n"
                  "# else\n #if C\n }\n #endif\n}\n#endif\n}\nint main() {}"));
  EXPECT_TRUE(has_main_in("#if A\nvoid f() {}\n#else\nint main() {}\n#endif"));
  EXPECT_FALSE(has_main_in("void f() {\n#if A\n {\n#else\n {\n"));
  EXPECT_FALSE(has_main_in("#endif\n#else\nvoid f() {\n#if A\n {\n#endif\nmain() }"));
}

bool is_program_with(const std::string& text, const std::vector<std::string>& more = {}) {
  const std::string path = ::testing::TempDir() + "tilescope-is-program.cu";
  std::ofstream(path) << text;
  const bool found = is_program(path, more);
  std::filesystem::remove(path);
  return found;
}

TEST(ProgramSources, AMainThatLaunchesNothingMakesNoProgramOfKernels) {
  const std::string kernel = "__global__ void k(int* x) { *x = 1; }\n", idle = "int main() {}\n";
  EXPECT_FALSE(is_program_with(kernel + idle));
  EXPECT_FALSE(is_program_with("#include <cstdio>\n" + kernel + idle));
  EXPECT_TRUE(is_program_with(idle));
  EXPECT_TRUE(is_program_with(kernel + "int main() { k<<<1, 1>>>(nullptr); }"));
  EXPECT_TRUE(is_program_with(kernel + "int main() { cudaLaunchKernel(f, 1, 1, a, 0, 0); }"));
  EXPECT_TRUE(is_program_with(kernel + "int main() { cudaMalloc(&p, 4); }"));
  EXPECT_FALSE(is_program_with("#include \"launches.h\"\n" + kernel + idle));
  EXPECT_TRUE(is_program_with("#include \"launches.h\"\n" + kernel + "int main() { run(); }"));
  EXPECT_TRUE(is_program_with(kernel + idle, {"more.cu"}));
  EXPECT_TRUE(is_program_with(kernel + idle, {"-rdc=true"}));
}

TEST(ProgramSources, AnIncludedFileMayHaveTheMain) {
  const std::filesystem::path folder = ::testing::TempDir() + "tilescope-included-main";
  std::filesystem::create_directories(folder / "common");
  const std::string source = folder / "kernel.cu";
  std::ofstream(folder / "common" / "launch.h") << "int main() { k<<<1, 1>>>(nullptr); }\n";
  std::ofstream(folder / "common" / "all.h") << "#include \"launch.h\"\n";
  std::ofstream(source) << "#include \"all.h\"\n__global__ void k(int*) {}\n";
  EXPECT_FALSE(is_program(source, {}));
  EXPECT_TRUE(is_program(source, {}, {folder / "common"}));
  std::ofstream(source) << "#include \"common/all.h\"\n__global__ void k(int*) {}\n";
  EXPECT_TRUE(is_program(source, {}));
  std::filesystem::remove_all(folder);
}

TEST(ProgramSources, AreKnownByTheirEndings) {
  EXPECT_TRUE(is_program_source("a.cu"));
  EXPECT_TRUE(is_program_source("b/c.cpp"));
  EXPECT_FALSE(is_program_source("a.py"));
  EXPECT_FALSE(is_program_source("a.out"));
}

}  // namespace
}  // namespace tilescope::inspect
