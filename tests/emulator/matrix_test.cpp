// mma: every shape and type against a plain product of small integers, which all formats hold
// exactly. The elements of a fragment lie where the PTX manual puts them for the shape. Then the
// moves of 8 x 8 matrices: ldmatrix, stmatrix, movmatrix.
#include <functional>
#include <tilescope/error.hpp>

#include "base/half.hpp"
#include "emulator/harness.hpp"

namespace tilescope::emulator::test {
namespace {

struct At {
  int row, column;
};

/// A fragment: `elements` of `bits` each per lane, where each lies in its matrix, how it is
/// written.
struct Fragment {
  int elements, bits;
  std::function<At(int lane, int i)> at;
  std::function<std::uint64_t(int)> encode;
};

int group(int lane) {
  return lane / 4;
}
int member(int lane) {
  return lane % 4;
}

std::uint64_t as_f32(int v) {
  return std::bit_cast<std::uint32_t>(static_cast<float>(v));
}
std::uint64_t as_f64(int v) {
  return std::bit_cast<std::uint64_t>(static_cast<double>(v));
}
std::uint64_t as_f16(int v) {
  return float64_to_float16(v);
}
std::uint64_t as_bf16(int v) {
  return float64_to_bfloat16(v);
}
std::uint64_t as_integer(int v) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(v));
}

/// A of m16: runs of `run` neighbours in a row, then 8 rows below, then the next 4 * run columns.
Fragment a16(int k, int run, int bits, std::uint64_t (*encode)(int)) {
  return {
      k / 2, bits,
      [=](int lane, int i) {
        const int part = i / run;
        return At{group(lane) + part % 2 * 8, member(lane) * run + i % run + part / 2 * 4 * run};
      },
      encode};
}
Fragment a8(int k, int run, int bits, std::uint64_t (*encode)(int)) {
  return {k / 4, bits,
          [=](int lane, int i) {
            return At{group(lane), member(lane) * run + i};
          },
          encode};
}
Fragment b(int k, int run, int bits, std::uint64_t (*encode)(int)) {
  return {k / 4, bits,
          [=](int lane, int i) {
            return At{member(lane) * run + i % run + i / run * 4 * run, group(lane)};
          },
          encode};
}
Fragment c(int m, int bits, std::uint64_t (*encode)(int)) {
  return {m / 4, bits,
          [](int lane, int i) {
            return At{group(lane) + i / 2 * 8, member(lane) * 2 + i % 2};
          },
          encode};
}

struct Shape {
  std::string instruction;
  int m, k, low, high;  ///< elements are in [low, high]
  Fragment a, b, c;
  std::function<int(int, int)> combine = [](int x, int y) { return x * y; };
};

std::size_t words(const Fragment& f) {
  return static_cast<std::size_t>(f.elements * f.bits / 32);
}

/// The registers of all lanes, as 32-bit words in order of lane.
std::vector<std::uint32_t> packed(const Fragment& f, const std::function<int(At)>& value) {
  std::vector<std::uint32_t> out(words(f) * 32);
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < f.elements; ++i) {
      std::uint64_t bits = f.encode(value(f.at(lane, i)));
      if (f.bits < 64) bits &= (std::uint64_t{1} << f.bits) - 1;
      const auto at = static_cast<std::size_t>(lane) * words(f) * 32 +
                      static_cast<std::size_t>(i) * static_cast<std::size_t>(f.bits);
      out[at / 32] |= static_cast<std::uint32_t>(bits << at % 32);
      if (f.bits == 64) out[at / 32 + 1] |= static_cast<std::uint32_t>(bits >> 32);
    }
  }
  return out;
}

