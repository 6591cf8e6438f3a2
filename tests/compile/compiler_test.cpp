#include "compile/compiler.hpp"

#include <stdlib.h>

#include <algorithm>

#include "base/cuda_paths.hpp"
#include "compile/embedded_kernels.hpp"
#include "compile/file_names.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope::compile {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using testing::TemporaryFolder;

class Compiler : public ::testing::Test {
 protected:
  Compiler() { ::setenv("TILESCOPE_CACHE", (folder_ / "cache").c_str(), 1); }

  static Compilation of(std::string source, std::string kernel = "k") {
    return {.source_name = "example.cu",
            .source = std::move(source),
            .kernel = std::move(kernel),
            .architecture = "sm_90a"};
  }

  TemporaryFolder folder_;
};

TEST_F(Compiler, MakesPtxWithLinesAndMachineCode) {
  const Program program =
      compile::compile(of("extern \"C\" __global__ void k(float* x) {\n  x[threadIdx.x] = 1;\n}"));
  EXPECT_THAT(program.ptx, HasSubstr(".visible .entry k("));
  EXPECT_THAT(program.ptx, HasSubstr("example.cu"));
  EXPECT_THAT(program.ptx, HasSubstr(".loc\t1 2 "));
  EXPECT_THAT(program.cubin, StartsWith("\x7f"
                                        "ELF"));
  EXPECT_EQ(program.kernel_name, "k");
  EXPECT_THAT(program.log, IsEmpty());
}

TEST_F(Compiler, AnInstantiationIsKnownByItsMangledName) {
  const Program program =
      compile::compile(of("template <int n> __global__ void fill(int* x) { *x = n; }", "fill<16>"));
  EXPECT_EQ(program.kernel_name, "_Z4fillILi16EEvPi");
  EXPECT_THAT(program.ptx, HasSubstr(".entry _Z4fillILi16EEvPi("));
}

TEST_F(Compiler, FindsTheHeadersOfCuda) {
  const Program program = compile::compile(of(R"(
#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <cuda/std/atomic>
extern "C" __global__ void k(__half* x, cuda::std::atomic<int>* counter) {
  cooperative_groups::this_thread_block().sync();
  x[threadIdx.x] = __hadd(x[threadIdx.x], __float2half(1.0f));
  counter->fetch_add(1);
})"));
  EXPECT_THAT(program.ptx, HasSubstr(".entry k("));
  EXPECT_THAT(program.log, IsEmpty());
}

// NVRTC must come with the built-ins of its own folder: with none at all nothing would compile, and
// with those of another toolkit that the loader happens to know, it would on some machines only.
TEST_F(Compiler, UsesTheBuiltinsBesideIt) {
  compile::compile(of("extern \"C\" __global__ void k() {}"));
  const std::string description = compiler_description();  // "13.0 (/path/libnvrtc.so.13)"
  const std::filesystem::path library =
      description.substr(description.find('(') + 1, description.size() - description.find('(') - 2);
  if (!library.has_parent_path()) GTEST_SKIP() << "NVRTC was found by the loader: " << library;
  const std::string folder = std::filesystem::canonical(library).parent_path();
  EXPECT_THAT(testing::read_file("/proc/self/maps"), HasSubstr(folder + "/libnvrtc-builtins.so."));
}

TEST_F(Compiler, ADefineIsAConstant) {
  Compilation with = of("extern \"C\" __global__ void k(int* x) { *x = TILE; }");
  with.defines = {{"TILE", "4242"}, {"FLAG", ""}};
  EXPECT_THAT(compile::compile(with).ptx, HasSubstr("4242"));
}

TEST_F(Compiler, CodeThatDoesNotCompileIsExplainedByNvrtc) {
  try {
    compile::compile(of("extern \"C\" __global__ void k() {\n  undeclared = 1;\n}"));
    FAIL() << "no error was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    EXPECT_THAT(error.what(),
                StartsWith("example.cu(2): error: identifier \"undeclared\" is undefined"));
  }
}

TEST_F(Compiler, AByteThatEndsTheSourceIsNamed) {
  try {
    compile::compile(of("// one\n// caf\xff\nextern \"C\" __global__ void k() {}"));
    FAIL() << "compiled";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    EXPECT_THAT(error.what(), StartsWith("example.cu:2: the compiler ends at a byte 0xFF"));
  }
  // Other bytes beyond UTF-8 do no harm in a comment.
  EXPECT_EQ(compile::compile(of("// caf\xe9\nextern \"C\" __global__ void k() {}")).kernel_name,
            "k");
}

