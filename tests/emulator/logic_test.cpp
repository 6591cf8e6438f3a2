// Logic, shifts, bit fields, permutations, comparisons and selections against the host's.
#include <algorithm>
#include <cmath>

#include "emulator/harness.hpp"

namespace tilescope::emulator::test {
namespace {

using Types = std::vector<std::string>;

const std::vector<Row>& words() {
  static const std::vector<Row> rows = rows_of(integer_edges(32), 3, 32);
  return rows;
}
const std::vector<Row>& long_words() {
  static const std::vector<Row> rows = rows_of(integer_edges(64), 3, 64);
  return rows;
}
std::int32_t s32(std::uint64_t v) {
  return static_cast<std::int32_t>(u32(v));
}

TEST(Logic, Bitwise) {
  expect_rows("and.b32 %r, %a, %b;", {"b32", "b32", "b32"}, words(),
              [](const Row& r) { return r[0] & r[1]; });
  expect_rows("or.b64 %r, %a, %b;", {"b64", "b64", "b64"}, long_words(),
              [](const Row& r) { return r[0] | r[1]; });
  expect_rows("xor.b16 %r, %a, %b;", {"b16", "b16", "b16"}, rows_of(integer_edges(16), 2, 16),
              [](const Row& r) { return r[0] ^ r[1]; });
  expect_rows("not.b16 %r, %a;", {"b16", "b16"}, rows_of(integer_edges(16), 1, 16),
              [](const Row& r) { return ~r[0] & 0xffff; });
  expect_rows("not.b64 %r, %a;", {"b64", "b64"}, long_words(), [](const Row& r) { return ~r[0]; });
  expect_rows("cnot.b32 %r, %a;", {"b32", "b32"}, words(),
              [](const Row& r) { return std::uint64_t{r[0] == 0}; });
}

TEST(Logic, Predicates) {
  std::vector<Row> rows;
  for (unsigned i = 0; i < 100; ++i) rows.push_back({i & 1, i >> 1 & 1, i >> 2 & 1, 0});
  const Types types = {"pred", "pred", "pred"};
  expect_rows("and.pred %r, %a, %b;", types, rows, [](const Row& r) { return r[0] & r[1]; });
  expect_rows("or.pred %r, %a, %b;", types, rows, [](const Row& r) { return r[0] | r[1]; });
  expect_rows("xor.pred %r, %a, %b;", types, rows, [](const Row& r) { return r[0] ^ r[1]; });
  expect_rows("not.pred %r, %a;", {"pred", "pred"}, rows, [](const Row& r) { return r[0] ^ 1; });
  expect_rows("mov.pred %r, %a;", {"pred", "pred"}, rows, [](const Row& r) { return r[0]; });
}

TEST(Logic, TruthTables) {
  for (const unsigned table : {0x80u, 0x96u, 0xe8u, 0xcau, 0x1fu, 0x00u, 0xffu}) {
    const auto expected = [&](const Row& r) {
      std::uint32_t result = 0;
      for (int bit = 0; bit < 32; ++bit) {
        const unsigned index =
            (u32(r[0]) >> bit & 1) * 4 + (u32(r[1]) >> bit & 1) * 2 + (u32(r[2]) >> bit & 1);
        result |= (table >> index & 1) << bit;
      }
      return std::uint64_t{result};
    };
    const std::string list = " %a, %b, %c, " + std::to_string(table);
    expect_rows("lop3.b32 %r," + list + ";", {"b32", "b32", "b32", "b32"}, words(), expected);
    expect_rows(
        ".reg .b32 %x; .reg .pred %q; setp.ne.u32 %q, 1, 1; lop3.or.b32 %x|%r," + list + ", %q;",
        {"b32", "b32", "b32", "pred"}, words(),
        [&](const Row& r) { return std::uint64_t{expected(r) != 0}; });
  }
}

TEST(Logic, Shifts) {
  expect_rows("shl.b32 %r, %a, %b;", {"b32", "b32", "b32"}, words(),
              [](const Row& r) { return r[1] > 31 ? 0 : std::uint64_t{u32(r[0] << r[1])}; });
  expect_rows("shr.u32 %r, %a, %b;", {"b32", "b32", "b32"}, words(),
              [](const Row& r) { return r[1] > 31 ? 0 : r[0] >> r[1]; });
  expect_rows("shr.s32 %r, %a, %b;", {"b32", "b32", "b32"}, words(), [](const Row& r) {
    return std::uint64_t{
        u32(static_cast<std::uint64_t>(s32(r[0]) >> std::min<std::uint64_t>(r[1], 31)))};
  });
  std::vector<Row> rows = long_words();
  for (Row& row : rows) row[1] &= 0xff;
  expect_rows("shl.b64 %r, %a, %b;", {"b64", "b32", "b64"}, rows,
              [](const Row& r) { return r[1] > 63 ? 0 : r[0] << r[1]; });
  expect_rows("shr.s64 %r, %a, %b;", {"b64", "b32", "b64"}, rows, [](const Row& r) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(r[0]) >>
                                      std::min<std::uint64_t>(r[1], 63));
  });
  std::vector<Row> halves = rows_of(integer_edges(16), 2, 16);
  for (Row& row : halves) row[1] &= 0x1f;
  expect_rows("shl.b16 %r, %a, %b;", {"b16", "b32", "b16"}, halves,
              [](const Row& r) { return r[1] > 15 ? 0 : r[0] << r[1] & 0xffff; });
  expect_rows("shr.s16 %r, %a, %b;", {"b16", "b32", "b16"}, halves, [](const Row& r) {
    return std::uint64_t{static_cast<std::uint16_t>(static_cast<std::int16_t>(r[0]) >>
                                                    std::min<std::uint64_t>(r[1], 15))};
  });
}

