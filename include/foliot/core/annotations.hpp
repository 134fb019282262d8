// Lock ownership that the compiler checks: clang's thread-safety attributes; other compilers see nothing.
//
// A field names the mutex that protects it; a function names the mutex that its caller must hold, or that it locks or
// unlocks. `clang++ -Wthread-safety` (the clang preset) makes a violation an error.
#pragma once

#include <foliot/core/language.hpp>

#if defined(__clang__)
#define FOLIOT_THREAD_ANNOTATION(attribute) __attribute__((attribute))
#else
#define FOLIOT_THREAD_ANNOTATION(attribute)
#endif

#define FOLIOT_CAPABILITY(name) FOLIOT_THREAD_ANNOTATION(capability(name))
#define FOLIOT_SCOPED_CAPABILITY FOLIOT_THREAD_ANNOTATION(scoped_lockable)
#define FOLIOT_GUARDED_BY(mutex) FOLIOT_THREAD_ANNOTATION(guarded_by(mutex))
#define FOLIOT_REQUIRES(mutex) FOLIOT_THREAD_ANNOTATION(requires_capability(mutex))
#define FOLIOT_EXCLUDES(mutex) FOLIOT_THREAD_ANNOTATION(locks_excluded(mutex))
#define FOLIOT_ACQUIRE(...) FOLIOT_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define FOLIOT_RELEASE(...) FOLIOT_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define FOLIOT_TRY_ACQUIRE(...) FOLIOT_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define FOLIOT_NO_ANALYSIS FOLIOT_THREAD_ANNOTATION(no_thread_safety_analysis)
#define FOLIOT_ASSERT_CAPABILITY(mutex) FOLIOT_THREAD_ANNOTATION(assert_capability(mutex))
