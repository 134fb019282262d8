/* What the shared libraries show: FOLIOT_EXPORT stands before each class, function and variable of the public headers
 * that is defined in a library, and before each type that is thrown or has virtual functions.
 *
 * The libraries are compiled with hidden visibility: what has no such mark cannot be linked from outside. Applications
 * may be compiled either way. C and C++. */
#pragma once

#if defined(__GNUC__)
#define FOLIOT_EXPORT __attribute__((visibility("default")))
#else
#define FOLIOT_EXPORT
#endif
