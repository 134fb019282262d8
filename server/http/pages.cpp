#include "pages.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <system_error>

#include <fmt/format.h>

namespace foliot::program::http {

namespace {

constexpr std::uint32_t usual_page = 100;
static_assert(jobs::most_listed == 1000 && jobs::most_listed_due == jobs::most_listed);

}  // namespace

std::uint32_t page_size(inputs& in) {
  return static_cast<std::uint32_t>(in.number("count", 1, jobs::most_listed).value_or(usual_page));
}

jobs::job_place place_of(inputs& in) {
  jobs::job_place place;
  const std::optional<std::string> cursor = in.text("cursor");
  if (!cursor) return place;
  const char* const begin = cursor->data();
  const char* const end = begin + cursor->size();
  const char* const dash = std::find(begin, end, '-');
  const auto rank = std::from_chars(begin, dash, place.rank);
  const auto id = std::from_chars(std::min(dash + 1, end), end, place.id);
  const bool is_right = rank.ec == std::errc() && rank.ptr == dash && id.ec == std::errc() && id.ptr == end &&
                        place.rank <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!is_right) refuse_cursor(in);
  return place;
}

void refuse_cursor(const inputs& in) { in.refuse("cursor", "`cursor` must be the `next` of an earlier page"); }

std::string cursor_of(const jobs::job_place& place) { return fmt::format("{}-{}", place.rank, place.id); }

}  // namespace foliot::program::http
