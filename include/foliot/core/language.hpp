// The language that foliot's C++ headers are written in: included first, so that a compiler which was asked for another
// one says this before anything else. C programs have <foliot/foliot.h>.
#pragma once

#if !defined(__cplusplus) || __cplusplus < 202100L
#error foliot needs C++23 (g++ 12 or clang 19: -std=c++23)
#endif