void check(const Shape& s) {
  std::mt19937 generator(7);
  std::uniform_int_distribution<int> any(s.low, s.high);
  std::vector<int> left(static_cast<std::size_t>(s.m * s.k)), right(left.size()), sum(left.size());
  right.resize(static_cast<std::size_t>(s.k * 8));
  sum.resize(static_cast<std::size_t>(s.m * 8));
  for (auto* matrix : {&left, &right, &sum}) {
    for (int& v : *matrix) v = any(generator);
  }
  const auto element = [](std::vector<int>& matrix, int columns) {
    return [&matrix, columns](At at) {
      return matrix[static_cast<std::size_t>(at.row * columns + at.column)];
    };
  };
  const auto from_a = packed(s.a, element(left, s.k)), from_b = packed(s.b, element(right, 8)),
             from_c = packed(s.c, element(sum, 8));
  for (int row = 0; row < s.m; ++row) {
    for (int column = 0; column < 8; ++column) {
      for (int i = 0; i < s.k; ++i) {
        sum[static_cast<std::size_t>(row * 8 + column)] +=
            s.combine(left[static_cast<std::size_t>(row * s.k + i)],
                      right[static_cast<std::size_t>(i * 8 + column)]);
      }
    }
  }
  const auto expected = packed(s.c, element(sum, 8));

  const bool wide = s.a.bits == 64, real = s.instruction.ends_with("f32") && s.c.bits == 32;
  std::string text(kHeader);
  text +=
      ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c) {\n"
      ".reg .b32 %l; .reg .b64 %p; .reg .b32 %t; mov.u32 %l, %tid.x;\n";
  std::string operands[3];
  const Fragment* fragments[3] = {&s.a, &s.b, &s.c};
  for (int f = 0; f < 3; ++f) {
    const std::string name(1, "abc"[f]);
    const std::size_t count = words(*fragments[f]) / (wide ? 2 : 1);
    const std::string type = wide ? "f64" : real && f == 2 ? "f32" : "b32";
    text += ".reg .b64 %p" + name + "; ld.param.u64 %p" + name + ", [" + name +
            "]; mad.wide.u32 %p" + name + ", %l, " + std::to_string(words(*fragments[f]) * 4) +
            ", %p" + name + ";\n.reg ." + type + " %" + name + "<" + std::to_string(count) + ">;\n";
    for (std::size_t i = 0; i < count; ++i) {
      const std::string reg = "%" + name + std::to_string(i);
      text += "ld.global." + type + " " + reg + ", [%p" + name + "+" +
              std::to_string(i * (wide ? 8 : 4)) + "];\n";
      operands[f] += (i == 0 ? "" : ", ") + reg;
    }
  }
  text += s.instruction + " {" + operands[2] + "}, {" + operands[0] + "}, {" + operands[1] +
          "}, {" + operands[2] + "};\n";
  const std::size_t count = words(s.c) / (wide ? 2 : 1);
  for (std::size_t i = 0; i < count; ++i) {
    text += std::string("st.global.") +
            (wide   ? "f64"
             : real ? "f32"
                    : "b32") +
            " [%pc+" + std::to_string(i * (wide ? 8 : 4)) + "], %c" + std::to_string(i) + ";\n";
  }
  text += "ret;\n}\n";
  Bench bench(text);
  const auto at_a = bench.upload(from_a, "a"), at_b = bench.upload(from_b, "b"),
             at_c = bench.upload(from_c, "c");
  const LaunchSummary summary = bench.run("k", {1}, {32}, {}, at_a, at_b, at_c);
  EXPECT_TRUE(summary.complete()) << summary.message;
  EXPECT_EQ(bench.download<std::uint32_t>(at_c, from_c.size()), expected) << s.instruction;
}

std::string mma(const std::string& rest) {
  return "mma.sync.aligned." + rest;
}

