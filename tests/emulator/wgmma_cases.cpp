#include <utility>

#include "emulator/matrix_case_text.hpp"
#include "emulator/matrix_cases.hpp"

namespace tilescope::testing {
namespace {

constexpr std::uint64_t descriptor(unsigned start, unsigned leading, unsigned stride,
                                   unsigned swizzle, unsigned base_offset = 0) {
  return std::uint64_t{start / 16} | std::uint64_t{leading / 16} << 16 |
         std::uint64_t{stride / 16} << 32 | std::uint64_t{base_offset} << 49 |
         std::uint64_t{swizzle} << 62;
}

struct Wgmma {
  std::string d, a, b;
  unsigned n, k;  ///< of the instruction: a sparse one's k counts what is left out too
  bool a_shared = true, sparse = false, saturated = false, accumulates = true;
  unsigned selector = 0, swizzle = 0;
  int scale_a = 1, scale_b = 1;
  unsigned transposed_a = 0, transposed_b = 0;
  bool first_warp_only = false;
};

constexpr unsigned kSixteenBytesSwizzled[4] = {2, 8, 4, 2};  // a row, in 16-byte chunks

/// The instruction without its operands.
std::string instruction(const Wgmma& s) {
  return std::string("wgmma.mma_async") + (s.sparse ? ".sp" : "") + ".sync.aligned.m64n" +
         number(s.n) + "k" + number(s.k) + "." + s.d + "." + s.a + "." + s.b +
         (s.a == "b1" ? ".and.popc" : "") + (s.saturated ? ".satfinite" : "");
}

/// A kernel with a block's two descriptors, then `image` words of shared memory before the words of
/// its threads.
KernelText wgmma_kernel(const Wgmma& s, unsigned image) {
  KernelText kernel(128, 4 + image, s.first_warp_only ? 32 : 128);
  const unsigned sums = s.n / (s.d == "f16" ? 4 : 2);
  kernel.line(".shared .align 1024 .b8 image[" + number(image * 4) + "];");
  kernel.line(
      ".reg .b64 %da, %db, %base, %source;\n.reg .b32 %i, %address, %word;\n"
      ".reg .pred %p, %more;\n"
      "mov.u32 %address, image;\nshr.u32 %i, %address, 4;\ncvt.u64.u32 %base, %i;\n"
      "ld.global.b64 %da, [%in];\nadd.u64 %da, %da, %base;\n"
      "ld.global.b64 %db, [%in+8];\nadd.u64 %db, %db, %base;\n"
      "mov.u32 %i, %thread;\nCOPY:\n"
      "mad.wide.u32 %source, %i, 4, %in;\nld.global.b32 %word, [%source+16];\n"
      "mov.u32 %address, image;\nmad.lo.u32 %address, %i, 4, %address;\n"
      "st.shared.b32 [%address], %word;\n"
      "add.u32 %i, %i, 128;\nsetp.lt.u32 %more, %i, " +
      number(image) + ";\n@%more bra COPY;\nfence.proxy.async;\nbar.sync 0;");
  if (!s.a_shared) kernel.load("a", 4, false);
  kernel.load("d", sums, false);
  std::string operands = list("d", sums) + ", " + (s.a_shared ? "%da" : list("a", 4)) + ", %db";
  if (s.sparse) {
    kernel.load("e", 1, false);
    operands += ", %e0, " + number(s.selector);
  }
  operands += ", %p";
  if (is_real(s.a)) {
    operands += ", " + std::to_string(s.scale_a) + ", " + std::to_string(s.scale_b);
    if (bits_of(s.a) == 16) {
      if (s.a_shared) operands += ", " + number(s.transposed_a);
      operands += ", " + number(s.transposed_b);
    }
  }
  kernel.line("setp.eq.u32 %p, 0, " + number(s.accumulates ? 0 : 1) + ";");
  kernel.line("wgmma.fence.sync.aligned;\n" + instruction(s) + " " + operands +
              ";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;");
  std::string guard;
  if (s.first_warp_only) {
    kernel.line("setp.lt.u32 %p, %thread, 32;");
    guard = "@%p ";
  }
  kernel.store("d", sums, false, guard);
  return kernel;
}

void put_descriptors(std::uint32_t* to, std::uint64_t a, std::uint64_t b) {
  to[0] = static_cast<std::uint32_t>(a);
  to[1] = static_cast<std::uint32_t>(a >> 32);
  to[2] = static_cast<std::uint32_t>(b);
  to[3] = static_cast<std::uint32_t>(b >> 32);
}

MatrixCase wgmma_case(const Wgmma& s) {
  MatrixCase c;
  c.threads = 128;
  const unsigned row = s.swizzle == 0 ? 0 : kSixteenBytesSwizzled[s.swizzle] * 16;
  const unsigned a_group = row != 0 ? row * 8 : 256;
  const unsigned b_group = row != 0 ? row * 8 : s.sparse ? 512 : 256;
  const unsigned a_words = 8 * a_group / 4, b_words = s.n / 8 * b_group / 4;
  const KernelText kernel = wgmma_kernel(s, a_words + b_words);
  c.name = instruction(s) + (s.a_shared ? "" : " A in registers") +
           (s.sparse ? " selector " + number(s.selector) : "") +
           (s.swizzle != 0 ? " swizzle " + number(row) : "") + (s.scale_a < 0 ? " -A" : "") +
           (s.scale_b < 0 ? " -B" : "") + (s.accumulates ? "" : " without C") +
           (s.transposed_a != 0 ? " A transposed" : "") +
           (s.transposed_b != 0 ? " B transposed" : "");
  c.ptx = kernel.text();
  c.blocks = s.n > 16 ? 1 : blocks_for(s.a, 1);
  c.out_words = kernel.out_words();
  c.in.resize(std::size_t{c.blocks} * kernel.in_words());
  MatrixRandom random(c.name);
  std::uint32_t* at = c.in.data();
  for (unsigned block = 0; block < c.blocks; ++block) {
    auto regime = static_cast<MatrixRegime>(block % unsigned(MatrixRegime::count));
    if (c.blocks == 1) regime = MatrixRegime::spread;
    put_descriptors(at, descriptor(0, 128, a_group, s.swizzle),
                    descriptor(a_words * 4, 128, b_group, s.swizzle));
    at += 4;
    fill_matrix_values({at, a_words}, s.a, MatrixRole::a, regime, random);
    at += a_words;
    fill_matrix_values({at, b_words}, s.b, MatrixRole::b, regime, random);
    at += b_words;
    const unsigned sums = s.n / (s.d == "f16" ? 4 : 2);
    for (unsigned thread = 0; thread < 128; ++thread) {
      if (!s.a_shared) {
        fill_matrix_values({at, 4}, s.a, MatrixRole::a, regime, random);
        at += 4;
      }
      fill_matrix_values({at, sums}, s.d, MatrixRole::c, regime, random);
      at += sums;
      if (s.sparse) *at++ = metadata(s.a, true, random);
    }
  }
  return c;
}

struct Multiplicands {
  std::string d, a, b;
  unsigned k;
};

std::vector<Multiplicands> wgmma_types() {
  std::vector<Multiplicands> all = {{"f16", "f16", "f16", 16},
                                    {"f32", "f16", "f16", 16},
                                    {"f32", "bf16", "bf16", 16},
                                    {"f32", "tf32", "tf32", 8}};
  for (const char* a : {"e4m3", "e5m2"}) {
    for (const char* b : {"e4m3", "e5m2"}) {
      for (const char* d : {"f16", "f32"}) all.push_back({d, a, b, 32});
    }
  }
  for (const char* a : {"s8", "u8"}) {
    for (const char* b : {"s8", "u8"}) all.push_back({"s32", a, b, 32});
  }
  all.push_back({"s32", "b1", "b1", 256});
  return all;
}

/// The value of 16-bit word i of the image in a layout case: both fit f16.
unsigned part_of_index(unsigned i, bool high) {
  return high ? i >> 10 : i & 1023;
}

std::uint32_t small_f16(unsigned value) {  // below 2048
  if (value == 0) return 0;
  unsigned exponent = 0;
  while (value >> (exponent + 1) != 0) ++exponent;
  return (exponent + 15) << 10 | (value << (10 - exponent) & 1023);
}

constexpr unsigned kLayoutImage = 8192;  // words: 32 KiB
constexpr unsigned kUnitMatrix = 128;    // words behind it: 16 x 16, K-major, not swizzled

struct Offsets {
  unsigned start, base_offset;
};

void fill_layout_block(std::uint32_t* at, const Wgmma& s, std::uint64_t examined, bool high) {
  const std::uint64_t unit = descriptor(kLayoutImage * 4, 128, 256, 0);
  put_descriptors(at, s.a_shared ? examined : 0, s.a_shared ? unit : examined);
  at += 4;
  for (unsigned i = 0; i < kLayoutImage; ++i) {
    *at++ = small_f16(part_of_index(2 * i, high)) | small_f16(part_of_index(2 * i + 1, high)) << 16;
  }
  for (unsigned n = 0; n < 16; ++n) {  // two groups of 8 rows, each two halves of k
    const unsigned half = n / 8;
    const unsigned place = n / 8 * 128 + half * 64 + n % 8 * 8 + n % 8;
    at[place / 2] = place % 2 != 0 ? 0x3c000000 : 0x3c00;
  }
  at += kUnitMatrix;
  if (s.a_shared) return;
  const unsigned sums = s.n / 4;
  for (unsigned thread = 0; thread < 128; ++thread) {
    const unsigned row = thread % 32 / 4, column = thread % 4 * 2;
    const std::uint32_t ones = row == column ? 0x3c00 : row == column + 1 ? 0x3c000000 : 0;
    at[0] = at[3] = ones;
    at += 4 + sums;
  }
}

MatrixCase layout_case(bool of_a, unsigned transposed) {
  Wgmma s{"f16", "f16", "f16", of_a ? 16u : 128u, 16};
  s.a_shared = of_a;
  s.accumulates = false;
  s.first_warp_only = !of_a;
  (of_a ? s.transposed_a : s.transposed_b) = transposed;
  const KernelText kernel = wgmma_kernel(s, kLayoutImage + kUnitMatrix);
  MatrixCase c;
  c.threads = 128;
  c.name = std::string("layout of ") + (of_a ? "A" : "B") + (transposed != 0 ? " transposed" : "");
  c.ptx = kernel.text();
  c.out_words = kernel.out_words();
  constexpr Offsets kOffsets[] = {{0, 0}, {32, 0}, {112, 0}, {384, 0}, {384, 3}, {0, 2}, {2704, 5}};
  for (unsigned swizzle = 0; swizzle < 4; ++swizzle) {
    for (const auto& [leading, stride] : {std::pair{208u, 1040u}, std::pair{1536u, 1024u}}) {
      for (const Offsets& o : kOffsets) {
        for (const bool high : {false, true}) {
          c.in.resize(c.in.size() + kernel.in_words());
          fill_layout_block(c.in.data() + c.in.size() - kernel.in_words(), s,
                            descriptor(o.start, leading, stride, swizzle, o.base_offset), high);
        }
      }
    }
  }
  c.blocks = static_cast<unsigned>(c.in.size() / kernel.in_words());
  return c;
}

}  // namespace

std::vector<MatrixCase> wgmma_cases() {
  std::vector<MatrixCase> cases;
  for (const Multiplicands& t : wgmma_types()) {
    Wgmma s{t.d, t.a, t.b, 8, t.k};
    cases.push_back(wgmma_case(s));
    s.a_shared = false;
    cases.push_back(wgmma_case(s));
    for (const unsigned swizzle : {1u, 2u, 3u}) {
      s.n = swizzle == 1 ? (t.k == 16 ? 256 : 48) : swizzle == 2 ? 64 : 24;
      s.swizzle = swizzle;
      s.a_shared = true;
      cases.push_back(wgmma_case(s));
    }
    s = {t.d, t.a, t.b, 16, t.k};
    s.accumulates = false;
    cases.push_back(wgmma_case(s));
    s.accumulates = true;
    if (t.d == "s32" && t.a != "b1") {
      s.saturated = true;
      cases.push_back(wgmma_case(s));
    }
    if (is_real(t.a)) {
      s.scale_a = -1;
      cases.push_back(wgmma_case(s));
      s.scale_b = -1;
      cases.push_back(wgmma_case(s));
    }
    if (t.a == "b1") continue;
    s = {t.d, t.a, t.b, 8, 2 * t.k};
    s.sparse = true;
    for (s.selector = 0; s.selector < (bits_of(t.a) == 8 ? 1u : 2u); ++s.selector) {
      for (const bool shared : {true, false}) {
        s.a_shared = shared;
        s.swizzle = 0;
        s.n = 8;
        cases.push_back(wgmma_case(s));
      }
      s.a_shared = true;
      s.swizzle = 1 + s.selector;
      s.n = 32;
      cases.push_back(wgmma_case(s));
    }
  }
  return cases;
}

std::vector<MatrixCase> wgmma_layout_cases() {
  return {layout_case(true, 0), layout_case(true, 1), layout_case(false, 0), layout_case(false, 1)};
}

}  // namespace tilescope::testing
