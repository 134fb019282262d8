// What happens to the exceptions of callbacks where nobody has asked for them. Allocates nothing: the exception may be
// std::bad_alloc.
#include <cstdio>
#include <exception>

#include <foliot/service/firing.hpp>

#include "core/place_text.hpp"

namespace foliot::inline service {

void exception_handler::print(const callback_failure& failure) noexcept {
  char timer[512] = "";
  const auto length = static_cast<int>(failure.name.size());
  if (failure.armed_at.line() != 0) {
    const char* const of = length > 0 ? "timer '" : "timer";
    const bool known = !foliot::detail::is_in_standard_library(failure.armed_at);
    std::snprintf(timer, sizeof timer, " (%s%.*s%s armed %s%s:%u)", of, length, failure.name.data(),
                  length > 0 ? "'" : "", known ? "at " : "at a line that is not known, by ",
                  failure.armed_at.file_name(), unsigned{failure.armed_at.line()});
  }
  try {
    std::rethrow_exception(failure.error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "foliot: a timer's callback threw: %s%s\n", error.what(), timer);
  } catch (...) {
    std::fprintf(stderr, "foliot: a timer's callback threw something other than a std::exception%s\n", timer);
  }
}

}  // namespace foliot::inline service