TEST(Logic, FunnelShifts) {
  for (const bool left : {true, false}) {
    for (const bool clamp : {true, false}) {
      const std::string text = std::string("shf.") + (left ? "l." : "r.") +
                               (clamp ? "clamp" : "wrap") + ".b32 %r, %a, %b, %c;";
      expect_rows(text, {"b32", "b32", "b32", "b32"}, words(), [&](const Row& r) {
        const std::uint64_t n = clamp ? std::min<std::uint64_t>(r[2], 32) : r[2] & 31;
        const std::uint64_t joined = r[1] << 32 | r[0];
        return std::uint64_t{left ? u32((joined << n) >> 32) : u32(joined >> n)};
      });
    }
  }
}

TEST(Logic, BitFields) {
  const auto extract = [](std::uint64_t a, std::uint64_t b, std::uint64_t c, int msb, bool sign) {
    const int position = static_cast<int>(b & 255), length = static_cast<int>(c & 255);
    const bool fill = sign && length != 0 && (a >> std::min(position + length - 1, msb) & 1) != 0;
    std::uint64_t r = 0;
    for (int i = 0; i <= msb; ++i) {
      const bool bit = i < length && position + i <= msb ? (a >> (position + i) & 1) != 0 : fill;
      r |= std::uint64_t{bit} << i;
    }
    return r;
  };
  expect_rows("bfe.u32 %r, %a, %b, %c;", {"b32", "b32", "b32", "b32"}, words(),
              [&](const Row& r) { return extract(r[0], r[1], r[2], 31, false); });
  expect_rows("bfe.s32 %r, %a, %b, %c;", {"b32", "b32", "b32", "b32"}, words(),
              [&](const Row& r) { return extract(r[0], r[1], r[2], 31, true); });
  std::vector<Row> rows = long_words();
  for (Row& row : rows) row[1] &= 0x7f, row[2] &= 0x7f;
  expect_rows("bfe.s64 %r, %a, %b, %c;", {"b64", "b32", "b32", "b64"}, rows,
              [&](const Row& r) { return extract(r[0], r[1], r[2], 63, true); });
  const auto insert = [](std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d,
                         int msb) {
    const int position = static_cast<int>(c & 255), length = static_cast<int>(d & 255);
    for (int i = 0; i < length && position + i <= msb; ++i) {
      const std::uint64_t bit = std::uint64_t{1} << (position + i);
      b = (a >> i & 1) != 0 ? b | bit : b & ~bit;
    }
    return b;
  };
  expect_rows("bfi.b32 %r, %a, %b, %c, %d;", {"b32", "b32", "b32", "b32", "b32"}, words(),
              [&](const Row& r) { return insert(r[0], r[1], r[2], r[3], 31); });
  for (Row& row : rows) row[2] &= 0x7f, row[3] &= 0x7f;
  expect_rows("bfi.b64 %r, %a, %b, %c, %d;", {"b64", "b64", "b32", "b32", "b64"}, rows,
              [&](const Row& r) { return insert(r[0], r[1], r[2], r[3], 63); });
}

