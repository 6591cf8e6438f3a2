// The elements of a matrix in the banks of shared memory: which rows and columns conflict?
#pragma once

#include <cstdint>
#include <vector>

namespace tilescope::gpu {

struct BankMatrix {
  int banks = 32;      ///< a power of two, at most 64
  int word_bytes = 4;  ///< bytes of a bank's word: 4 or 8
  int rows = 32, columns = 32;
  int padding = 0;        ///< unused elements at the end of each row
  int element_bytes = 4;  ///< 1, 2, 4, 8 or 16
  int lanes = 0;          ///< lanes of a warp; 0: as many as banks, at most 32

  /// The bank in which element (row, column) begins.
  int bank_of(int row, int column) const;
  int warp() const { return lanes > 0 ? lanes : banks < 32 ? banks : 32; }
};

/// One warp instruction's access to the matrix.
struct BankAccess {
  int wavefronts = 0;  ///< cycles of shared memory for it
  int ideal = 0;
  int ways = 0;  ///< n of an "n-way" conflict; 1: none
};

/// Lanes along a row from element (0, 0), continuing in the next row; or down a column, continuing
/// in the next.
BankAccess row_access(const BankMatrix& matrix);
BankAccess column_access(const BankMatrix& matrix);
/// The least padding with which a column access has no conflict; -1 if none up to `banks` has.
int padding_that_cures(const BankMatrix& matrix);

/// Throws Error(usage), naming the rule, for an invalid matrix.
void require_bank_matrix(const BankMatrix& matrix);

}  // namespace tilescope::gpu
