#include "job_headers.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "front_check.hpp"
#include "json.hpp"

namespace foliot::program::http {

namespace {

bool is_lower_case(std::string_view name) noexcept {
  return std::ranges::none_of(name, [](char c) { return c >= 'A' && c <= 'Z'; });
}
bool is_value(std::string_view text) noexcept { return is_field_value(text) && is_utf8(text); }

}  // namespace

std::expected<void, std::string> set_headers(jobs::job_fields& of, std::string_view content_type,
                                             const job_headers& headers) {
  if (!is_value(content_type)) return std::unexpected("the content type has a byte that no field may have");
  std::string lines;
  for (const auto& [name, value] : headers) {
    if (!is_token(name) || !is_lower_case(name)) {
      return std::unexpected(fmt::format("`{}` is no name of a header in lower case", name));
    }
    if (!is_value(value))
      return std::unexpected(fmt::format("the header `{}` has a byte that no field may have", name));
    lines.append(name).append(": ").append(value).append("\n");
  }
  const bool has_room =
      (lines.empty() || of.set(headers_tag, lines)) && (content_type.empty() || of.set(content_type_tag, content_type));
  if (has_room) return {};
  return std::unexpected(fmt::format("the headers of a job have at most {} bytes", jobs::most_field_bytes));
}

job_headers headers_of(const jobs::job_fields& of) {
  job_headers all;
  std::string_view lines = of.find(headers_tag).value_or("");
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos || !is_token(line.substr(0, colon)) || !is_value(line)) continue;
    all.emplace(line.substr(0, colon), line.substr(colon + 2));
  }
  return all;
}

std::string_view content_type_of(const jobs::job_fields& of) noexcept {
  const std::string_view type = of.find(content_type_tag).value_or("");
  return is_value(type) ? type : "";
}

}  // namespace foliot::program::http