TEST(Logic, Counting) {
  expect_rows("popc.b32 %r, %a;", {"b32", "b32"}, words(),
              [](const Row& r) { return static_cast<std::uint64_t>(std::popcount(u32(r[0]))); });
  expect_rows("popc.b64 %r, %a;", {"b64", "b32"}, long_words(),
              [](const Row& r) { return static_cast<std::uint64_t>(std::popcount(r[0])); });
  expect_rows("clz.b32 %r, %a;", {"b32", "b32"}, words(),
              [](const Row& r) { return static_cast<std::uint64_t>(std::countl_zero(u32(r[0]))); });
  expect_rows("clz.b64 %r, %a;", {"b64", "b32"}, long_words(),
              [](const Row& r) { return static_cast<std::uint64_t>(std::countl_zero(r[0])); });
  expect_rows("brev.b32 %r, %a;", {"b32", "b32"}, words(), [](const Row& r) {
    std::uint64_t result = 0;
    for (int i = 0; i < 32; ++i) result |= (r[0] >> i & 1) << (31 - i);
    return result;
  });
  const auto top = [](std::uint64_t v, int width, bool sign, bool amount) {
    if (sign && (v >> (width - 1) & 1) != 0) v = ~v;
    if (width == 32) v = u32(v);
    for (int i = width - 1; i >= 0; --i) {
      if ((v >> i & 1) != 0)
        return std::uint64_t{u32(static_cast<std::uint64_t>(amount ? width - 1 - i : i))};
    }
    return std::uint64_t{0xffffffff};
  };
  expect_rows("bfind.u32 %r, %a;", {"b32", "b32"}, words(),
              [&](const Row& r) { return top(r[0], 32, false, false); });
  expect_rows("bfind.s32 %r, %a;", {"b32", "b32"}, words(),
              [&](const Row& r) { return top(r[0], 32, true, false); });
  expect_rows("bfind.shiftamt.s64 %r, %a;", {"b64", "b32"}, long_words(),
              [&](const Row& r) { return top(r[0], 64, true, true); });
}

TEST(Logic, Permutations) {
  const auto byte = [](const Row& r, unsigned i) {
    return (i < 4 ? r[0] >> 8 * i : r[1] >> 8 * (i - 4)) & 0xff;
  };
  expect_rows("prmt.b32 %r, %a, %b, %c;", {"b32", "b32", "b32", "b32"}, words(), [&](const Row& r) {
    std::uint64_t result = 0;
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned nibble = r[2] >> 4 * i & 15;
      std::uint64_t b = byte(r, nibble & 7);
      if ((nibble & 8) != 0) b = (b & 0x80) != 0 ? 0xff : 0;
      result |= b << 8 * i;
    }
    return result;
  });
  // Rows: the bytes of the result from the lowest, for selectors 0 to 3.
  struct Mode {
    const char* name;
    unsigned table[4][4];
  };
  const Mode modes[] = {{"f4e", {{0, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5, 6}}},
                        {"b4e", {{0, 7, 6, 5}, {1, 0, 7, 6}, {2, 1, 0, 7}, {3, 2, 1, 0}}},
                        {"rc8", {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}}},
                        {"ecl", {{0, 1, 2, 3}, {1, 1, 2, 3}, {2, 2, 2, 3}, {3, 3, 3, 3}}},
                        {"ecr", {{0, 0, 0, 0}, {0, 1, 1, 1}, {0, 1, 2, 2}, {0, 1, 2, 3}}},
                        {"rc16", {{0, 1, 0, 1}, {2, 3, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}}}};
  for (const Mode& mode : modes) {
    expect_rows(std::string("prmt.b32.") + mode.name + " %r, %a, %b, %c;",
                {"b32", "b32", "b32", "b32"}, words(), [&](const Row& r) {
                  std::uint64_t result = 0;
                  for (unsigned i = 0; i < 4; ++i) {
                    result |= byte(r, mode.table[r[2] & 3][i]) << 8 * i;
                  }
                  return result;
                });
  }
}

