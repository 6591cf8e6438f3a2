#include <algorithm>

#include "emulator/matrix_case_text.hpp"
#include "emulator/matrix_cases.hpp"

namespace tilescope::testing {
namespace {

struct Mma {
  std::string shape, d, a, b, c;
  unsigned m, n, k;
  std::string layouts = "row.col";
  std::string tail = {};  ///< behind the types: .and.popc
  bool sparse = false, ordered = false, saturated = false;
  unsigned selector = 0;
};

MatrixCase mma_case(const Mma& s) {
  MatrixCase c;
  c.name = "mma";
  if (s.sparse) c.name += s.ordered ? ".sp::ordered_metadata" : ".sp";
  c.name += ".sync.aligned." + s.shape + "." + s.layouts + (s.saturated ? ".satfinite" : "") + "." +
            s.d + "." + s.a + "." + s.b + "." + s.c + s.tail;
  const bool wide = s.a == "f64";
  const unsigned unit = wide ? 64 : 32;
  const unsigned copies = s.shape == "m8n8k4" && s.a == "f16" ? 4 : 1;  // four products at once
  const auto registers = [&](unsigned elements, const std::string& type) {
    return std::max(1u, copies * elements * bits_of(type) / 32 / unit);
  };
  const unsigned a = registers(s.m * s.k / (s.sparse ? 2 : 1), s.a);
  const unsigned b = registers(s.k * s.n, s.b), d = registers(s.m * s.n, s.d);
  const unsigned addend = registers(s.m * s.n, s.c);
  KernelText kernel(32, 0, 32);
  kernel.load("a", a, wide);
  kernel.load("b", b, wide);
  kernel.load("c", addend, wide);
  std::string sparsity;
  if (s.sparse) {
    kernel.load("e", 1, false);
    sparsity = ", %e0, " + number(s.selector);
  }
  kernel.line(".reg .b" + number(unit) + " %d<" + number(d) + ">;");
  kernel.line(c.name + " " + list("d", d) + ", " + list("a", a) + ", " + list("b", b) + ", " +
              list("c", addend) + sparsity + ";");
  kernel.store("d", d, wide);
  if (s.sparse) c.name += " selector " + number(s.selector);
  c.ptx = kernel.text();
  c.blocks = blocks_for(s.a, s.sparse ? 1 : 2);
  c.out_words = kernel.out_words();
  c.in.resize(std::size_t{c.blocks} * kernel.in_words());
  MatrixRandom random(c.name);
  std::uint32_t* at = c.in.data();
  const std::size_t words = wide ? 2 : 1;
  for (unsigned block = 0; block < c.blocks; ++block) {
    const auto regime = static_cast<MatrixRegime>(block % unsigned(MatrixRegime::count));
    for (unsigned thread = 0; thread < 32; ++thread) {
      fill_matrix_values({at, a * words}, s.a, MatrixRole::a, regime, random);
      at += a * words;
      fill_matrix_values({at, b * words}, s.b, MatrixRole::b, regime, random);
      at += b * words;
      fill_matrix_values({at, addend * words}, s.c, MatrixRole::c, regime, random);
      at += addend * words;
      if (s.sparse) *at++ = metadata(s.a, s.ordered, random);
    }
  }
  return c;
}

/// Loads from and stores to memory: wmma leaves the layout of registers open.
MatrixCase wmma_case(const Mma& s) {
  MatrixCase c;
  const bool brief = s.a == "f16";
  c.name = "wmma.mma.sync.aligned." + s.layouts + "." + s.shape + (s.a == "f64" ? ".rn" : "") +
           "." + s.d + (brief ? "" : "." + s.a + "." + s.b) + "." + s.c;
  const bool wide = s.a == "f64";
  const auto words = [&](unsigned elements, const std::string& type) {
    return elements * bits_of(type) / 32;
  };
  // Registers: f16 multiplicands take 8, although 4 would do.
  const unsigned a = s.a == "f16" ? 8 : words(s.m * s.k, s.a) / (wide ? 64 : 32);
  const unsigned b = s.a == "f16" ? 8 : words(s.k * s.n, s.b) / (wide ? 64 : 32);
  const auto sum = [&](const std::string& type) {
    return words(s.m * s.n, type) / (wide ? 64 : 32);
  };
  const unsigned head = words(s.m * s.k, s.a) + words(s.k * s.n, s.b) + words(s.m * s.n, s.c);
  KernelText kernel(32, head, 32);
  const std::string type = wide ? ".reg .b64 %" : ".reg .b32 %";
  kernel.line(type + "a<" + number(a) + ">;\n" + type + "b<" + number(b) + ">;\n" + type + "c<" +
              number(sum(s.c)) + ">;\n" + type + "d<" + number(sum(s.d)) + ">;");
  const auto load = [&](const char* part, unsigned count, const std::string& t,
                        const std::string& layout, unsigned stride, unsigned offset) {
    kernel.line(std::string("wmma.load.") + part + ".sync.aligned." + layout + "." + s.shape +
                ".global." + t + " " + list(part, count) + ", [%in+" + number(offset * 4) + "], " +
                number(stride) + ";");
  };
  const std::string a_layout = s.layouts.substr(0, 3), b_layout = s.layouts.substr(4);
  load("a", a, s.a, a_layout, a_layout == "row" ? s.k : s.m, 0);
  load("b", b, s.b, b_layout, b_layout == "row" ? s.n : s.k, words(s.m * s.k, s.a));
  load("c", sum(s.c), s.c, "row", s.n, words(s.m * s.k, s.a) + words(s.k * s.n, s.b));
  kernel.line(c.name + " " + list("d", sum(s.d)) + ", " + list("a", a) + ", " + list("b", b) +
              ", " + list("c", sum(s.c)) + ";");
  const unsigned out = words(s.m * s.n, s.d);
  kernel.line("ld.param.u64 %to, [out];\nmad.wide.u32 %to, %number, " + number(out * 4) + ", %to;");
  kernel.line("wmma.store.d.sync.aligned.row." + s.shape + ".global." + s.d + " [%to], " +
              list("d", sum(s.d)) + ", " + number(s.n) + ";");
  c.ptx = kernel.text();
  c.blocks = blocks_for(s.a, 1);
  c.out_words = out;
  c.in.resize(std::size_t{c.blocks} * head);
  MatrixRandom random(c.name);
  std::uint32_t* at = c.in.data();
  for (unsigned block = 0; block < c.blocks; ++block) {
    const auto regime = static_cast<MatrixRegime>(block % unsigned(MatrixRegime::count));
    const auto fill = [&](unsigned count, const std::string& t, MatrixRole role) {
      fill_matrix_values({at, count}, t, role, regime, random);
      at += count;
    };
    fill(words(s.m * s.k, s.a), s.a, MatrixRole::a);
    fill(words(s.k * s.n, s.b), s.b, MatrixRole::b);
    fill(words(s.m * s.n, s.c), s.c, MatrixRole::c);
  }
  return c;
}

Mma m16n8(unsigned k, const std::string& d, const std::string& a, const std::string& b) {
  return {"m16n8k" + number(k), d, a, b, d, 16, 8, k};
}

void add_real(std::vector<Mma>& all) {
  for (const unsigned k : {8u, 16u}) {
    for (const char* d : {"f16", "f32"}) all.push_back(m16n8(k, d, "f16", "f16"));
    all.push_back(m16n8(k, "f32", "bf16", "bf16"));
    all.push_back(m16n8(k / 2, "f32", "tf32", "tf32"));
  }
  for (const unsigned k : {16u, 32u}) {
    for (const char* d : {"f16", "f32"}) {
      for (const char* a : {"e4m3", "e5m2"}) {
        for (const char* b : {"e4m3", "e5m2"}) all.push_back(m16n8(k, d, a, b));
      }
    }
  }
  all.push_back({"m8n8k4", "f64", "f64", "f64", "f64", 8, 8, 4});
  for (const unsigned k : {4u, 8u, 16u}) all.push_back(m16n8(k, "f64", "f64", "f64"));
  for (const char* layouts : {"row.col", "row.row", "col.col", "col.row"}) {
    all.push_back({"m8n8k4", "f32", "f16", "f16", "f32", 8, 8, 4, layouts});
    all.push_back({"m8n8k4", "f32", "f16", "f16", "f16", 8, 8, 4, layouts});
    all.push_back({"m8n8k4", "f16", "f16", "f16", "f16", 8, 8, 4, layouts});
  }
}

void add_integer(std::vector<Mma>& all) {
  for (const bool saturated : {false, true}) {
    for (const unsigned bits : {8u, 4u}) {
      const std::string s = "s" + number(bits), u = "u" + number(bits);
      const unsigned k = 128 / bits;
      Mma small{"m8n8k" + number(k), "s32", s, u, "s32", 8, 8, k};
      small.saturated = saturated;
      all.push_back(small);
      for (const auto& [a, b] :
           {std::pair{s, s}, std::pair{s, u}, std::pair{u, s}, std::pair{u, u}}) {
        Mma one = m16n8(k, "s32", a, b), two = m16n8(2 * k, "s32", a, b);
        one.saturated = two.saturated = saturated;
        all.push_back(one);
        all.push_back(two);
      }
    }
  }
  for (const char* tail : {".xor.popc", ".and.popc"}) {
    Mma small{"m8n8k128", "s32", "b1", "b1", "s32", 8, 8, 128};
    small.tail = tail;
    all.push_back(small);
    for (const unsigned k : {128u, 256u}) {
      Mma bits = m16n8(k, "s32", "b1", "b1");
      bits.tail = tail;
      all.push_back(bits);
    }
  }
}

void add_sparse(std::vector<Mma>& all) {
  const auto add = [&](Mma s, unsigned selectors) {
    s.sparse = true;
    for (const bool ordered : {true, false}) {
      s.ordered = ordered;
      for (s.selector = 0; s.selector < selectors; ++s.selector) all.push_back(s);
    }
  };
  add(m16n8(16, "f16", "f16", "f16"), 4);
  add(m16n8(16, "f32", "f16", "f16"), 4);
  add(m16n8(32, "f16", "f16", "f16"), 2);
  add(m16n8(32, "f32", "f16", "f16"), 2);
  add(m16n8(16, "f32", "bf16", "bf16"), 4);
  add(m16n8(32, "f32", "bf16", "bf16"), 2);
  add(m16n8(8, "f32", "tf32", "tf32"), 4);
  add(m16n8(16, "f32", "tf32", "tf32"), 2);
  add(m16n8(32, "s32", "s8", "u8"), 2);
  add(m16n8(64, "s32", "u8", "s8"), 1);
  add(m16n8(64, "s32", "s4", "u4"), 2);
  add(m16n8(128, "s32", "u4", "s4"), 1);
  add(m16n8(64, "f32", "e4m3", "e5m2"), 1);
  add(m16n8(64, "f32", "e5m2", "e4m3"), 1);
}

}  // namespace

std::vector<MatrixCase> mma_cases() {
  std::vector<Mma> all;
  add_real(all);
  add_integer(all);
  add_sparse(all);
  std::vector<MatrixCase> cases;
  for (const Mma& s : all) cases.push_back(mma_case(s));
  for (const char* layouts : {"row.col", "col.row"}) {
    for (const auto& [d, c] : {std::pair{"f32", "f32"}, std::pair{"f16", "f16"},
                               std::pair{"f32", "f16"}, std::pair{"f16", "f32"}}) {
      cases.push_back(wmma_case({"m16n16k16", d, "f16", "f16", c, 16, 16, 16, layouts}));
    }
    cases.push_back(wmma_case({"m8n32k16", "f32", "f16", "f16", "f32", 8, 32, 16, layouts}));
    cases.push_back(wmma_case({"m16n16k16", "f32", "bf16", "bf16", "f32", 16, 16, 16, layouts}));
    cases.push_back(wmma_case({"m16n16k8", "f32", "tf32", "tf32", "f32", 16, 16, 8, layouts}));
    cases.push_back(wmma_case({"m8n8k4", "f64", "f64", "f64", "f64", 8, 8, 4, layouts}));
  }
  return cases;
}

}  // namespace tilescope::testing
