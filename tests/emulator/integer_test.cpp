// Integer arithmetic against the host's, in types wide enough that nothing overflows.
#include <algorithm>

#include "emulator/harness.hpp"

namespace tilescope::emulator::test {
namespace {

__extension__ using int128 = __int128;

unsigned bits_of(const std::string& type) {
  return static_cast<unsigned>(std::stoi(type.substr(1)));
}
bool is_signed(const std::string& type) {
  return type[0] == 's';
}
std::string bits_type(const std::string& type) {
  return "b" + type.substr(1);
}
std::uint64_t keep(int128 v, unsigned bits) {
  const auto low = static_cast<std::uint64_t>(v);
  return bits == 64 ? low : low & ((std::uint64_t{1} << bits) - 1);
}
int128 value(std::uint64_t bits, const std::string& type) {
  const unsigned width = bits_of(type);
  const std::uint64_t v = keep(static_cast<int128>(bits), width);
  if (is_signed(type) && (v >> (width - 1) & 1) != 0) return int128{v} - (int128{1} << width);
  return int128{v};
}

const std::vector<std::string> kTypes = {"u16", "s16", "u32", "s32", "u64", "s64"};

class EachType : public ::testing::TestWithParam<std::string> {
 protected:
  template <class F>
  void check(const std::string& operation, unsigned operands, F f) {
    const std::string type = GetParam();
    const std::string list = operands == 1 ? "%a" : operands == 2 ? "%a, %b" : "%a, %b, %c";
    std::vector<std::string> types(operands + 1, bits_type(type));
    expect_rows(operation + "." + type + " %r, " + list + ";", types,
                rows_of(integer_edges(bits_of(type)), operands, bits_of(type)),
                [&](const Row& row) {
                  return keep(f(value(row[0], type), value(row[1], type), value(row[2], type)),
                              bits_of(type));
                });
  }
};

TEST_P(EachType, Sums) {
  check("add", 2, [](int128 a, int128 b, int128) { return a + b; });
  check("sub", 2, [](int128 a, int128 b, int128) { return a - b; });
}

TEST_P(EachType, Products) {
  __extension__ using uint128 = unsigned __int128;
  const unsigned width = bits_of(GetParam());
  const auto low = [](int128 a, int128 b) {  // of u64 the product may exceed an int128
    return static_cast<int128>(static_cast<uint128>(a) * static_cast<uint128>(b));
  };
  check("mul.lo", 2, [&](int128 a, int128 b, int128) { return low(a, b); });
  check("mad.lo", 3, [&](int128 a, int128 b, int128 c) {
    return static_cast<int128>(static_cast<uint128>(low(a, b)) + static_cast<uint128>(c));
  });
  check("mul.hi", 2, [&](int128 a, int128 b, int128) {
    if (is_signed(GetParam())) return a * b >> width;
    return static_cast<int128>(static_cast<uint128>(a) * static_cast<uint128>(b) >> width);
  });
}

TEST_P(EachType, Quotients) {
  // By zero: all ones, and the dividend as remainder.
  check("div", 2, [](int128 a, int128 b, int128) { return b == 0 ? int128{-1} : a / b; });
  check("rem", 2, [](int128 a, int128 b, int128) { return b == 0 ? a : a % b; });
}

TEST_P(EachType, OrderAndDistance) {
  check("min", 2, [](int128 a, int128 b, int128) { return std::min(a, b); });
  check("max", 2, [](int128 a, int128 b, int128) { return std::max(a, b); });
  check("sad", 3, [](int128 a, int128 b, int128 c) { return c + (a < b ? b - a : a - b); });
  if (!is_signed(GetParam())) return;
  check("neg", 1, [](int128 a, int128, int128) { return -a; });
  check("abs", 1, [](int128 a, int128, int128) { return a < 0 ? -a : a; });
}

INSTANTIATE_TEST_SUITE_P(Integer, EachType, ::testing::ValuesIn(kTypes),
                         [](const auto& type) { return type.param; });

TEST(Integer, WideProducts) {
  for (const std::string type : {"u16", "s16", "u32", "s32"}) {
    const unsigned bits = bits_of(type);
    const std::string wide = bits == 16 ? "b32" : "b64";
    const auto rows = rows_of(integer_edges(bits), 2, bits);
    expect_rows(
        "mul.wide." + type + " %r, %a, %b;", {bits_type(type), bits_type(type), wide}, rows,
        [&](const Row& r) { return keep(value(r[0], type) * value(r[1], type), 2 * bits); });
    expect_rows("mad.wide." + type + " %r, %a, %b, %c;",
                {bits_type(type), bits_type(type), wide, wide}, rows, [&](const Row& r) {
                  return keep(value(r[0], type) * value(r[1], type) + int128{r[2]}, 2 * bits);
                });
  }
}

TEST(Integer, Saturation) {
  const auto rows = rows_of(integer_edges(32), 3, 32);
  const auto clamp = [](int128 v) {
    return keep(std::clamp<int128>(v, -(int128{1} << 31), (int128{1} << 31) - 1), 32);
  };
  expect_rows("add.sat.s32 %r, %a, %b;", {"b32", "b32", "b32"}, rows,
              [&](const Row& r) { return clamp(value(r[0], "s32") + value(r[1], "s32")); });
  expect_rows("sub.sat.s32 %r, %a, %b;", {"b32", "b32", "b32"}, rows,
              [&](const Row& r) { return clamp(value(r[0], "s32") - value(r[1], "s32")); });
  expect_rows("mad.hi.sat.s32 %r, %a, %b, %c;", {"b32", "b32", "b32", "b32"}, rows,
              [&](const Row& r) {
                return clamp((value(r[0], "s32") * value(r[1], "s32") >> 32) + value(r[2], "s32"));
              });
}

TEST(Integer, Products24) {
  const auto rows = rows_of(integer_edges(32), 3, 32);
  for (const std::string type : {"u32", "s32"}) {
    const auto low = [&](std::uint64_t v) {
      v &= 0xffffff;
      return is_signed(type) && (v >> 23) != 0 ? int128{v} - (1 << 24) : int128{v};
    };
    expect_rows("mul24.lo." + type + " %r, %a, %b;", {"b32", "b32", "b32"}, rows,
                [&](const Row& r) { return keep(low(r[0]) * low(r[1]), 32); });
    expect_rows("mul24.hi." + type + " %r, %a, %b;", {"b32", "b32", "b32"}, rows,
                [&](const Row& r) { return keep(low(r[0]) * low(r[1]) >> 16, 32); });
    expect_rows("mad24.lo." + type + " %r, %a, %b, %c;", {"b32", "b32", "b32", "b32"}, rows,
                [&](const Row& r) { return keep(low(r[0]) * low(r[1]) + int128{r[2]}, 32); });
  }
}

TEST(Integer, CarryChains) {
  // 128-bit sums and differences from 32-bit pieces.
  const auto rows = rows_of(integer_edges(64), 2, 64);
  const std::string split =
      ".reg .b32 %al, %ah, %bl, %bh, %rl, %rh; mov.b64 {%al, %ah}, %a; mov.b64 {%bl, %bh}, %b;";
  expect_rows(split + "add.cc.u32 %rl, %al, %bl; addc.u32 %rh, %ah, %bh; mov.b64 %r, {%rl, %rh};",
              {"b64", "b64", "b64"}, rows, [](const Row& r) { return r[0] + r[1]; });
  expect_rows(split + "sub.cc.u32 %rl, %al, %bl; subc.u32 %rh, %ah, %bh; mov.b64 %r, {%rl, %rh};",
              {"b64", "b64", "b64"}, rows, [](const Row& r) { return r[0] - r[1]; });
  // The carry out of 64 bits, through a third word.
  expect_rows("add.cc.u64 %r, %a, %b; addc.u64 %r, 0, 0;", {"b64", "b64", "b64"}, rows,
              [](const Row& r) { return keep((int128{r[0]} + int128{r[1]}) >> 64, 64); });
  expect_rows("sub.cc.u64 %r, %a, %b; subc.u64 %r, 0, 0;", {"b64", "b64", "b64"}, rows,
              [](const Row& r) { return r[0] < r[1] ? ~std::uint64_t{0} : 0; });
  // The flag means "carry" behind an addition and "no borrow" behind a subtraction, as on the chip.
  expect_rows("sub.cc.u64 %r, %a, %b; addc.u64 %r, 0, 0;", {"b64", "b64", "b64"}, rows,
              [](const Row& r) { return std::uint64_t{r[0] >= r[1]}; });
  expect_rows("add.cc.u64 %r, %a, %b; subc.u64 %r, 0, 0;", {"b64", "b64", "b64"}, rows,
              [](const Row& r) { return r[0] + r[1] < r[0] ? 0 : ~std::uint64_t{0}; });
  // 64 x 64 -> high 64 the way compilers write it.
  expect_rows(
      split +
          ".reg .b32 %c0, %c1, %c2, %c3; mul.lo.u32 %c0, %al, %bl; mul.hi.u32 %c1, %al, %bl;"
          "mad.lo.cc.u32 %c1, %al, %bh, %c1; madc.hi.u32 %c2, %al, %bh, 0;"
          "mad.lo.cc.u32 %c1, %ah, %bl, %c1; madc.hi.cc.u32 %c2, %ah, %bl, %c2;"
          "madc.hi.u32 %c3, %ah, %bh, 0; mad.lo.cc.u32 %c2, %ah, %bh, %c2;"
          "addc.u32 %c3, %c3, 0; mov.b64 %r, {%c2, %c3};",
      {"b64", "b64", "b64"}, rows, [](const Row& r) {
        __extension__ using uint128 = unsigned __int128;
        return static_cast<std::uint64_t>(uint128{r[0]} * uint128{r[1]} >> 64);
      });
}

TEST(Integer, DotProducts) {
  const auto rows = rows_of(integer_edges(32), 3, 32);
  for (const std::string a : {"u32", "s32"}) {
    for (const std::string b : {"u32", "s32"}) {
      const auto byte = [](std::uint64_t v, int i, const std::string& t) {
        return value(v >> 8 * i, t[0] + std::string("8"));
      };
      const auto half = [](std::uint64_t v, int i, const std::string& t) {
        return value(v >> 16 * i, t[0] + std::string("16"));
      };
      expect_rows("dp4a." + a + "." + b + " %r, %a, %b, %c;", {"b32", "b32", "b32", "b32"}, rows,
                  [&](const Row& r) {
                    int128 sum{r[2]};
                    for (int i = 0; i < 4; ++i) sum += byte(r[0], i, a) * byte(r[1], i, b);
                    return keep(sum, 32);
                  });
      for (const std::string part : {"lo", "hi"}) {
        expect_rows("dp2a." + part + "." + a + "." + b + " %r, %a, %b, %c;",
                    {"b32", "b32", "b32", "b32"}, rows, [&](const Row& r) {
                      int128 sum{r[2]};
                      for (int i = 0; i < 2; ++i) {
                        sum += half(r[0], i, a) * byte(r[1], i + (part == "hi" ? 2 : 0), b);
                      }
                      return keep(sum, 32);
                    });
      }
    }
  }
}

TEST(Integer, PackedHalves) {
  const auto rows = rows_of(integer_edges(32), 2, 32);
  for (const std::string type : {"u16", "s16"}) {
    const auto both = [&](const Row& r, auto f) {
      return keep(f(value(r[0], type), value(r[1], type)), 16) |
             keep(f(value(r[0] >> 16, type), value(r[1] >> 16, type)), 16) << 16;
    };
    expect_rows("add." + type + "x2 %r, %a, %b;", {"b32", "b32", "b32"}, rows,
                [&](const Row& r) { return both(r, [](int128 a, int128 b) { return a + b; }); });
    expect_rows("min." + type + "x2 %r, %a, %b;", {"b32", "b32", "b32"}, rows, [&](const Row& r) {
      return both(r, [](int128 a, int128 b) { return std::min(a, b); });
    });
  }
  expect_rows("max.relu.s16x2 %r, %a, %b;", {"b32", "b32", "b32"}, rows, [&](const Row& r) {
    std::uint64_t result = 0;
    for (int i = 0; i < 2; ++i) {
      const int128 m = std::max(value(r[0] >> 16 * i, "s16"), value(r[1] >> 16 * i, "s16"));
      result |= keep(std::max<int128>(m, 0), 16) << 16 * i;
    }
    return result;
  });
  expect_rows("min.relu.s32 %r, %a, %b;", {"b32", "b32", "b32"}, rows, [&](const Row& r) {
    return keep(std::max<int128>(std::min(value(r[0], "s32"), value(r[1], "s32")), 0), 32);
  });
}

TEST(Integer, VideoOperations) {
  const auto rows = rows_of(integer_edges(32), 3, 32);
  expect_rows("vabsdiff4.u32.u32.u32.add %r, %a, %b, %c;", {"b32", "b32", "b32", "b32"}, rows,
              [](const Row& r) {
                std::uint32_t sum = static_cast<std::uint32_t>(r[2]);
                for (int i = 0; i < 4; ++i) {
                  const int x = static_cast<int>(r[0] >> 8 * i & 255);
                  const int y = static_cast<int>(r[1] >> 8 * i & 255);
                  sum += static_cast<std::uint32_t>(std::abs(x - y));
                }
                return std::uint64_t{sum};
              });
  expect_rows("vadd2.s32.s32.s32.sat %r, %a, %b, %c;", {"b32", "b32", "b32", "b32"}, rows,
              [](const Row& r) {
                std::uint64_t result = 0;
                for (int i = 0; i < 2; ++i) {
                  const int128 s = value(r[0] >> 16 * i, "s16") + value(r[1] >> 16 * i, "s16");
                  result |= keep(std::clamp<int128>(s, -32768, 32767), 16) << 16 * i;
                }
                return result;
              });
  expect_rows("vadd.s32.u32.s32 %r, %a.b1, %b.h1;", {"b32", "b32", "b32"}, rows, [](const Row& r) {
    return keep(value(r[0] >> 8, "u8") + value(r[1] >> 16, "s16"), 32);
  });
}

TEST(Integer, VideoOperationsMergeAndShift) {
  const auto rows = rows_of(integer_edges(32), 3, 32);
  const std::vector<std::string> types{"b32", "b32", "b32", "b32"};
  expect_rows("vsub.s32.u32.u32.sat %r.b2, %a.b0, %b.b3, %c;", types, rows, [](const Row& r) {
    const int128 d = value(r[0], "u8") - value(r[1] >> 24, "u8");
    return (r[2] & 0xff00ffffu) | keep(std::clamp<int128>(d, -128, 127), 8) << 16;
  });
  expect_rows("vadd.u32.u32.u32 %r.h1, %a, %b, %c;", types, rows, [](const Row& r) {
    return (r[2] & 0xffff) | keep(int128{r[0]} + int128{r[1]}, 16) << 16;
  });
  expect_rows("vshl.u32.u32.u32.clamp %r, %a, %b.b0;", {"b32", "b32", "b32"}, rows,
              [](const Row& r) {
                const std::uint64_t by = std::min<std::uint64_t>(r[1] & 255, 32);
                return keep(int128{r[0]} << by, 32);
              });
  expect_rows("vshr.s32.s32.u32.wrap.add %r, %a, %b, %c;", types, rows, [](const Row& r) {
    return keep((value(r[0], "s32") >> (r[1] & 31)) + int128{r[2]}, 32);
  });
  expect_rows("vshl.s32.s32.u32.sat.wrap %r, %a, %b;", {"b32", "b32", "b32"}, rows,
              [](const Row& r) {
                const int128 wide = value(r[0], "s32") * (int128{1} << (r[1] & 31));
                return keep(std::clamp<int128>(wide, INT32_MIN, INT32_MAX), 32);
              });
}

TEST(Integer, VideoOperationsOnChosenParts) {
  const auto rows = rows_of(integer_edges(32), 3, 32);
  const std::vector<std::string> types{"b32", "b32", "b32", "b32"};
  const auto byte = [](const Row& r, unsigned i) {
    return static_cast<int>((i < 4 ? r[0] >> 8 * i : r[1] >> 8 * (i - 4)) & 255);
  };
  // Bytes 7 to 4 are those of b; the second and the lowest are written, the others are c's.
  expect_rows("vadd4.u32.u32.u32 %r.b20, %a.b7105, %b.b3362, %c;", types, rows, [&](const Row& r) {
    const auto second = static_cast<std::uint64_t>(byte(r, 1) + byte(r, 3)) & 255;
    const auto lowest = static_cast<std::uint64_t>(byte(r, 5) + byte(r, 2)) & 255;
    return (r[2] & 0xff00ff00u) | second << 16 | lowest;
  });
  expect_rows("vadd2.u32.u32.u32.add %r.h1, %a.h32, %b.h10, %c;", types, rows, [](const Row& r) {
    return keep(int128{r[2]} + int128{r[1] >> 16 & 0xffff} + int128{r[0] >> 16 & 0xffff}, 32);
  });
}

TEST(Integer, PackingOfTwoBits) {
  const auto rows = rows_of(integer_edges(32), 3, 32);
  const std::vector<std::string> types{"b32", "b32", "b32", "b32"};
  expect_rows("cvt.pack.sat.s2.s32.b32 %r, %a, %b, %c;", types, rows, [](const Row& r) {
    const auto two = [](std::uint64_t v) {
      return keep(std::clamp<int128>(value(v, "s32"), -2, 1), 2);
    };
    return keep(int128{r[2]} << 4, 32) | two(r[0]) << 2 | two(r[1]);
  });
  expect_rows("cvt.pack.sat.u2.s32.b32 %r, %a, %b, %c;", types, rows, [](const Row& r) {
    const auto two = [](std::uint64_t v) {
      return keep(std::clamp<int128>(value(v, "s32"), 0, 3), 2);
    };
    return keep(int128{r[2]} << 4, 32) | two(r[0]) << 2 | two(r[1]);
  });
}

TEST(Integer, VideoMultiplyAdd) {
  const auto rows = rows_of(integer_edges(32), 3, 32, 200);
  const auto wide = [](std::uint64_t v) {
    return static_cast<std::int64_t>(static_cast<std::int32_t>(v));
  };
  const std::vector<std::string> types{"b32", "b32", "b32", "b32"};
  expect_rows("vmad.s32.s32.s32 %r, %a, %b.h0, %c;", types, rows, [&](const Row& r) {
    const std::int64_t half = static_cast<std::int16_t>(r[1]);
    return static_cast<std::uint32_t>(wide(r[0]) * half + wide(r[2]));
  });
  expect_rows("vmad.s32.s32.s32.shr7 %r, %a, %b.b1, -%c;", types, rows, [&](const Row& r) {
    const std::int64_t byte = static_cast<std::int8_t>(r[1] >> 8);
    return static_cast<std::uint32_t>((wide(r[0]) * byte - wide(r[2])) >> 7);
  });
  expect_rows("vmad.u32.u32.u32.po.sat %r, %a.h1, %b.h0, %c;", types, rows, [](const Row& r) {
    const std::uint64_t v = (r[0] >> 16 & 0xffff) * (r[1] & 0xffff) + r[2] + 1;
    return v > 0xffffffffu ? 0xffffffffu : v;
  });
}

}  // namespace
}  // namespace tilescope::emulator::test
