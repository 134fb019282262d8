// Checks that the compiler is set to C++23, with exceptions. Each leaf header includes this one first, so that
// otherwise the message below is the first error. C programs include <foliot/foliot.h>.
#pragma once

#if !defined(__cplusplus) || __cplusplus < 202100L
#error foliot needs C++23 (g++ 12 or clang 19: -std=c++23)
#endif

// A start says by an exception that there is no memory, and a timer that has to fire would be lost without it.
#if !defined(__cpp_exceptions)
#error foliot needs exceptions: compile without -fno-exceptions (-fno-rtti is all right)
#endif