TEST_F(Compiler, AnUnknownOptionIsAUsageError) {
  Compilation with = of("extern \"C\" __global__ void k() {}");
  with.extra_options = {"--no-such-option"};
  EXPECT_THAT(testing::error_of(ErrorKind::usage, [&] { compile::compile(with); }),
              HasSubstr("--no-such-option"));
}

TEST_F(Compiler, TheSecondTimeComesFromTheCache) {
  const Compilation same = of("extern \"C\" __global__ void k() {}");
  const Program first = compile::compile(same), second = compile::compile(same);
  EXPECT_FALSE(first.from_cache);
  EXPECT_TRUE(second.from_cache);
  EXPECT_EQ(first.ptx, second.ptx);
  EXPECT_EQ(first.cubin, second.cubin);
}

TEST_F(Compiler, WhateverDecidesTheResultIsInTheKey) {
  testing::write_file(folder_ / "own.cuh", "constexpr int value = 1;");
  Compilation base =
      of("#include \"own.cuh\"\n#include \"given.cuh\"\n"
         "extern \"C\" __global__ void k(int* x) { *x = value + given; }");
  base.include_directories = {folder_.path()};
  base.headers = {{"given.cuh", "constexpr int given = 10;"}};
  compile::compile(base);
  EXPECT_TRUE(compile::compile(base).from_cache);

  Compilation other = base;
  other.architecture = "sm_80";
  EXPECT_FALSE(compile::compile(other).from_cache) << "architecture";
  other = base;
  other.defines = {{"A", "1"}};
  EXPECT_FALSE(compile::compile(other).from_cache) << "defines";
  other = base;
  other.source += "// more";
  EXPECT_FALSE(compile::compile(other).from_cache) << "source";
  other = base;
  other.headers[0].second = "constexpr int given = 20;";
  EXPECT_FALSE(compile::compile(other).from_cache) << "a header given as text";
  other = base;
  other.source_name = "renamed.cu";
  EXPECT_FALSE(compile::compile(other).from_cache) << "the name in the line table";
  testing::write_file(folder_ / "own.cuh", "constexpr int value = 2;");
  EXPECT_FALSE(compile::compile(base).from_cache) << "a header on disk";
}

TEST_F(Compiler, IncludeFoldersOfCudaExist) {
  const std::vector<std::string> folders = cuda_include_directories();
  ASSERT_FALSE(folders.empty());
  for (const std::string& folder : folders) EXPECT_TRUE(std::filesystem::is_directory(folder));
}

TEST_F(Compiler, NamesFilesFreeOfTheFolderThatCompiled) {
  Compilation c =
      of("#include \"twice.cuh\"\nextern \"C\" __global__ void k(int* p)"
         "{ *p = twice(*p); }\n");
  c.headers.emplace_back("twice.cuh", "__device__ inline int twice(int x) { return 2 * x; }\n");
  const std::string ptx = compile(c).ptx;
  EXPECT_THAT(ptx, HasSubstr("\"example.cu\""));
  EXPECT_THAT(ptx, HasSubstr("\"twice.cuh\""));
}

TEST_F(Compiler, FreesNamesBeyondAsciiOfTheFolderToo) {
  Compilation compilation = of("");
  compilation.source_name = "\xc3\xbc.cu";
  EXPECT_EQ(with_stable_file_names("\t.file\t1 \"/caf\\303\\251/\\303\\274.cu\"\n", compilation,
                                   "/caf\xc3\xa9"),
            "\t.file\t1 \"\\303\\274.cu\"\n");
}

TEST_F(Compiler, NamesEmbeddedHeadersBySourceTree) {
  const auto files = embedded_kernels();
  const auto header = std::find_if(files.begin(), files.end(), [](const EmbeddedKernel& file) {
    return file.name == "matmul/float4.cuh";
  });
  ASSERT_NE(header, files.end());
  Compilation c = of("");
  c.headers.emplace_back("float4.cuh", header->text);
  EXPECT_EQ(
      with_stable_file_names(".file 1 \"/somewhere/float4.cuh\"\n.loc 1 2 3\n", c, "/somewhere"),
      ".file 1 \"kernels/matmul/float4.cuh\"\n.loc 1 2 3\n");
  // Text that only looks like a .file directive stays.
  EXPECT_EQ(with_stable_file_names("\t.file\t2 \"/elsewhere/a.h\"\n", c, "/some"),
            "\t.file\t2 \"/elsewhere/a.h\"\n");
}

}  // namespace
}  // namespace tilescope::compile
