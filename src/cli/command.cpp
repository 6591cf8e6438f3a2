#include "cli/command.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <tilescope/error.hpp>

#include "base/output_file.hpp"

namespace tilescope::cli {

void add_json_option(CLI::App& command, std::string& target) {
  command
      .add_option("--json", target, "Write the results as JSON to FILE, or - for standard output")
      ->type_name("FILE|-");
}

void write_json(const nlohmann::json& json, const std::string& target) {
  if (target.empty()) return;
  const std::string text = json.dump(2) + '\n';
  if (target == "-") {
    print(text);
    return;
  }
  OutputFile file(target);
  file.append(text);
  file.commit();
}

void print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw Error(ErrorKind::bad_input,
                fmt::format("cannot write to standard output: {}", std::strerror(errno)));
  }
}

void note(const std::string& line) {
  fmt::print(stderr, "{}\n", line);
}

void SizeOptions::add_to(CLI::App& command, std::int64_t default_size) {
  size = default_size;
  constexpr std::int64_t most = std::int64_t{1} << 31U;
  const CLI::Range range(std::int64_t{0}, most);
  command.add_option("--size", size, "m = n = k")
      ->check(range)
      ->type_name("N")
      ->capture_default_str();
  m_given = command.add_option("-m,--rows", m, "Rows of A and C (default: --size)")
                ->check(range)
                ->type_name("M");
  n_given = command.add_option("-n,--columns", n, "Columns of B and C (default: --size)")
                ->check(range)
                ->type_name("N");
  k_given = command.add_option("-k,--inner", k, "Columns of A, rows of B (default: --size)")
                ->check(range)
                ->type_name("K");
}

MatmulShape SizeOptions::shape() const {
  const auto value = [this](const CLI::Option* option, std::int64_t given) {
    return option->count() > 0 ? given : size;
  };
  return {value(m_given, m), value(n_given, n), value(k_given, k)};
}

}  // namespace tilescope::cli
