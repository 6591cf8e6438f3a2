// Tensor copies: random boxes of every mode against a reference that goes element by element, what
// an H200 made of random cases, maps that kernels make, and maps against the rules.
#include "emulator/tensor_runs.hpp"

namespace tilescope::emulator::test {
namespace {

using ::testing::HasSubstr;

/// One element of the box: its offset in the tensor, or nothing outside.
struct Element {
  bool inside;
  std::size_t in_tensor, in_shared;
};

/// Swizzled rows lie a whole span apart.
std::size_t place_in_shared(const TensorCase& c, std::size_t row, std::size_t x,
                            std::size_t row_elements) {
  const std::size_t size = byte_size(c.element());
  const std::size_t pitch = c.swizzle == 0 ? row_elements * size : std::size_t{16} << c.swizzle;
  const std::size_t plain = c.shared_offset + row * pitch + x * size;
  const std::size_t chunk_bits = (std::size_t{1} << c.swizzle) - 1;  // 0, 1, 3, 7
  return plain ^ ((plain >> 7 & chunk_bits) << 4);
}

/// A store writes the 16 bytes in which a row of the tensor ends.
long long row_end(const TensorCase& c) {
  const auto size = static_cast<long long>(byte_size(c.element()));
  return c.operation == TensorCase::load ? c.dims[0] : (c.dims[0] * size + 15) / 16 * 16 / size;
}

Element element_at(const TensorCase& c, const std::array<long long, 5>& at, std::size_t shared) {
  bool inside = at[0] >= 0 && at[0] < row_end(c);
  long long offset = at[0] * static_cast<long long>(byte_size(c.element()));
  for (std::size_t d = 1; d < static_cast<std::size_t>(c.rank); ++d) {
    inside = inside && at[d] >= 0 && at[d] < c.dims[d];
    offset += at[d] * c.strides[d - 1];
  }
  return {inside, static_cast<std::size_t>(offset), shared};
}

std::vector<Element> tile_elements(const TensorCase& c) {
  std::vector<Element> elements;
  std::array<long long, 5> step{1, 1, 1, 1, 1};
  std::array<long long, 5> count{1, 1, 1, 1, 1};
  for (std::size_t d = 0; d < static_cast<std::size_t>(c.rank); ++d) {
    if (d > 0) step[d] = c.element_strides[d];
    count[d] = (c.box[d] + step[d] - 1) / step[d];
  }
  std::size_t row = 0;
  const auto width = static_cast<std::size_t>(count[0]);
  for (long long e = 0; e < count[4]; ++e)
    for (long long d = 0; d < count[3]; ++d)
      for (long long h = 0; h < count[2]; ++h)
        for (long long w = 0; w < count[1]; ++w, ++row)
          for (long long x = 0; x < count[0]; ++x) {
            const std::array<long long, 5> at{
                c.coordinates[0] + x * step[0], c.coordinates[1] + w * step[1],
                c.coordinates[2] + h * step[2], c.coordinates[3] + d * step[3],
                c.coordinates[4] + e * step[4]};
            elements.push_back(
                element_at(c, at, place_in_shared(c, row, static_cast<std::size_t>(x), width)));
          }
  return elements;
}

std::vector<Element> column_elements(const TensorCase& c) {
  std::vector<Element> elements;
  const auto batch = static_cast<std::size_t>(c.rank) - 1;
  std::array<long long, 5> pixel{};
  for (std::size_t d = 0; d <= batch; ++d) pixel[d] = c.coordinates[d];
  for (int p = 0; p < c.pixels; ++p) {
    for (int x = 0; x < c.channels; ++x) {
      std::array<long long, 5> at = pixel;
      at[0] += x;
      for (std::size_t d = 1; d < batch; ++d) at[d] += c.offsets[d - 1];
      elements.push_back(
          element_at(c, at,
                     place_in_shared(c, static_cast<std::size_t>(p), static_cast<std::size_t>(x),
                                     static_cast<std::size_t>(c.channels))));
    }
    for (std::size_t d = 1; d <= batch; ++d) {
      pixel[d] += c.element_strides[d];
      if (d == batch || pixel[d] <= c.dims[d] - 1 + c.upper[d - 1]) break;
      pixel[d] = c.lower[d - 1];
    }
  }
  return elements;
}

TensorCase random_tile(std::mt19937& random, TensorCase::Operation operation) {
  const auto from = [&](int low, int high) {
    return std::uniform_int_distribution(low, high)(random);
  };
  TensorCase c;
  c.operation = operation;
  c.mode = operation != TensorCase::reduce && from(0, 3) == 0 ? 1 : 0;
  c.rank = from(c.mode == 0 ? 1 : 3, 5);
  c.type = from(0, 5);
  if (operation == TensorCase::reduce) c.type = 2, c.reduction = from(0, 7);
  c.swizzle = from(0, 3);
  const auto size = static_cast<int>(byte_size(c.element()));
  const int row = 16 * from(1, c.swizzle == 0 ? 8 : 1 << c.swizzle);
  const std::array<int, 6> most{0, 1, 40, 12, 6, 4};
  long long stride = 0;
  for (std::size_t d = 0; d < static_cast<std::size_t>(c.rank); ++d) {
    c.box[d] = d == 0 ? row / size : from(1, most[static_cast<std::size_t>(c.rank)]);
    c.dims[d] = from(1, c.box[d] + 4);
    c.element_strides[d] = from(0, 3) == 0 ? from(1, 3) : 1;
    c.coordinates[d] = from(-3, static_cast<int>(c.dims[d]));
    if (d == 0) c.coordinates[d] = c.coordinates[d] / 2 * (16 / size);
    if (d == 0) stride = (c.dims[0] * size + 15) / 16 * 16;
    if (d > 0) {
      c.strides[d - 1] = stride + 16 * from(0, 1);
      stride = c.strides[d - 1] * c.dims[d];
    }
  }
  if (c.mode == 1) {
    c.channels = c.box[0];
    c.pixels = from(1, 40);
    for (std::size_t i = 0; i + 2 < static_cast<std::size_t>(c.rank); ++i) {
      c.lower[i] = from(-3, 0);
      c.upper[i] = from(-3, 0);
      c.offsets[i] = operation == TensorCase::load ? from(0, 3) : 0;
      c.coordinates[i + 1] = from(c.lower[i], static_cast<int>(c.dims[i + 1]));
    }
  }
  if (operation != TensorCase::load) {
    for (int& x : c.coordinates) x = std::max(x, 0);
  }
  c.shared_offset = static_cast<unsigned>(128 * from(0, 8));
  return c;
}

std::uint32_t reduced(int reduction, std::uint32_t old, std::uint32_t b) {
  switch (reduction) {
    case 0:
      return old + b;
    case 1:
      return std::min(old, b);
    case 2:
      return std::max(old, b);
    case 3:
      return old >= b ? 0 : old + 1;
    case 4:
      return old == 0 || old > b ? b : old - 1;
    case 5:
      return old & b;
    case 6:
      return old | b;
    default:
      return old ^ b;
  }
}

bool fits(const TensorCase& c, const std::vector<Element>& elements) {
  for (const Element& e : elements) {
    if (e.in_shared + 8 > kTensorShared || (e.inside && e.in_tensor + 8 > kTensorBytes)) {
      return false;
    }
  }
  return c.map(0).box_extent() + c.shared_offset <= kTensorShared;
}

std::string text_of(const TensorCase& c) {
  return tensor_instruction(c) + " type " + std::to_string(c.type) + " swizzle " +
         std::to_string(c.swizzle);
}

/// Runs random copies until `wanted` of them fitted into the memories.
void compare_with_reference(TensorCase::Operation operation, int wanted) {
  std::mt19937 random(17 + static_cast<unsigned>(operation));
  for (int compared = 0; compared < wanted;) {
    const TensorCase c = random_tile(random, operation);
    ASSERT_EQ(tensor_map_problem(c.map(0)), "") << text_of(c);
    const std::vector<Element> elements = c.mode == 0 ? tile_elements(c) : column_elements(c);
    if (!fits(c, elements)) continue;
    ++compared;
    const TensorOutcome got = run_tensor(c);
    ASSERT_TRUE(got.summary.complete()) << got.summary.message << text_of(c);
    ASSERT_EQ(got.summary.fault_count, 0u) << got.summary.faults.front().text << text_of(c);
    const auto initial = initial_shared(c);
    std::vector<std::uint8_t> shared(kTensorShared), tensor(kTensorBytes);
    std::memcpy(shared.data(), initial.data(), kTensorShared);
    const auto words = tensor_words(kTensorBytes / 4, 0);
    std::memcpy(tensor.data(), words.data(), kTensorBytes);
    const std::size_t size = byte_size(c.element());
    for (const Element& e : elements) {
      if (operation == TensorCase::load) {
        if (e.inside) {
          std::memcpy(&shared[e.in_shared], &tensor[e.in_tensor], size);
        } else {
          std::memset(&shared[e.in_shared], 0, size);
        }
      } else if (e.inside && operation == TensorCase::store) {
        std::memcpy(&tensor[e.in_tensor], &shared[e.in_shared], size);
      } else if (e.inside) {
        std::uint32_t old, b;
        std::memcpy(&old, &tensor[e.in_tensor], 4);
        std::memcpy(&b, &shared[e.in_shared], 4);
        old = reduced(c.reduction, old, b);
        std::memcpy(&tensor[e.in_tensor], &old, 4);
      }
    }
    ASSERT_EQ(got.shared, shared) << text_of(c);
    ASSERT_EQ(got.tensor, tensor) << text_of(c);
  }
}

TEST(TensorCopy, RandomLoadsAgreeWithTheReference) {
  compare_with_reference(TensorCase::load, 150);
}
TEST(TensorCopy, RandomStoresAgreeWithTheReference) {
  compare_with_reference(TensorCase::store, 80);
}
TEST(TensorCopy, RandomReductionsAgreeWithTheReference) {
  compare_with_reference(TensorCase::reduce, 80);
}

/// A tensor of 16 x 16 words, boxes of 8 x 4.
TensorCase plain_case() {
  TensorCase c;
  c.rank = 2;
  c.type = 2;
  c.dims = {16, 16, 0, 0, 0};
  c.strides = {64, 0, 0, 0};
  c.box = {8, 4, 0, 0, 0};
  c.element_strides = {1, 1, 1, 1, 1};
  return c;
}

/// The first fault of a run of `instruction` with a map.
std::string fault_with(const TensorMapImage& map, const std::string& instruction) {
  const bool loads = instruction.find("complete_tx") != instruction.npos;
  Bench bench(tensor_kernel(instruction, loads ? 128 : 0));
  const auto from = bench.machine.allocate(kTensorShared, "from");
  const auto to = bench.machine.allocate(kTensorShared, "to");
  const auto tensor = bench.machine.allocate(1024, "tensor");
  TensorMapImage placed = map;
  placed.address += tensor;
  const auto at = bench.upload(std::vector<TensorMapImage>{placed}, "map");
  const LaunchSummary summary =
      bench.run("k", {1}, {1}, {.threads = 1, .max_instructions = 100'000}, from, to, at);
  EXPECT_TRUE(summary.complete()) << summary.message;
  return summary.faults.empty() ? "" : summary.faults.front().text;
}

TEST(TensorCopyFaults, EachHasOneClearLine) {
  const TensorCase c = plain_case();
  const std::string load = tensor_instruction(c);
  EXPECT_EQ(fault_with(c.map(0), load), "");
  TensorMapImage garbage;
  std::memset(static_cast<void*>(&garbage), 0x5a, sizeof garbage);
  EXPECT_THAT(fault_with(garbage, load), HasSubstr("the 128 bytes are no tensor map"));
  TensorCase other = c;
  other.rank = 3;
  EXPECT_THAT(fault_with(c.map(0), tensor_instruction(other)),
              HasSubstr("the tensor has 2 dimensions, and the copy 3 coordinates"));
  other = c;
  other.shared_offset = 64;
  EXPECT_THAT(fault_with(c.map(0), tensor_instruction(other)), HasSubstr("no multiple of 128"));
  other.shared_offset = kTensorShared;
  EXPECT_THAT(fault_with(c.map(0), tensor_instruction(other)),
              HasSubstr("shared store of 128 bytes"));
  other = c;
  other.dims[1] = 32;  // the allocation has half of it
  other.coordinates[1] = 14;
  EXPECT_THAT(fault_with(other.map(0), tensor_instruction(other)),
              HasSubstr("past the end of 'tensor' (1024 bytes)"));
  other = c;
  other.coordinates[0] = 3;
  EXPECT_THAT(fault_with(c.map(0), tensor_instruction(other)),
              HasSubstr("coordinate 0 is 3, at byte 12 of the row"));
  other = c;
  other.operation = TensorCase::store;
  other.coordinates[1] = -1;
  EXPECT_THAT(fault_with(c.map(0), tensor_instruction(other)),
              HasSubstr("coordinate 1 is -1; stores and reductions take none below 0"));
  other = c;
  other.operation = TensorCase::reduce;
  other.reduction = 3;
  TensorMapImage real = c.map(0);
  real.type = TensorElement::f32;
  EXPECT_THAT(fault_with(real, tensor_instruction(other)), HasSubstr("no such reduction"));
  TensorMapImage columns = c.map(0);
  columns.mode = TensorMode::im2col;
  columns.rank = 3;
  columns.channels = columns.pixels = 8;
  columns.extents[2] = 1;
  columns.strides[1] = 1024;
  other = c;
  other.rank = 3;
  EXPECT_THAT(fault_with(columns, tensor_instruction(other)), HasSubstr("it is for im2col copies"));
}

std::uint64_t hash_of(const std::vector<std::uint8_t>& bytes) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const std::uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3ull;
  return hash;
}

/// A line of the recording: the case, the driver's verdict on its map, the copy's outcome.
struct Recorded {
  TensorCase c;
  int verdict = 0, outcome = 0;
  std::uint64_t hash = 0;
};

std::vector<Recorded> recording() {
  std::istringstream lines(data_file("tensor_copies.txt"));
  std::vector<Recorded> all;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream in(line);
    Recorded r;
    in >> r.c >> r.verdict >> r.outcome >> std::hex >> r.hash;
    EXPECT_TRUE(in) << line;
    all.push_back(r);
  }
  return all;
}

TEST(TensorCopyOnAnH200, LeavesTheSameBytes) {
  int compared = 0, refused = 0;
  for (const Recorded& r : recording()) {
    if (r.outcome < 0) continue;
    // The chip refused every recorded im2col store; why is not known.
    if (r.c.operation == TensorCase::store && r.c.mode == 1) continue;
    TensorOutcome got = run_tensor(r.c);
    ASSERT_TRUE(got.summary.complete()) << text_of(r.c);
    if (r.outcome != 0) {
      ++refused;
      EXPECT_GT(got.summary.fault_count, 0u) << text_of(r.c);
      continue;
    }
    ++compared;
    ASSERT_EQ(got.summary.fault_count, 0u) << got.summary.faults.front().text << text_of(r.c);
    got.shared.push_back(0);  // the recorder's: as many bytes came as the barrier expected
    EXPECT_EQ(hash_of(r.c.operation == TensorCase::load ? got.shared : got.tensor), r.hash)
        << text_of(r.c);
  }
  EXPECT_GT(compared, 500);
  EXPECT_GT(refused, 80);
}

TEST(TensorMapOfTheDriver, IsRefusedWhereOursIs) {
  int accepted = 0, refused = 0;
  for (const Recorded& r : recording()) {
    const std::string problem = r.c.map_problem();
    EXPECT_EQ(problem.empty(), r.verdict == 0)
        << problem << "; rank " << r.c.rank << " type " << r.c.type << " mode " << r.c.mode;
    ++(r.verdict == 0 ? accepted : refused);
  }
  EXPECT_GT(accepted, 700);
  EXPECT_GT(refused, 300);
}

TEST(TensorMap, TheDriversRules) {
  const auto problem = [](auto change) {
    TensorMapImage map = plain_case().map(4096);
    change(map);
    return tensor_map_problem(map);
  };
  EXPECT_EQ(problem([](TensorMapImage&) {}), "");
  EXPECT_THAT(problem([](auto& m) { m.address = 8; }),
              HasSubstr("is 8, which is no multiple of 16"));
  EXPECT_THAT(problem([](auto& m) { m.strides[0] = 40; }), HasSubstr("no multiple of 16"));
  EXPECT_THAT(problem([](auto& m) { m.strides[0] = 1ull << 40; }), HasSubstr("stride"));
  EXPECT_THAT(problem([](auto& m) { m.box[1] = 257; }), HasSubstr("1 to 256 are possible"));
  EXPECT_THAT(problem([](auto& m) { m.box[0] = 5; }), HasSubstr("20, which is no multiple of 16"));
  EXPECT_THAT(problem([](auto& m) { m.extents[1] = 0; }), HasSubstr("the extent of dimension 1"));
  EXPECT_THAT(problem([](auto& m) { m.element_strides[1] = 9; }), HasSubstr("element stride"));
  EXPECT_THAT(problem([](auto& m) { m.rank = 6; }), HasSubstr("the rank is 6"));
  EXPECT_THAT(problem([](auto& m) {
                m.box[0] = 16;
                m.swizzle = TensorSwizzle::bytes_32;
              }),
              HasSubstr("innermost extent is 64 bytes; swizzling by 32"));
  EXPECT_THAT(problem([](auto& m) { m.fill = TensorFill::nan; }), HasSubstr("integers"));
  EXPECT_THAT(problem([](auto& m) { m.interleave = TensorInterleave::bytes_16; }),
              HasSubstr("3 to 5 are possible"));
}

TEST(TensorMap, AKernelMakesItFieldByField) {
  const std::string header = ".version 8.6\n.target sm_90a\n.address_size 64\n";
  Bench bench(header + R"(
.shared .align 128 .b8 map[128];
.shared .align 128 .b8 tile[128];
.shared .align 8 .b64 bar;
.visible .entry k(.param .u64 tensor, .param .u64 out, .param .u64 copy) {
.reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>;
ld.param.u64 %rd1, [tensor]; ld.param.u64 %rd2, [out]; ld.param.u64 %rd3, [copy];
mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; mov.u32 %r3, map; add.u32 %r2, %r2, %r3;
mov.u32 %r4, 0; st.shared.u32 [%r2], %r4; bar.warp.sync 0xffffffff;
setp.ne.u32 %p1, %r1, 0; @%p1 bra MADE;
tensormap.replace.tile.global_address.shared::cta.b1024.b64 [map], %rd1;
tensormap.replace.tile.rank.shared::cta.b1024.b32 [map], 1;
tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [map], 0, 8;
tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [map], 1, 4;
tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [map], 0, 16;
tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [map], 1, 16;
tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [map], 0, 64;
tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [map], 0, 1;
tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [map], 1, 1;
tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [map], 2;
tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [map], 0;
tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [map], 0;
tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [map], 0;
MADE: bar.warp.sync 0xffffffff;
tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd3], [map], 128;
fence.proxy.tensormap::generic.acquire.gpu [%rd3], 128;
@%p1 bra DONE;
mbarrier.init.shared::cta.b64 [bar], 1;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128;
cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile], [%rd3, {4, 2}], [bar];
AGAIN: mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0; @!%p2 bra AGAIN;
cp.async.bulk.global.shared::cta.bulk_group [%rd2], [tile], 128;
DONE: ret; }
)");
  std::vector<std::uint32_t> values(256);
  for (std::uint32_t i = 0; i < 256; ++i) values[i] = i;
  const auto tensor = bench.upload(values, "tensor");
  const auto out = bench.machine.allocate(128, "out");
  const auto copy = bench.machine.allocate(128, "copy");
  const LaunchSummary summary =
      bench.run("k", {1}, {32}, {.max_instructions = 100'000}, tensor, out, copy);
  EXPECT_TRUE(summary.complete()) << summary.message;
  EXPECT_EQ(summary.fault_count, 0u);
  const auto got = bench.download<std::uint32_t>(out, 32);
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(got[i], (2 + i / 8) * 16 + 4 + i % 8) << i;
}

}  // namespace
}  // namespace tilescope::emulator::test