TEST(Mma, SixteenBitFloats) {
  check({mma("m16n8k8.row.col.f32.f16.f16.f32"), 16, 8, -8, 8, a16(8, 2, 16, as_f16),
         b(8, 2, 16, as_f16), c(16, 32, as_f32)});
  check({mma("m16n8k16.row.col.f32.f16.f16.f32"), 16, 16, -8, 8, a16(16, 2, 16, as_f16),
         b(16, 2, 16, as_f16), c(16, 32, as_f32)});
  check({mma("m16n8k16.row.col.f16.f16.f16.f16"), 16, 16, -8, 8, a16(16, 2, 16, as_f16),
         b(16, 2, 16, as_f16), c(16, 16, as_f16)});
  check({mma("m16n8k8.row.col.f32.bf16.bf16.f32"), 16, 8, -8, 8, a16(8, 2, 16, as_bf16),
         b(8, 2, 16, as_bf16), c(16, 32, as_f32)});
  check({mma("m16n8k16.row.col.f32.bf16.bf16.f32"), 16, 16, -8, 8, a16(16, 2, 16, as_bf16),
         b(16, 2, 16, as_bf16), c(16, 32, as_f32)});
}

TEST(Mma, Tf32) {
  for (const int k : {4, 8}) {
    check({mma("m16n8k" + std::to_string(k) + ".row.col.f32.tf32.tf32.f32"), 16, k, -8, 8,
           a16(k, 1, 32, as_f32), b(k, 1, 32, as_f32), c(16, 32, as_f32)});
  }
}

TEST(Mma, F64) {
  check({mma("m8n8k4.row.col.f64.f64.f64.f64"), 8, 4, -99, 99, a8(4, 1, 64, as_f64),
         b(4, 1, 64, as_f64), c(8, 64, as_f64)});
  for (const int k : {4, 8, 16}) {
    check({mma("m16n8k" + std::to_string(k) + ".row.col.f64.f64.f64.f64"), 16, k, -99, 99,
           a16(k, 1, 64, as_f64), b(k, 1, 64, as_f64), c(16, 64, as_f64)});
  }
}

TEST(Mma, Integers) {
  check({mma("m8n8k16.row.col.s32.s8.s8.s32"), 8, 16, -128, 127, a8(16, 4, 8, as_integer),
         b(16, 4, 8, as_integer), c(8, 32, as_integer)});
  check({mma("m16n8k16.row.col.s32.s8.s8.s32"), 16, 16, -128, 127, a16(16, 4, 8, as_integer),
         b(16, 4, 8, as_integer), c(16, 32, as_integer)});
  check({mma("m16n8k32.row.col.s32.s8.s8.s32"), 16, 32, -128, 127, a16(32, 4, 8, as_integer),
         b(32, 4, 8, as_integer), c(16, 32, as_integer)});
  check({mma("m16n8k32.row.col.satfinite.s32.u8.u8.s32"), 16, 32, 0, 255, a16(32, 4, 8, as_integer),
         b(32, 4, 8, as_integer), c(16, 32, as_integer)});
  check({mma("m16n8k64.row.col.s32.s4.s4.s32"), 16, 64, -8, 7, a16(64, 8, 4, as_integer),
         b(64, 8, 4, as_integer), c(16, 32, as_integer)});
}

TEST(Mma, Bits) {
  check({mma("m16n8k256.row.col.s32.b1.b1.s32.xor.popc"), 16, 256, 0, 1,
         a16(256, 32, 1, as_integer), b(256, 32, 1, as_integer), c(16, 32, as_integer),
         [](int x, int y) { return x ^ y; }});
  check({mma("m16n8k256.row.col.s32.b1.b1.s32.and.popc"), 16, 256, 0, 1,
         a16(256, 32, 1, as_integer), b(256, 32, 1, as_integer), c(16, 32, as_integer),
         [](int x, int y) { return x & y; }});
}

