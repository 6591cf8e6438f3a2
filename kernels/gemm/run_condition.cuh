// Kernels that do nothing unless a flag in device memory says so when they start. Without the
// constant RUNS_IF they always run, and read no flag.
#pragma once

#ifndef RUNS_IF
#define RUNS_IF 0
#endif

enum RunsIf { always = 0, flag_is_clear = 1, flag_is_set = 2 };

__device__ inline bool does_nothing(const unsigned* flag) {
  if (RUNS_IF == always) return false;
  return (*flag != 0) != (RUNS_IF == flag_is_set);
}