TEST(Logic, RareOnes) {
  expect_rows("fns.b32 %r, %a, %b, %c;", {"b32", "b32", "b32", "b32"},
              {{0b101101, 0, 1, 0},
               {0b101101, 1, 1, 0},
               {0b101101, 5, static_cast<std::uint32_t>(-2), 0},
               {0b101101, 3, 0, 0},
               {0b101101, 1, 0, 0},
               {0b101101, 0, 9, 0}},
              [n = 0](const Row&) mutable {
                const std::uint64_t want[] = {0, 2, 3, 3, 0xffffffff, 0xffffffff};
                return want[n++];
              });
  expect_rows("bmsk.clamp.b32 %r, %a, %b;", {"b32", "b32", "b32"}, words(), [](const Row& r) {
    std::uint64_t result = 0;
    for (std::uint64_t i = 0; i < 32; ++i)
      result |= std::uint64_t{i >= r[0] && i - r[0] < r[1]} << i;
    return result;
  });
  expect_rows("szext.clamp.s32 %r, %a, %b;", {"b32", "b32", "b32"}, words(), [](const Row& r) {
    if (r[1] >= 32) return r[0];
    if (r[1] == 0) return std::uint64_t{0};
    const std::uint64_t kept = r[0] & ((std::uint64_t{1} << r[1]) - 1);
    return (kept >> (r[1] - 1) & 1) != 0 ? std::uint64_t{u32(kept | ~std::uint64_t{0} << r[1])}
                                         : kept;
  });
}

TEST(Logic, PackingAndUnpacking) {
  expect_rows(".reg .b16 %x, %y; mov.b32 {%x, %y}, %a; mov.b32 %r, {%y, %x};", {"b32", "b32"},
              words(), [](const Row& r) { return std::uint64_t{u32(r[0] << 16 | r[0] >> 16)}; });
  expect_rows(".reg .b32 %x, %y; mov.b64 {%x, %y}, %a; mov.b64 %r, {%y, %x};", {"b64", "b64"},
              long_words(), [](const Row& r) { return r[0] << 32 | r[0] >> 32; });
  expect_rows(".reg .b128 %q; mov.b128 %q, {%a, %b}; .reg .b64 %x; mov.b128 {%x, %r}, %q;",
              {"b64", "b64", "b64"}, long_words(), [](const Row& r) { return r[1]; });
}

TEST(Logic, VectorsMoveAtOnce) {
  expect_rows(
      ".reg .v4 .b16 %w; mov.b64 {%w.x, %w.y, %w.z, %w.w}, %a;"
      "mov.v4.b16 {%w.y, %w.z, %w.w, %w.x}, %w; mov.b64 %r, {%w.x, %w.y, %w.z, %w.w};",
      {"b64", "b64"}, long_words(), [](const Row& r) { return r[0] << 16 | r[0] >> 48; });
  expect_rows(".reg .v2 .b64 %w; mov.v2.b64 %w, {%a, 5}; add.u64 %r, %w.x, %w.y;", {"b64", "b64"},
              long_words(), [](const Row& r) { return r[0] + 5; });
}

// --- comparisons
// ------------------------------------------------------------------------------------

TEST(Compare, Integers) {
  struct Case {
    const char* name;
    bool (*of)(std::int64_t, std::int64_t);
  };
  const Case cases[] = {{"eq", [](std::int64_t a, std::int64_t b) { return a == b; }},
                        {"ne", [](std::int64_t a, std::int64_t b) { return a != b; }},
                        {"lt", [](std::int64_t a, std::int64_t b) { return a < b; }},
                        {"le", [](std::int64_t a, std::int64_t b) { return a <= b; }},
                        {"gt", [](std::int64_t a, std::int64_t b) { return a > b; }},
                        {"ge", [](std::int64_t a, std::int64_t b) { return a >= b; }}};
  for (const Case& c : cases) {
    const std::string name(c.name);
    expect_rows("setp." + name + ".s32 %r, %a, %b;", {"b32", "b32", "pred"}, words(),
                [&](const Row& r) { return std::uint64_t{c.of(s32(r[0]), s32(r[1]))}; });
    expect_rows("setp." + name + ".u32 %r, %a, %b;", {"b32", "b32", "pred"}, words(),
                [&](const Row& r) {
                  return std::uint64_t{
                      c.of(static_cast<std::int64_t>(r[0]), static_cast<std::int64_t>(r[1]))};
                });
    expect_rows("setp." + name + ".s64 %r, %a, %b;", {"b64", "b64", "pred"}, long_words(),
                [&](const Row& r) {
                  return std::uint64_t{
                      c.of(static_cast<std::int64_t>(r[0]), static_cast<std::int64_t>(r[1]))};
                });
    expect_rows("setp." + name + ".s16 %r, %a, %b;", {"b16", "b16", "pred"},
                rows_of(integer_edges(16), 2, 16), [&](const Row& r) {
                  return std::uint64_t{
                      c.of(static_cast<std::int16_t>(r[0]), static_cast<std::int16_t>(r[1]))};
                });
  }
  expect_rows("setp.hi.u32 %r, %a, %b;", {"b32", "b32", "pred"}, words(),
              [](const Row& r) { return std::uint64_t{r[0] > r[1]}; });
  expect_rows("set.lt.s32.s32 %r, %a, %b;", {"b32", "b32", "b32"}, words(),
              [](const Row& r) { return s32(r[0]) < s32(r[1]) ? 0xffffffffu : std::uint64_t{0}; });
}

