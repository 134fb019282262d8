// Death tests where the program has threads, or has had some.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

namespace foliot::test {

/// Has the death tests of a case run in a new process each, which executes the program again: a forked process has only
/// one of the threads. With GTEST_DEATH_TEST_STYLE=fast in the environment they are forked all the same: under an
/// emulator that the kernel does not know, a program cannot execute itself.
inline void run_death_tests_in_new_processes() {
  if (std::getenv("GTEST_DEATH_TEST_STYLE") == nullptr) GTEST_FLAG_SET(death_test_style, "threadsafe");
}

}  // namespace foliot::test
