/* A sparse matrix in compressed rows. */
#ifndef CSR_H
#define CSR_H

typedef struct {
  int rows, columns, entries;
  int *row_start;  /* rows + 1 */
  int *column;     /* entries */
  double *value;   /* entries */
} CsrMatrix;

#endif
