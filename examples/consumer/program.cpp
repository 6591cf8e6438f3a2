// Checks a whole program, with no GPU: `program vector_add.cu 1000` runs its main() and watches
// every launch.

#include <cstdio>
#include <string>
#include <tilescope/check.hpp>
#include <tilescope/program.hpp>
#include <vector>

int main(int argc, char** argv) {
  using namespace tilescope;
  if (argc < 2) return std::fprintf(stderr, "usage: program FILE.cu [ARGUMENT ...]\n"), 2;
  try {
    const CheckResult result =
        check(Program{.files = {argv[1]}, .arguments = {argv + 2, argv + argc}});
    for (const Finding& finding : result.findings) {
      std::printf("%s:%u: %s\n", finding.first.place.file.c_str(), finding.first.place.line,
                  message(finding).c_str());
    }
    std::printf("%zu launches\n", result.program->launches.size());
    return result.clean() ? 0 : 1;
  } catch (const Error& error) {
    std::fprintf(stderr, "program: %s\n", error.what());
    return error.exit_code();
  }
}
