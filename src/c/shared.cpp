// The C interface: errors, and virtual clocks.
#include "shared.hpp"

#include <cstdio>

#include <foliot/version.hpp>

namespace foliot::c_interface {

namespace {
thread_local char latest_message[256] = "";  // an array, so that reporting a lack of memory allocates nothing
}  // namespace

foliot_status failed(foliot_status status, const char* message) noexcept {
  std::snprintf(latest_message, sizeof(latest_message), "%s", message);
  return status;
}

}  // namespace foliot::c_interface

using namespace foliot::c_interface;

extern "C" {

const char* foliot_strerror(int status) noexcept {
  switch (status) {
    case FOLIOT_OK: return "no error";
    case FOLIOT_INVALID: return "an invalid argument";
    case FOLIOT_NO_MEMORY: return "out of memory";
    case FOLIOT_SYSTEM: return "out of a resource of the system";
    case FOLIOT_NOT_ALLOWED: return "not allowed here";
    case FOLIOT_FAILED: return "failed";
  }
  return "an unknown status";
}

const char* foliot_error_message(void) noexcept { return foliot::c_interface::latest_message; }
const char* foliot_version(void) noexcept { return FOLIOT_VERSION; }

// ---------------------------------------------------------------- virtual clocks

foliot_status foliot_virtual_clock_create(int64_t start, foliot_virtual_clock** result) noexcept {
  return guarded([&] {
    need_result(result);
    if (point(start).is_never()) {
      throw std::invalid_argument("foliot: the start of a virtual clock must not be FOLIOT_NEVER");
    }
    *result = new foliot_virtual_clock{foliot::virtual_clock(point(start))};
  });
}

void foliot_virtual_clock_destroy(foliot_virtual_clock* time) noexcept { delete time; }

foliot_status foliot_virtual_clock_advance(foliot_virtual_clock* time, int64_t by, size_t* fired) noexcept {
  return guarded([&] {
    need_handle(time);
    answer(fired, time->itself.advance(length(by)).fired);
  });
}

foliot_status foliot_virtual_clock_advance_to(foliot_virtual_clock* time, int64_t target, size_t limit,
                                              size_t* fired) noexcept {
  return guarded([&] {
    need_handle(time);
    answer(fired, time->itself.advance_to(point(target), limit == 0 ? foliot::unlimited : limit).fired);
  });
}

int64_t foliot_virtual_clock_now(const foliot_virtual_clock* time) noexcept {
  return time == nullptr ? 0 : time->itself.now().nanoseconds();
}

}  // extern "C"
