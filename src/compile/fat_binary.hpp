// The fat binaries that nvcc embeds in executables: PTX and machine code for several GPUs.
//
// Layout, little-endian, as the bytes of CUDA 12 and 13 have it:
//
//   wrapper, in section .nvFatBinSegment; __cudaRegisterFatBinary gets its address
//      0 u32  0x466243b1
//      4 u32  1: one container; 2: linked by -rdc=true, whose units are containers of their own
//      8 ptr  container
//     16 ptr  version 2: containers of the units, ended by a null pointer
//   container
//      0 u32  0xba55ed50
//      4 u16  version, 1
//      6 u16  bytes of this header, 16
//      8 u64  bytes behind the header: entries, one behind the other
//   entry
//      0 u16  1: PTX, 2: machine code, 8: intermediate code for link-time optimisation
//      4 u32  bytes of this header with its texts
//      8 u64  bytes of the payload, with padding
//     16 u32  bytes of a compressed payload, without padding
//     20 u32  where the options lie: u32 offset, u32 bytes; both offsets count from the entry
//     24 u16  version of PTX, minor and (26) major
//     28 u32  compute capability: 80
//     32 u32  offset of the file's name, and (36) u32 its bytes
//     40 u64  flags: 0x2000 LZ4 block, 0x8000 zstd frame, 0x100000 and 0x200000 the suffixes a and
//     f 56 u64  bytes of a compressed payload when decompressed
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tilescope/device.hpp>
#include <vector>

namespace tilescope::compile {

using Bytes = std::span<const std::byte>;

enum class FatBinaryKind : std::uint8_t { ptx, machine_code, other };
enum class FatBinaryCompression : std::uint8_t { none, lz4, zstd };

struct FatBinaryEntry {
  FatBinaryKind kind = FatBinaryKind::other;
  FatBinaryCompression compression = FatBinaryCompression::none;
  int compute_major = 0, compute_minor = 0;
  char suffix = 0;      ///< 'a': this GPU alone; 'f': this family alone; 0: newer GPUs too
  std::string file;     ///< the translation unit, "k.cu"; may be empty
  std::string options;  ///< such as "--generate-line-info"
  Bytes payload;        ///< as stored; lies in the bytes that were read
  std::uint64_t full_bytes = 0;

  /// "sm_80" or "compute_90a"
  std::string architecture() const;
};

/// The container at an address inside this process, as long as its header says.
Bytes container_at(const void* address);
/// The containers of an embedded wrapper: one, or those of all linked units. Throws
/// Error(bad_input) if there is no wrapper at that address.
std::vector<Bytes> containers_of(const void* wrapper);

/// The entries of one container. Throws Error(bad_input), beginning with `name`, if the bytes are
/// damaged.
std::vector<FatBinaryEntry> read_fat_binary(Bytes container, std::string_view name);

/// The PTX for a GPU of that compute capability: the newest that is not newer. Null if there is
/// none.
const FatBinaryEntry* find_ptx(std::span<const FatBinaryEntry> entries, int compute_major,
                               int compute_minor);

/// The text of an entry with PTX, decompressed. Throws Error(bad_input) if it is damaged.
std::string ptx_text(const FatBinaryEntry& entry, std::string_view name);

/// find_ptx() and ptx_text() of a container. If it has no fitting PTX, throws Error(bad_input) that
/// says what there is instead and which option of nvcc adds PTX.
std::string ptx_for(Bytes container, int compute_major, int compute_minor, std::string_view name);

/// ptx_for() of every container of an embedded wrapper, named by its translation unit, or else by
/// `name`: what Device::load_module() takes. Units with machine code alone come last, if another
/// has PTX: -rdc=true adds CUDA's own device run time.
std::vector<PtxText> embedded_ptx(const void* wrapper, int compute_major, int compute_minor,
                                  std::string_view name);

}  // namespace tilescope::compile
