// Tells AddressSanitizer which stack the program is on when fibers switch; nothing in other builds.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define FOLIOT_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FOLIOT_ADDRESS_SANITIZER 1
#endif
#endif

#if defined(FOLIOT_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif

namespace foliot::simulation {

class fiber_sanitizer {
 public:
#if defined(FOLIOT_ADDRESS_SANITIZER)
  /// The test's own stack goes to the first fiber; `switch_over` does it, and returns when all is over.
  template <class Switch>
  void enter_from_outside(fiber_sanitizer& outside, void* stack, std::size_t size, Switch switch_over) {
    __sanitizer_start_switch_fiber(&outside.fake_, stack, size);
    inside_of_ = &outside;
    switch_over();
    __sanitizer_finish_switch_fiber(outside.fake_, nullptr, nullptr);
  }
  void departing(void* stack, std::size_t size, bool forever) {
    __sanitizer_start_switch_fiber(forever ? nullptr : &fake_, stack, size);
  }
  void arrived() {
    const void* bottom = nullptr;
    std::size_t size = 0;
    __sanitizer_finish_switch_fiber(fake_, &bottom, &size);
    if (inside_of_ != nullptr && inside_of_->bottom_ == nullptr) {
      inside_of_->bottom_ = bottom;
      inside_of_->size_ = size;
    }
  }
  void departing_to_outside(bool forever) {
    void* abandoned = nullptr;
    __sanitizer_start_switch_fiber(forever ? nullptr : &abandoned, bottom_, size_);
  }

 private:
  void* fake_ = nullptr;
  fiber_sanitizer* inside_of_ = nullptr;  // the first fiber only: where the test's own stack is noted
  const void* bottom_ = nullptr;
  std::size_t size_ = 0;
#else
  template <class Switch>
  void enter_from_outside(fiber_sanitizer&, void*, std::size_t, Switch switch_over) {
    switch_over();
  }
  void departing(void*, std::size_t, bool) {}
  void arrived() {}
  void departing_to_outside(bool) {}
#endif
};

/// What a failed world leaves behind is meant to stay.
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

}  // namespace foliot::simulation
