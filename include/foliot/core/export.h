/* The exported symbols of the shared libraries: FOLIOT_EXPORT marks each class, function and variable of the public
 * headers that is defined in a library, and each type that is thrown or has virtual functions.
 *
 * The libraries are compiled with hidden visibility, so a symbol without the mark cannot be linked from outside.
 * Applications may be compiled with either visibility. C and C++. */
#pragma once

#if defined(__GNUC__)
#define FOLIOT_EXPORT __attribute__((visibility("default")))
#else
#define FOLIOT_EXPORT
#endif
