// Checks that the compiler is set to C++23. Each leaf header includes this one first, so that under an older standard
// the message below is the first error. C programs include <foliot/foliot.h>.
#pragma once

#if !defined(__cplusplus) || __cplusplus < 202100L
#error foliot needs C++23 (g++ 12 or clang 19: -std=c++23)
#endif
