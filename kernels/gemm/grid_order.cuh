// Grids of one stream, one after the other (Hopper). A launch may say that its grid may begin while
// the grid before it still runs: its blocks then prepare themselves as SMs become free, and wait for
// that grid before they touch memory that it, or one before it, reads or writes.
#pragma once

// Until the grid before this one has ended and what it wrote is there.
__device__ inline void await_previous_grid() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// The next grid may begin once every block has come here, or has ended. The last kernel of a product
// calls it after await_previous_grid(): then a stranger that comes next cannot meet, before its own
// wait, what came before the product.
__device__ inline void let_next_grid_begin() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}
