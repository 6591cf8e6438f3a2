#include "emulator/tile_of_sums.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string_view>
#include <vector>

#include "emulator/random_kernel.hpp"

namespace tilescope::emulator::test {
namespace {

constexpr std::uint64_t kKinds = 9;  // of other operations: TileOfSums::disturb

class TileOfSums {
 public:
  explicit TileOfSums(std::uint64_t seed) : random_(seed), sums_(rows_ * columns_) {}
  std::string text();

 private:
  std::uint64_t draw(std::uint64_t below) { return random_() % below; }
  /// The first place of the line is the type's.
  template <class... Values>
  void add(std::string_view line, const Values&... values) {
    body_ += "  " + fmt::format(fmt::runtime(line), type_, values...) + "\n";
  }
  std::uint64_t any_sum() { return sums_[draw(sums_.size())]; }
  std::uint64_t first_factor(std::uint64_t step) const {
    return same_factors_ ? 0 : step * factors_;
  }
  void load(std::uint64_t step);
  void multiply_all(std::uint64_t step);
  void multiply(std::uint64_t sum, std::uint64_t first);
  std::uint64_t next_kind();
  void disturb(std::uint64_t kind, std::uint64_t sum, std::uint64_t first);

  std::mt19937_64 random_;
  // One other operation among all products of a large tile, whose loads come first: the rule about
  // it must hold by itself, since nothing else ends the stretch of products around it.
  const bool single_ = draw(2) == 0;
  const bool wide_ = !single_ && draw(4) == 0;
  const std::string type_ = wide_ ? "f64" : "f32";
  const std::uint64_t bytes_ = wide_ ? 8 : 4;
  const std::uint64_t least_ = single_ ? 4 : 2;
  const std::uint64_t rows_ = least_ + draw(6 - least_), columns_ = least_ + draw(6 - least_);
  const std::uint64_t factors_ = rows_ + columns_;
  const std::uint64_t steps_ = single_ ? 2 + draw(3) : 1 + draw(4);
  const bool loads_first_ = single_ || draw(2) == 0;
  const std::uint64_t kind_ = draw(kKinds), most_products_ = rows_ * columns_ * steps_;
  // Behind any product, or behind one of the last, when earlier ones have used up their factors.
  const std::uint64_t place_ = draw(2) == 0 ? draw(most_products_) : most_products_ - 1 - draw(6);
  const std::uint64_t spread_ = bytes_ << draw(3);      // bytes from lane to lane
  const std::uint64_t calm_ = draw(2) == 0 ? 40 : 300;  // few other operations
  const bool in_place_ = draw(2) == 0, same_factors_ = draw(3) == 0;
  std::vector<std::uint64_t> sums_;  // their registers
  std::uint64_t registers_ = 0;
  std::uint64_t products_ = 0;  // so far
  std::string body_;
};

void TileOfSums::load(std::uint64_t step) {
  for (std::uint64_t i = 0; i < factors_; ++i) {
    add("ld.global.{} %f{}, [%at+{}];", first_factor(step) + i, (step * factors_ + i) * bytes_);
  }
}

void TileOfSums::multiply_all(std::uint64_t step) {
  const std::uint64_t first = first_factor(step);
  std::vector<std::uint64_t> order(sums_.size());
  std::iota(order.begin(), order.end(), 0);
  if (draw(2) == 0) std::shuffle(order.begin(), order.end(), random_);
  for (const std::uint64_t sum : order) {
    multiply(sum, first);
    disturb(next_kind(), sum, first);
  }
}

/// The kind of operation behind a product; kKinds or more: there is none.
std::uint64_t TileOfSums::next_kind() {
  if (!single_) return draw(calm_);
  return products_++ == place_ ? kind_ : kKinds;
}

void TileOfSums::multiply(std::uint64_t sum, std::uint64_t first) {
  const std::uint64_t to = in_place_ ? sums_[sum] : registers_++;
  add("fma.rn.{} %s{}, %f{}, %f{}, %s{};", to, first + sum / columns_,
      first + rows_ + sum % columns_, sums_[sum]);
  sums_[sum] = to;
}

/// Another operation.
void TileOfSums::disturb(std::uint64_t kind, std::uint64_t sum, std::uint64_t first) {
  const std::uint64_t other = any_sum(), factor = first + draw(factors_);
  switch (kind) {
    case 0:
      add("add.{} %s{}, %s{}, %s{};", sums_[sum], other, sums_[sum]);
      break;
    case 1:
      add("neg.{} %f{}, %s{};", factor, other);
      break;
    case 2:
      add("fma.rn.{} %s{}, %s{}, %f{}, %s{};", registers_, other, first, other);
      sums_[draw(sums_.size())] = registers_++;
      break;
    case 3:
      add("st.global.{} [%result+{}], %s{};", kRandomResultBytes - bytes_, other);
      break;
    case 4:
      add("fma.rn.{} %s{}, %f{}, %f{}, %s{};", registers_, first, first, other);
      sums_[draw(sums_.size())] = registers_++;
      break;
    case 5:
      add("fma.rn.{} %s{}, %s{}, %f{}, %s{};", registers_, other, first, sums_[sum]);
      sums_[sum] = registers_++;
      break;
    case 6:
      add("neg.{} %s{}, %s{};", registers_, other);
      sums_[draw(sums_.size())] = registers_++;
      break;
    case 7:  // all factors, behind where the sums will be
      for (std::uint64_t i = 0; i < factors_; ++i) {
        add("st.global.{} [%result+{}], %f{};", kRandomResultBytes - (i + 1) * bytes_, first + i);
      }
      break;
    case 8: {  // into any register, also one that another sum has
      const std::uint64_t to = draw(registers_);
      add("fma.rn.{} %s{}, %f{}, %f{}, %s{};", to, factor, first, sums_[sum]);
      sums_[sum] = to;
      break;
    }
    default:
      break;
  }
}

std::string TileOfSums::text() {
  for (std::uint64_t& sum : sums_) {
    sum = registers_++;
    add("mov.{} %s{}, 0{}{:0{}x};", sum, wide_ ? 'd' : 'f', draw(99) << 20, bytes_ * 2);
  }
  for (std::uint64_t step = 0; loads_first_ && step < steps_; ++step) load(step);
  for (std::uint64_t step = 0; step < steps_; ++step) {
    if (!loads_first_) load(step);
    multiply_all(step);
  }
  const std::size_t kept = std::min<std::size_t>(sums_.size(), kRandomResultBytes / bytes_);
  for (std::size_t i = 0; i < kept; ++i) {
    add("st.global.{} [%result+{}], %s{};", i * bytes_, sums_[i]);
  }
  return fmt::format(R"(
.visible .entry k(.param .u64 data, .param .u64 results) {{
  .reg .u32 %thread, %block, %size; .reg .u64 %at, %base, %result; .reg .{0} %s<{1}>, %f<{2}>;
  ld.param.u64 %base, [data];
  mov.u32 %thread, %tid.x;
  mul.wide.u32 %at, %thread, {3};
  add.u64 %at, %at, %base;
  ld.param.u64 %base, [results];
  mov.u32 %block, %ctaid.x;
  mov.u32 %size, %ntid.x;
  mad.lo.u32 %thread, %block, %size, %thread;
  mul.wide.u32 %result, %thread, {4};
  add.u64 %result, %result, %base;
{5}  ret;
}})",
                     type_, registers_, steps_ * factors_, spread_, kRandomResultBytes, body_);
}

}  // namespace

std::string tile_of_sums(std::uint64_t seed) {
  return TileOfSums(seed).text();
}

}  // namespace tilescope::emulator::test
