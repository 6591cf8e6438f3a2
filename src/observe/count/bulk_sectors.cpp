#include "observe/count/bulk_sectors.hpp"

#include <algorithm>

#include "gpu/coalescing.hpp"

namespace tilescope::observe {
namespace {

using emulator::BulkPiece;

constexpr std::uint64_t kChunkBytes = 16;  // the copy engine moves nothing smaller

/// Bytes of one row that travel together.
struct Packet {
  std::uint64_t global_line = 0, shared_line = 0;
  bool filled = false;
  bool begun = false;
  bool partial = false;  ///< its last chunk has bytes outside the tensor
  std::uint64_t sectors = 0, last_sector = 0;

  bool goes_on(const Packet& next) const {
    return begun && filled == next.filled && global_line == next.global_line &&
           shared_line == next.shared_line;
  }
};

class SectorSum {
 public:
  explicit SectorSum(bool multicast) : multicast_(multicast) {}

  void begin_row() { end_packet(); }

  /// Adds bytes to the packet of these lines, in order of their addresses.
  void add(const Packet& packet, std::uint64_t address, std::uint64_t bytes) {
    const std::uint64_t first = address / gpu::kSectorBytes;
    const std::uint64_t last = (address + bytes - 1) / gpu::kSectorBytes;
    if (!packet_.goes_on(packet)) {
      end_packet();
      packet_ = packet;
      packet_.begun = true;
      packet_.last_sector = ~std::uint64_t{0};
    }
    packet_.sectors += last - first + (first == packet_.last_sector ? 0 : 1);
    packet_.last_sector = last;
  }

  /// Bytes outside the tensor complete the chunk that was added last.
  void cut_chunk() { packet_.partial = true; }

  std::uint64_t end() {
    end_packet();
    return sum_;
  }

 private:
  void end_packet() {
    if (!packet_.begun) return;
    const std::uint64_t least = !multicast_ ? 0 : packet_.filled || packet_.partial ? 3 : 2;
    sum_ += std::max(packet_.sectors, least);
    packet_ = {};
  }

  bool multicast_;
  Packet packet_;
  std::uint64_t sum_ = 0;
};

void add_read(SectorSum& sum, const BulkPiece& piece) {
  for (std::uint64_t done = 0; done < piece.bytes;) {
    const std::uint64_t from = piece.from + done, to = piece.to + done;
    const std::uint64_t bytes =
        std::min({piece.bytes - done, gpu::kLineBytes - from % gpu::kLineBytes,
                  gpu::kLineBytes - to % gpu::kLineBytes});
    sum.add({from / gpu::kLineBytes, to / gpu::kLineBytes}, from, bytes);
    done += bytes;
  }
}

void add_filled(SectorSum& sum, const BulkPiece& piece) {
  const std::uint64_t end = piece.to + piece.bytes;
  std::uint64_t to = (piece.to + kChunkBytes - 1) / kChunkBytes * kChunkBytes;
  if (to != piece.to) sum.cut_chunk();
  while (to < end) {
    const std::uint64_t line = to / gpu::kLineBytes;
    const std::uint64_t bytes = std::min(end, (line + 1) * gpu::kLineBytes) - to;
    sum.add({0, line, true}, to, bytes);
    to += bytes;
  }
}

}  // namespace

std::uint64_t bulk_sectors(const emulator::BulkEvent& copy, bool multicast) {
  SectorSum sum(multicast);
  for (const BulkPiece& piece : copy.pieces) {
    if (piece.begins_row) sum.begin_row();
    if (copy.kind != emulator::BulkKind::load) {
      if (!piece.filled) sum.add({}, piece.to, piece.bytes);
    } else if (piece.filled) {
      add_filled(sum, piece);
    } else {
      add_read(sum, piece);
    }
  }
  return sum.end() * copy.copies;
}

}  // namespace tilescope::observe
