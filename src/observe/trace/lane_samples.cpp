#include "observe/trace/lane_samples.hpp"

#include <algorithm>
#include <bit>

#include "base/symbol_names.hpp"
#include "gpu/coalescing.hpp"
#include "gpu/shared_banks.hpp"
#include "observe/shared_use.hpp"

namespace tilescope::observe {
namespace {

using emulator::Access;
using emulator::AccessKind;
using emulator::Space;

struct Kept {
  LaneSample sample;
  bool known = false;
  // Accesses of one pattern cost the same if their addresses are congruent modulo 32.
  std::uint32_t pattern = 0;   ///< of the last examined access
  std::uint32_t residues = 0;  ///< of those of this pattern that were examined: a bit each
};

class BlockSamples final : public emulator::BlockObserver {
 public:
  explicit BlockSamples(const emulator::Program& program)
      : program_(program), kept_(program.instructions().size()) {}

  void begin_block(const emulator::BlockInfo& block, const emulator::BlockView& view) override {
    block_ = block;
    view_ = &view;
  }

  void access(const Access& access) override {
    if (emulator::uses_textures(access.kind)) return;  // their cost depends on the array's layout
    Kept& kept = kept_[access.instruction];
    // A pattern that was judged is judged again only to find it in an earlier warp of the block.
    const bool earlier = block_.linear == kept.sample.block && access.warp < kept.sample.warp;
    const std::uint32_t residue =
        1u << (access.address(std::countr_zero(access.mask)) % gpu::kSectorBytes);
    const bool same = access.pattern != 0 && access.pattern == kept.pattern;
    if (kept.known && same && (kept.residues & residue) != 0 && !earlier) return;
    kept.residues = same ? kept.residues | residue : residue;
    kept.pattern = access.pattern;
    LaneSample sample{.instruction = access.instruction,
                      .space = access.space,
                      .kind = access.kind,
                      .bytes = access.bytes,
                      .mask = access.mask,
                      .block = block_.linear,
                      .block_index = block_.index,
                      .warp = access.warp};
    std::copy_n(access.addresses, emulator::kWarpSize, sample.addresses.begin());
    judge(sample, *program_.instruction(access.instruction).source);
    if (kept.known && !is_worse(sample, kept.sample)) return;
    const int lane = std::countr_zero(access.mask);
    const emulator::Place place =
        view_->place(access.space, access.address(lane), access.warp, lane);
    sample.object = variable_name(place.object);
    sample.object_base = access.address(lane) - place.offset;
    kept.sample = std::move(sample);
    kept.known = true;
  }

  /// An example for all accesses alike.
  void first_access(const Access& first) override { access(first); }

  const std::vector<Kept>& kept() const { return kept_; }

 private:
  const emulator::Program& program_;
  std::vector<Kept> kept_;  ///< by instruction
  emulator::BlockInfo block_{};
  const emulator::BlockView* view_ = nullptr;
};

}  // namespace

void judge(LaneSample& sample, const ptx::Instruction& instruction) {
  const auto* addresses = sample.addresses.data();
  const int bytes = static_cast<int>(sample.bytes);
  if (sample.space == Space::shared) {
    const bool rows =
        sample.kind == AccessKind::matrix_load || sample.kind == AccessKind::matrix_store;
    sample.use = shared_use(instruction, sample.kind);
    const gpu::SharedWavefronts waves =
        rows ? gpu::matrix_wavefronts(addresses, sample.mask)
             : gpu::shared_wavefronts(addresses, sample.mask, std::min(bytes, 16), sample.use);
    sample.cost = waves.wavefronts;
    sample.ideal = waves.ideal;
    sample.ways = waves.ways;
  } else {
    const gpu::Sectors sectors = sample.space == Space::local
                                     ? gpu::coalesce_local(addresses, sample.mask, bytes)
                                     : gpu::coalesce(addresses, sample.mask, bytes);
    sample.cost = sectors.sectors;
    sample.ideal = sectors.ideal;
  }
}

bool is_worse(const LaneSample& a, const LaneSample& b) {
  const std::uint32_t waste_a = a.cost - a.ideal, waste_b = b.cost - b.ideal;
  if (waste_a != waste_b) return waste_a > waste_b;
  if (a.cost != b.cost) return a.cost > b.cost;
  const int lanes = std::popcount(a.mask) - std::popcount(b.mask);
  if (lanes != 0) return lanes > 0;
  return a.block != b.block ? a.block < b.block : a.warp < b.warp;
}

std::uint32_t LaneSamples::events() const {
  return emulator::kGlobalAccess | emulator::kSharedAccess | emulator::kLocalAccess;
}

std::uint32_t LaneSamples::sums() const {
  return emulator::kGlobalAccess | emulator::kSharedAccess;
}

void LaneSamples::begin_launch(const emulator::LaunchInfo& launch) {
  program_ = &launch.program;
  block_ = launch.block;
  samples_.clear();
}

std::unique_ptr<emulator::BlockObserver> LaneSamples::make_block_observer() {
  return std::make_unique<BlockSamples>(*program_);
}

void LaneSamples::merge(emulator::BlockObserver& block) {
  for (const Kept& kept : static_cast<BlockSamples&>(block).kept()) {
    if (!kept.known) continue;
    const auto at = std::lower_bound(
        samples_.begin(), samples_.end(), kept.sample.instruction,
        [](const LaneSample& s, emulator::InstructionId id) { return s.instruction < id; });
    if (at != samples_.end() && at->instruction == kept.sample.instruction) {
      if (is_worse(kept.sample, *at)) {
        const SourcePlace place = at->place;
        const std::uint32_t line = at->ptx_line;
        *at = kept.sample;
        at->place = place;
        at->ptx_line = line;
      }
      continue;
    }
    const auto added = samples_.insert(at, kept.sample);
    added->place = counted_place(*program_, added->instruction);
    added->ptx_line = program_->instruction(added->instruction).source->line;
  }
}

}  // namespace tilescope::observe
