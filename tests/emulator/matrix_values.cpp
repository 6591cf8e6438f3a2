#include "emulator/matrix_values.hpp"

#include <algorithm>

namespace tilescope::testing {
namespace {

struct Format {
  std::string_view type;
  unsigned bits, exponent_bits, fraction_bits;
  bool has_infinity = true;
};

constexpr Format kFormats[] = {{"f16", 16, 5, 10}, {"bf16", 16, 8, 7},  {"tf32", 32, 8, 23},
                               {"f32", 32, 8, 23}, {"f64", 64, 11, 52}, {"e4m3", 8, 4, 3, false},
                               {"e5m2", 8, 5, 2}};

class Values {
 public:
  Values(const Format& format, MatrixRole role, MatrixRegime regime, MatrixRandom& random)
      : f_(format), role_(role), regime_(regime), random_(random) {
    for (std::uint64_t& magnitude : pool_) magnitude = number(false, near(-1, 1));
  }

  std::uint64_t next() {
    const bool negative = random_.below(2) != 0;
    const bool c = role_ == MatrixRole::c;
    switch (regime_) {
      case MatrixRegime::spread:
        return c ? number(negative, near(-20, 20)) : number(negative, near(-12, 12));
      case MatrixRegime::wide:
        return number(negative, random_.between(0, top()));
      case MatrixRegime::cancel:
        return c ? number(negative, near(-12, 0)) : pool_[random_.below(2)] | sign(negative);
      case MatrixRegime::powers:
        if (c) return number(negative, near(-14, 14));
        return few_bits(number(negative, near(-13, 13)));
      case MatrixRegime::negative:
        if (c) return number(negative, near(-8, 8));
        return number(role_ == MatrixRole::a, near(-6, 6));
      case MatrixRegime::addend:
        return c ? number(negative, near(8, 30)) : number(negative, near(-6, 0));
      case MatrixRegime::zeros:
        if (random_.below(2) != 0) return sign(negative);
        return number(negative, random_.below(2) != 0 ? near(-9, 9) : random_.between(0, top()));
      case MatrixRegime::subnormal:
        if (role_ == MatrixRole::b) return number(negative, near(-3, 3));
        return number(negative, random_.between(0, c ? 20 : 2));
      case MatrixRegime::large:
        return number(negative, top() - random_.between(0, role_ == MatrixRole::b ? 12 : 3));
      case MatrixRegime::special:
        return random_.below(48) == 0 ? special(negative) : number(negative, near(-8, 0));
      default:
        return number(negative, near(-8, 0));
    }
  }

 private:
  int bias() const { return (1 << (f_.exponent_bits - 1)) - 1; }
  /// The highest exponent field of finite numbers.
  int top() const { return (1 << f_.exponent_bits) - (f_.has_infinity ? 2 : 1); }
  int near(int low, int high) const {
    return std::clamp(bias() + random_.between(low, high), 0, top());
  }
  std::uint64_t sign(bool negative) const {
    return static_cast<std::uint64_t>(negative) << (f_.bits - 1);
  }
  std::uint64_t number(bool negative, int exponent) const {
    std::uint64_t fraction = random_.next() & ((std::uint64_t{1} << f_.fraction_bits) - 1);
    if (!f_.has_infinity && exponent == top()) fraction &= ~std::uint64_t{1};  // not NaN
    return sign(negative) | static_cast<std::uint64_t>(exponent) << f_.fraction_bits | fraction;
  }
  std::uint64_t few_bits(std::uint64_t value) const {
    const unsigned low = f_.fraction_bits > 2 ? f_.fraction_bits - 2 : 0;
    return value >> low << low;
  }
  std::uint64_t special(bool negative) const {
    const std::uint64_t ones = (std::uint64_t{1} << f_.exponent_bits) - 1;
    switch (random_.below(6)) {
      case 0:
        return sign(negative);
      case 1:
        return sign(negative) | ones << f_.fraction_bits;  // infinity
      case 2:
        return sign(negative) | ones << f_.fraction_bits |
               ((random_.next() & ((std::uint64_t{1} << f_.fraction_bits) - 1)) | 1);
      case 3:
        return number(negative, 0);
      case 4:
        return number(negative, top());
      default:
        return sign(negative) | ones << f_.fraction_bits;
    }
  }

  const Format& f_;
  MatrixRole role_;
  MatrixRegime regime_;
  MatrixRandom& random_;
  std::uint64_t pool_[2] = {};
};

}  // namespace

void fill_matrix_values(std::span<std::uint32_t> words, std::string_view type, MatrixRole role,
                        MatrixRegime regime, MatrixRandom& random) {
  const auto* format = std::find_if(std::begin(kFormats), std::end(kFormats),
                                    [&](const Format& f) { return f.type == type; });
  if (format == std::end(kFormats)) {
    for (std::uint32_t& word : words) word = static_cast<std::uint32_t>(random.next());
    return;
  }
  Values values(*format, role, regime, random);
  if (format->bits == 64) {
    for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
      const std::uint64_t value = values.next();
      words[i] = static_cast<std::uint32_t>(value);
      words[i + 1] = static_cast<std::uint32_t>(value >> 32);
    }
    return;
  }
  for (std::uint32_t& word : words) {
    word = 0;
    for (unsigned at = 0; at < 32; at += format->bits) {
      word |= static_cast<std::uint32_t>(values.next()) << at;
    }
  }
}

std::uint64_t matrix_hash(std::span<const std::uint32_t> words) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const std::uint32_t word : words) {
    for (unsigned at = 0; at < 32; at += 8) hash = (hash ^ (word >> at & 255)) * 0x100000001b3u;
  }
  return hash;
}

}  // namespace tilescope::testing