TEST(Compare, Reals) {
  struct Case {
    const char* name;
    bool (*ordered)(double, double);
    bool unordered;
  };
  const auto eq = [](double a, double b) { return a == b; };
  const auto ne = [](double a, double b) { return a < b || a > b; };
  const auto lt = [](double a, double b) { return a < b; };
  const auto le = [](double a, double b) { return a <= b; };
  const auto gt = [](double a, double b) { return a > b; };
  const auto ge = [](double a, double b) { return a >= b; };
  const Case cases[] = {{"eq", eq, false},
                        {"ne", ne, false},
                        {"lt", lt, false},
                        {"le", le, false},
                        {"gt", gt, false},
                        {"ge", ge, false},
                        {"equ", eq, true},
                        {"neu", ne, true},
                        {"ltu", lt, true},
                        {"leu", le, true},
                        {"gtu", gt, true},
                        {"geu", ge, true},
                        {"num", [](double, double) { return true; }, false},
                        {"nan", [](double, double) { return false; }, true}};
  for (const Case& c : cases) {
    const auto holds = [&](double a, double b) {
      return std::uint64_t{std::isnan(a) || std::isnan(b) ? c.unordered : c.ordered(a, b)};
    };
    expect_rows(std::string("setp.") + c.name + ".f32 %r, %a, %b;", {"f32", "f32", "pred"},
                rows_of(float_edges(), 2, 32), [&](const Row& r) {
                  return holds(std::bit_cast<float>(u32(r[0])), std::bit_cast<float>(u32(r[1])));
                });
    expect_rows(std::string("setp.") + c.name + ".f64 %r, %a, %b;", {"f64", "f64", "pred"},
                rows_of(double_edges(), 2, 64), [&](const Row& r) {
                  return holds(std::bit_cast<double>(r[0]), std::bit_cast<double>(r[1]));
                });
  }
}

TEST(Compare, JoinedWithPredicates) {
  std::vector<Row> rows = words();
  for (Row& row : rows) row[2] &= 1;
  const std::string both = ".reg .pred %p, %q; .reg .b32 %x, %y;";
  expect_rows(both +
                  "setp.lt.and.u32 %p|%q, %a, %b, !%c; selp.b32 %x, 1, 0, %p; selp.b32 %y, 2, 0, "
                  "%q; add.u32 %r, %x, %y;",
              {"b32", "b32", "pred", "b32"}, rows, [](const Row& r) {
                const bool c = r[2] == 0, less = r[0] < r[1];
                return std::uint64_t{less && c} + 2 * std::uint64_t{!less && c};
              });
  expect_rows("setp.ge.xor.s32 %r, %a, %b, %c;", {"b32", "b32", "pred", "pred"}, rows,
              [](const Row& r) { return std::uint64_t{(s32(r[0]) >= s32(r[1])) != (r[2] != 0)}; });
}

TEST(Compare, Selections) {
  std::vector<Row> rows = long_words();
  for (Row& row : rows) row[2] &= 1;
  expect_rows("selp.b64 %r, %a, %b, %c;", {"b64", "b64", "pred", "b64"}, rows,
              [](const Row& r) { return r[2] != 0 ? r[0] : r[1]; });
  expect_rows("selp.f32 %r, %a, %b, !%c;", {"f32", "f32", "pred", "f32"}, rows,
              [](const Row& r) { return std::uint64_t{u32(r[2] == 0 ? r[0] : r[1])}; });
  expect_rows("slct.u32.s32 %r, %a, %b, %c;", {"b32", "b32", "b32", "b32"}, words(),
              [](const Row& r) { return s32(r[2]) >= 0 ? r[0] : r[1]; });
  expect_rows("slct.b32.f32 %r, %a, %b, %c;", {"b32", "b32", "f32", "b32"},
              rows_of(float_edges(), 3, 32),
              [](const Row& r) { return std::bit_cast<float>(u32(r[2])) >= 0 ? r[0] : r[1]; });
}

}  // namespace
}  // namespace tilescope::emulator::test
