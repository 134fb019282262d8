/* The checks of the tests in C: each failure is printed, and `failures` counts them. */
#ifndef FOLIOT_TEST_EXPECT_H
#define FOLIOT_TEST_EXPECT_H

#include <stdio.h>

static int failures = 0;

#define EXPECT(condition)                                                     \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                             \
    }                                                                         \
  } while (0)

#endif
