#include <algorithm>
#include <array>
#include <bit>
#include <tilescope/gpu/banks.hpp>

#include "base/errors.hpp"
#include "gpu/shared_banks.hpp"

namespace tilescope::gpu {
namespace {

std::uint64_t address_of(const BankMatrix& m, std::int64_t row, std::int64_t column) {
  return static_cast<std::uint64_t>((row * (m.columns + m.padding) + column) * m.element_bytes);
}

template <typename Place>
BankAccess access(const BankMatrix& matrix, const Place& place) {
  require_bank_matrix(matrix);
  std::array<std::uint64_t, 32> addresses{};
  std::uint32_t mask = 0;
  const std::int64_t elements = std::int64_t{matrix.rows} * matrix.columns;
  for (int lane = 0; lane < matrix.warp() && lane < elements; ++lane) {
    const auto [row, column] = place(lane);
    addresses[static_cast<std::size_t>(lane)] = address_of(matrix, row, column);
    mask |= std::uint32_t{1} << lane;
  }
  const SharedWavefronts result =
      shared_wavefronts(addresses.data(), mask, matrix.element_bytes, SharedUse::load,
                        {.banks = matrix.banks, .word_bytes = matrix.word_bytes});
  return {.wavefronts = static_cast<int>(result.wavefronts),
          .ideal = static_cast<int>(result.ideal),
          .ways = static_cast<int>(result.ways)};
}

void require_range(std::string_view what, int value, int least, int most) {
  if (value < least || value > most) {
    throw usage_error("{} {}: {} to {} are allowed", value, what, least, most);
  }
}

}  // namespace

void require_bank_matrix(const BankMatrix& m) {
  if (m.banks < 1 || m.banks > 64 || !std::has_single_bit(static_cast<unsigned>(m.banks))) {
    throw usage_error("{} banks: 1, 2, 4, 8, 16, 32 or 64 are allowed", m.banks);
  }
  if (m.word_bytes != 4 && m.word_bytes != 8) {
    throw usage_error("words of {} bytes: 4 or 8 are allowed", m.word_bytes);
  }
  const int bytes = m.element_bytes;
  if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8 && bytes != 16) {
    throw usage_error("elements of {} bytes: 1, 2, 4, 8 or 16 are allowed", bytes);
  }
  require_range("rows", m.rows, 1, 1 << 20);
  require_range("columns", m.columns, 1, 1 << 20);
  require_range("elements of padding", m.padding, 0, 1 << 20);
  require_range("lanes", m.lanes, 0, 32);
}

int BankMatrix::bank_of(int row, int column) const {
  return static_cast<int>(address_of(*this, row, column) / static_cast<unsigned>(word_bytes) %
                          static_cast<unsigned>(banks));
}

BankAccess row_access(const BankMatrix& matrix) {
  return access(matrix, [&](int lane) {
    return std::pair{lane / matrix.columns, lane % matrix.columns};
  });
}

BankAccess column_access(const BankMatrix& matrix) {
  return access(matrix, [&](int lane) {
    return std::pair{lane % matrix.rows, lane / matrix.rows};
  });
}

int padding_that_cures(const BankMatrix& matrix) {
  BankMatrix padded = matrix;
  for (padded.padding = 0; padded.padding <= matrix.banks; ++padded.padding) {
    const BankAccess column = column_access(padded);
    if (column.wavefronts == column.ideal) return padded.padding;
  }
  return -1;
}

}  // namespace tilescope::gpu
