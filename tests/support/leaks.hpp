// What a simulated run that failed leaves behind is meant to stay: LeakSanitizer is told so.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define FOLIOT_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FOLIOT_ADDRESS_SANITIZER 1
#endif
#endif

#if defined(FOLIOT_ADDRESS_SANITIZER)
#include <sanitizer/lsan_interface.h>
#endif

namespace foliot::support {

inline void ignore_leak([[maybe_unused]] const void* memory) {
#if defined(FOLIOT_ADDRESS_SANITIZER)
  __lsan_ignore_object(memory);
#endif
}

/// While one lives, nothing that is allocated counts as a leak.
class leaks_ignored {
 public:
#if defined(FOLIOT_ADDRESS_SANITIZER)
  leaks_ignored() { __lsan_disable(); }
  ~leaks_ignored() { __lsan_enable(); }
#else
  leaks_ignored() {}
  ~leaks_ignored() {}
#endif
  leaks_ignored(const leaks_ignored&) = delete;
  leaks_ignored& operator=(const leaks_ignored&) = delete;
};

}  // namespace foliot::support
