// Writes random_kernel.hpp's kernels, statement by statement.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <string_view>
#include <utility>

namespace tilescope::emulator::test {

inline constexpr std::uint32_t kTileBytes = 2560;
inline constexpr int kWords = 12, kLongs = 6, kSingles = 6, kDoubles = 3, kPredicates = 4;

class KernelGenerator {
 public:
  explicit KernelGenerator(std::uint64_t seed) : random_(seed) {}

  std::string kernel();

 private:
  unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
  bool chance(unsigned percent) { return below(100) < percent; }
  std::string_view pick(std::initializer_list<std::string_view> list) {
    return list.begin()[below(static_cast<unsigned>(list.size()))];
  }
  std::string word() { return fmt::format("%r{}", below(kWords)); }
  std::string longer() { return fmt::format("%rd{}", below(kLongs)); }
  std::string single() { return fmt::format("%f{}", below(kSingles)); }
  std::string twice() { return fmt::format("%fd{}", below(kDoubles)); }
  std::string predicate() { return fmt::format("%p{}", below(kPredicates)); }
  std::string word_or_constant();
  template <class... T>
  void line(fmt::format_string<T...> format, T&&... values) {
    text_ += "  " + guard_ + fmt::format(format, std::forward<T>(values)...) + ";\n";
  }

  void start();
  void finish();
  void statements(int depth, int count, bool together);
  void statement(int depth, bool together);
  void word_operation();
  void short_conversions(const std::string& d, const std::string& a);
  void long_operation();
  void real_operation();
  void predicate_operation();
  void access();
  void vector_access();
  void row();
  void copy();
  void warp_operation();
  void rare(bool together);
  void shared_sum();
  void branch(int depth);
  void simple_branch(int depth = 0);
  void simple_statement();
  std::string guard_of_branch();
  void stores_of_results();
  void one_place();
  void edge();
  void loop(int depth, bool together);
  void barriers();

  std::mt19937_64 random_;
  std::string text_, guard_;
  int labels_ = 0;
};

}  // namespace tilescope::emulator::test
