/* Checks of a test in C: each that fails prints its place, and the test goes on. */
#ifndef TILESCOPE_TESTS_EXPECT_H
#define TILESCOPE_TESTS_EXPECT_H

#include <stdio.h>
#include <string.h>

static int failed_checks = 0;

#define EXPECT(condition)                                                              \
  do {                                                                                 \
    if (!(condition)) {                                                                \
      ++failed_checks;                                                                 \
      fprintf(stderr, "%s:%d: expected %s; last error: %s\n", __FILE__, __LINE__,      \
              #condition, tilescope_last_error());                                     \
    }                                                                                  \
  } while (0)

#define EXPECT_OK(call) EXPECT((call) == TILESCOPE_OK)

/* The call fails with the status and an error that contains `text`. */
#define EXPECT_ERROR(call, status, text) \
  EXPECT((call) == (status) && strstr(tilescope_last_error(), text) != NULL)

#endif
