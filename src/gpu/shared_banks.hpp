// Shared memory: from the addresses of one warp instruction to its wavefronts.
//
// Shared memory has 32 banks of one 4-byte word each; word w lies in bank w mod 32. In one
// wavefront every bank reads or writes one word; lanes at the same word share it. So an access of 4
// bytes or fewer a lane takes as many wavefronts as the busiest bank has different words.
//
// Wider accesses move more than 32 words and are cut into passes:
//   8 bytes a lane    two passes, a half-warp (16 lanes) each
//   16 bytes a lane   four passes, a quarter-warp (8 lanes) each Two neighbouring passes of an
//   8-byte access, or the two of the same half-warp of a 16-byte access, become one when the lanes
//   pair up: either every participating lane l has the address of lane l ^ 1, or every one has that
//   of lane l ^ 2 (a lane that does not participate fits any other). The two halves of a 16-byte
//   access never become one, not even when all 32 lanes have the same address. Passes without
//   participating lanes do not happen. Within a pass the rule of the first paragraph holds.
//
// The rule comes from counters of an H200. A 16-wide tile kernel reads 16 bytes a lane, lanes 0 to
// 15 at one address, 16 to 31 at another: 2 wavefronts (131,072 such reads and 524,288 of
// consecutive words: 786,432). The same with all lanes at one address: 2 again (32-wide tile:
// 131,072 and 524,288 give 786,432). 16 bytes a lane, 128 bytes apart: 32 (131,072 and 524,288 of
// one word give 4,718,592). A block of 16 threads, 4 rows: 1. The pairing rule for 8 bytes follows
// published measurements on earlier chips.
//
// "Ideal" is the number of passes: 1, 2 and 4 for full warps of different addresses. Wavefronts
// beyond it are conflicts, which is how the chip counts: 3,670,016 for the 4,718,592 above.
//
// Stores are cut into the same passes, of which none become one: a 16-byte store of lanes 0, 4, 8,
// ... takes 4 (a tree of 16-byte values, 41 blocks: 6,191 passes; 4,223 if half-warps were joined).
//
// Atomics of several lanes on the same word cannot share it: each lane takes a turn of its own. The
// exception is adding 1 without using the old value, as a histogram does: the chip counts the lanes
// of a word, so that they share it like the lanes of a store (1,979 wavefronts where the lanes of
// 626 requests go to any of 256 words; 2,206 if each took a turn).
#pragma once

#include <cstdint>

namespace tilescope::gpu {

/// The geometry of shared memory. Every GPU since 2012 has 32 banks of 4 bytes; others serve
/// teaching.
struct BankLayout {
  int banks = 32;      ///< a power of two, at most 64
  int word_bytes = 4;  ///< a power of two
};

/// How the lanes of an access use the words, as far as it matters here; see above.
enum class SharedUse : std::uint8_t {
  load,
  store,
  atomic,
  increment,  ///< an atomic that adds 1 and whose old value is unused
};

struct SharedWavefronts {
  std::uint32_t wavefronts = 0;
  std::uint32_t ideal = 0;  ///< passes: the wavefronts without conflicts
  /// The most different words (for atomics: lanes) that one bank serves in one pass: an "n-way"
  /// conflict, 1 for none.
  std::uint32_t ways = 0;
  std::uint32_t conflicts() const { return wavefronts - ideal; }
  friend bool operator==(const SharedWavefronts&, const SharedWavefronts&) = default;
};

/// `addresses`: byte offsets of 32 lanes in shared memory, of which those in `mask` count. `bytes`
/// a lane: 1, 2, 4, 8 or 16, to which the addresses are aligned.
SharedWavefronts shared_wavefronts(const std::uint64_t* addresses, std::uint32_t mask, int bytes,
                                   SharedUse use = SharedUse::load, const BankLayout& layout = {});

/// ldmatrix and stmatrix: each participating lane names a row of 16 bytes. Every 8 rows are one
/// matrix, and one pass.
SharedWavefronts matrix_wavefronts(const std::uint64_t* addresses, std::uint32_t mask,
                                   const BankLayout& layout = {});

}  // namespace tilescope::gpu