TEST(Mma, ShapesThatDoNotExistAreRefused) {
  for (const std::string text : {
           "mma.sync.aligned.m16n8k12.row.col.f32.f16.f16.f32 {%r0,%r1,%r2,%r3}, {%r4,%r5,%r6}, "
           "{%r8,%r9}, {%r0,%r1,%r2,%r3};",
           "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f16 {%r0,%r1,%r2,%r3}, "
           "{%r4,%r5,%r6,%r7}, {%r8,%r9}, {%r0,%r1};",
           "mma.sync.aligned.m16n8k16.col.col.f32.f16.f16.f32 {%r0,%r1,%r2,%r3}, "
           "{%r4,%r5,%r6,%r7}, {%r8,%r9}, {%r0,%r1,%r2,%r3};",
           "mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f32 {%r0,%r1,%r2,%r3}, {%r4,%r5}, "
           "{%r6,%r7}, {%r8,%r9,%r10,%r11,%r12,%r13,%r14,%r15};",
           "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%r0,%r1,%r2,%r3}, "
           "{%r4,%r5,%r6,%r7}, {%r8,%r9,%r10,%r11}, {%r0,%r1,%r2,%r3}, %r12, 2;",
           "mma.sp.sync.aligned.m16n8k64.row.col.f32.f16.f16.f32 {%r0,%r1,%r2,%r3}, "
           "{%r4,%r5,%r6,%r7}, {%r8,%r9,%r10,%r11}, {%r0,%r1,%r2,%r3}, %r12, 0;",
       }) {
    Bench bench(std::string(kHeader) + ".visible .entry k() { .reg .b32 %r<16>;\n" + text +
                "\nret; }\n");
    EXPECT_THROW(bench.module->program("k"), Error) << text;
  }
}

// Four 8 x 8 matrices of 16-bit elements, a row in 16 bytes. x2 is what ldmatrix gives; y what
// stmatrix.trans makes of that in shared memory; z the first matrix after movmatrix.
TEST(MatrixMoves, LoadStoreAndTranspose) {
  Bench bench(std::string(kHeader) + R"(
.visible .entry k(.param .u64 px, .param .u64 py, .param .u64 pz) {
.reg .b32 %r<20>; .reg .b64 %rd<10>; .shared .align 16 .b8 s[512]; .shared .align 16 .b8 t[512];
ld.param.u64 %rd1, [px]; ld.param.u64 %rd2, [py]; ld.param.u64 %rd3, [pz]; mov.u32 %r1, %tid.x;
mul.wide.u32 %rd4, %r1, 16; add.u64 %rd5, %rd1, %rd4; mul.lo.u32 %r2, %r1, 16;
mov.u32 %r3, s; add.u32 %r3, %r3, %r2; mov.u32 %r4, t; add.u32 %r4, %r4, %r2;
ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd5]; st.shared.v4.u32 [%r3], {%r5, %r6, %r7, %r8};
bar.sync 0;
ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r5, %r6, %r7, %r8}, [%r3];
stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%r4], {%r5, %r6, %r7, %r8};
movmatrix.sync.aligned.m8n8.trans.b16 %r9, %r5;
mul.wide.u32 %rd6, %r1, 4; add.u64 %rd7, %rd3, %rd6; st.global.u32 [%rd7], %r9;
bar.sync 0;
ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r4]; add.u64 %rd8, %rd2, %rd4;
st.global.v4.u32 [%rd8], {%r10, %r11, %r12, %r13};
ret; })");
  std::vector<std::uint16_t> in(256);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::uint16_t>(i * 257);
  const auto x = bench.upload(in, "x"), y = bench.machine.allocate(512, "y"),
             z = bench.machine.allocate(128, "z");
  EXPECT_TRUE(bench.run("k", {1}, {32}, {}, x, y, z).complete());
  const auto stored = bench.download<std::uint16_t>(y, 256);
  const auto moved = bench.download<std::uint16_t>(z, 64);
  for (std::size_t i = 0; i < 256; ++i) {
    const std::size_t transposed = i / 64 * 64 + i % 8 * 8 + i / 8 % 8;
    EXPECT_EQ(stored[i], in[transposed]) << i;
    if (i < 64) {
      EXPECT_EQ(moved[i], in[transposed]) << i;
    }
  }
}

}  // namespace
}  // namespace tilescope::emulator::test
