#include "job_headers.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "front_check.hpp"
#include "json.hpp"

namespace foliot::program::http {

namespace {

bool is_lower_case(std::string_view name) noexcept {
  return std::ranges::none_of(name, [](char c) { return c >= 'A' && c <= 'Z'; });
}
bool is_value(std::string_view text) noexcept { return is_field_value(text) && is_utf8(text); }

constexpr std::string_view trace_parent = "traceparent";
constexpr std::string_view trace_state = "tracestate";
constexpr std::size_t longest_trace_state = 512;

bool is_hexadecimal(std::string_view text) noexcept {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}
bool is_zero(std::string_view text) noexcept { return text.find_first_not_of('0') == std::string_view::npos; }

/// 00-, the id of the trace, the id of the caller, and flags; later versions may have more behind that.
bool is_trace_parent(std::string_view text) noexcept {
  constexpr std::size_t size = 55;
  if (text.size() < size || text[2] != '-' || text[35] != '-' || text[52] != '-') return false;
  const std::string_view version = text.substr(0, 2);
  const std::string_view trace = text.substr(3, 32);
  const std::string_view caller = text.substr(36, 16);
  for (const std::string_view each : {version, trace, caller, text.substr(53, 2)}) {
    if (!is_hexadecimal(each)) return false;
  }
  const bool may_have_more = version != "00" && text.size() > size && text[size] == '-';
  return version != "ff" && !is_zero(trace) && !is_zero(caller) && (text.size() == size || may_have_more);
}

}  // namespace

std::expected<void, header_problem> set_headers(jobs::job_fields& of, std::string_view content_type,
                                                const job_headers& headers) {
  if (!is_value(content_type)) {
    return std::unexpected(header_problem{"the content type has a byte that no field may have", "", true});
  }
  std::string lines;
  for (const auto& [name, value] : headers) {
    if (!is_token(name) || !is_lower_case(name)) {
      return std::unexpected(header_problem{fmt::format("`{}` is no name of a header in lower case", name), name});
    }
    if (!is_value(value)) {
      return std::unexpected(
          header_problem{fmt::format("the header `{}` has a byte that no field may have", name), name});
    }
    lines.append(name).append(": ").append(value).append("\n");
  }
  const bool has_room =
      (lines.empty() || of.set(headers_tag, lines)) && (content_type.empty() || of.set(content_type_tag, content_type));
  if (has_room) return {};
  return std::unexpected(
      header_problem{fmt::format("the headers of a job have at most {} bytes", jobs::most_field_bytes)});
}

job_headers trace_context_of(const request& head) {
  const auto parent = head.find(trace_parent);
  if (!parent || !is_trace_parent(*parent) || !is_value(*parent)) return {};
  if (std::ranges::count(head.fields, trace_parent, &field::name) > 1) return {};
  std::string state;
  for (const field& each : head.fields) {
    if (each.name != trace_state || each.value.empty()) continue;
    if (!state.empty()) state += ',';
    state += each.value;
  }
  job_headers all{{std::string(trace_parent), std::string(*parent)}};
  if (!state.empty() && state.size() <= longest_trace_state && is_value(state)) {
    all.emplace(trace_state, std::move(state));
  }
  return all;
}

bool is_of_trace_context(std::string_view name) noexcept { return name == trace_parent || name == trace_state; }

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

bool is_media_type(std::string_view type, std::string_view wanted) noexcept {
  std::string_view name = type.substr(0, type.find(';'));
  while (name.ends_with(' ') || name.ends_with('\t')) name.remove_suffix(1);
  return equal_in_any_case(name, wanted);
}

std::string_view content_type_of(const jobs::job_fields& of) noexcept {
  const std::string_view type = of.find(content_type_tag).value_or("");
  return is_value(type) ? type : "";
}

}  // namespace foliot::program::http
