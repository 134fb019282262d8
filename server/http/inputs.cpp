#include "inputs.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <expected>
#include <system_error>

#include <fmt/format.h>
#include <foliot/core/duration.hpp>
#include <foliot/jobs/limits.hpp>

#include "text/duration_text.hpp"
#include "times.hpp"

namespace foliot::program::http {

namespace {

constexpr std::string_view own_fields = "foliot-";
/// It says what the body is, before any value is read.
constexpr std::string_view field_of_body = "foliot-body";

/// The name of the field that has a value of this name: foliot-content-type for content_type.
std::string field_name(std::string_view name) {
  std::string all = std::string(own_fields) + std::string(name);
  std::ranges::replace(all, '_', '-');
  return all;
}

/// Whether a field has a value of this name.
bool is_field_of(std::string_view field, std::string_view name) noexcept {
  if (field.size() != own_fields.size() + name.size() || !field.starts_with(own_fields)) return false;
  return std::ranges::equal(field.substr(own_fields.size()), name, {}, {}, [](char c) { return c == '_' ? '-' : c; });
}

/// Whether the text is a length of zero, such as 0s or 0ms, which parse_duration() refuses: a nanosecond before it
/// stays one.
bool is_zero(const std::string& text) {
  return text == "0" || (text.starts_with("0") && parse_duration("1ns" + text) == duration::nanoseconds(1));
}

std::string shown_name(where place, std::string_view name) {
  switch (place) {
    case where::body: return "/" + pointer_name(name);
    case where::header: return field_name(name);
    case where::nothing:
    case where::path:
    case where::query: break;
  }
  return std::string(name);
}

}  // namespace

inputs::all_found inputs::all_of(std::string_view name) const noexcept {
  all_found all;
  const auto add = [&all](where place, std::string_view text, const json* value = nullptr) {
    ++all.count;
    all.last = {place, text, value};
  };
  for (const parameter& each : path_) {
    if (each.name == name) add(where::path, each.value);
  }
  for (const parameter& each : query_) {
    if (each.name == name) add(where::query, each.value);
  }
  if (const json* const value = body_.find(name)) add(where::body, value->is_text() ? value->text() : "", value);
  for (const field& each : head_.fields) {
    if (is_field_of(each.name, name)) add(where::header, each.value);
  }
  return all;
}

std::optional<inputs::found> inputs::find(std::string_view name) {
  asked_.push_back(name);
  const all_found all = all_of(name);
  if (all.count == 0) return std::nullopt;
  if (all.count > 1) refuse(name, fmt::format("`{}` is given twice", name));
  return all.last;
}

void inputs::refuse(std::string_view name, std::string detail, int status) const {
  const all_found all = all_of(name);
  const where place = all.count == 0 ? where::body : all.last.place;
  throw wrong_input(problem{status, std::move(detail), place, shown_name(place, name)});
}

std::optional<std::string> inputs::text(std::string_view name) {
  const std::optional<found> it = find(name);
  if (!it) return std::nullopt;
  if (it->value != nullptr && !it->value->is_text()) refuse(name, fmt::format("`{}` must be a string", name));
  return std::string(it->text);
}

std::string inputs::required_text(std::string_view name) {
  std::optional<std::string> it = text(name);
  if (!it || it->empty()) {
    refuse(name, fmt::format("`{}` is missing: send it in the query or in the body", name));
  }
  return std::move(*it);
}

std::optional<std::string> inputs::part_of_name(std::string_view name, std::size_t longest) {
  std::optional<std::string> it = text(name);
  if (it && (it->size() > longest || it->contains('\0'))) {
    refuse(name, fmt::format("`{}` must have at most {} bytes, and no zero byte", name, longest));
  }
  return it;
}

std::optional<std::uint64_t> inputs::number(std::string_view name, std::uint64_t least, std::uint64_t most) {
  const std::optional<found> it = find(name);
  if (!it) return std::nullopt;
  std::uint64_t value = 0;
  bool is_number = it->value != nullptr && it->value->is_number();
  if (is_number) {
    value = it->value->number();
  } else {
    const char* const end = it->text.data() + it->text.size();
    const auto read = std::from_chars(it->text.data(), end, value);
    is_number = read.ec == std::errc() && read.ptr == end;
  }
  if (!is_number || value < least || value > most) {
    refuse(name, fmt::format("`{}` must be a whole number from {} to {}", name, least, most));
  }
  return value;
}

std::optional<jobs::milliseconds> inputs::length(std::string_view name) {
  const std::optional<std::string> it = text(name);
  if (!it) return std::nullopt;
  if (is_zero(*it)) return jobs::milliseconds(0);
  const std::expected<duration, std::string> read = parse_duration(*it);
  if (!read) refuse(name, fmt::format("`{}` must be a length of time such as 5s or 1h30m: {}", name, read.error()));
  const auto length = std::chrono::ceil<jobs::milliseconds>(read->to_chrono());
  if (length > jobs::longest_time) {
    refuse(name, fmt::format("`{}` must be at most 4294967295s, some 136 years", name));
  }
  return length;
}

std::optional<jobs::utc_time> inputs::time(std::string_view name) {
  const std::optional<std::string> it = text(name);
  if (!it) return std::nullopt;
  const std::optional<jobs::utc_time> read = parse_time(*it);
  if (!read) refuse(name, fmt::format("`{}` must be a time of RFC 3339 such as 2026-11-29T05:40:00Z", name));
  if (*read < jobs::utc_time() || *read > jobs::latest_due()) {
    refuse(name, fmt::format("`{}` must be from {} to {}", name, time_text({}), time_text(jobs::latest_due())));
  }
  return read;
}

std::optional<bool> inputs::flag(std::string_view name) {
  const std::optional<found> it = find(name);
  if (!it) return std::nullopt;
  if (it->value != nullptr && it->value->is_boolean()) return it->value->boolean();
  if (it->text != "true" && it->text != "false") refuse(name, fmt::format("`{}` must be true or false", name));
  return it->text == "true";
}

std::optional<std::size_t> inputs::choice(std::string_view name, std::initializer_list<std::string_view> among) {
  const std::optional<std::string> it = text(name);
  if (!it) return std::nullopt;
  const auto* const chosen = std::ranges::find(among, *it);
  if (chosen == among.end()) refuse(name, fmt::format("`{}` must be one of {}", name, fmt::join(among, ", ")));
  return static_cast<std::size_t>(chosen - among.begin());
}

const json* inputs::member(std::string_view name) {
  asked_members_.push_back(name);
  return body_.find(name);
}

void inputs::expect_no_others() const {
  const auto is_in = [](const std::vector<std::string_view>& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
  };
  const auto refuse_at = [](where place, std::string name) {
    throw wrong_input(problem{400, "nothing here has this name", place, std::move(name)});
  };
  for (const parameter& each : query_) {
    if (!is_in(asked_, each.name)) refuse_at(where::query, each.name);
  }
  for (const field& each : head_.fields) {
    if (!each.name.starts_with(own_fields) || each.name == field_of_body) continue;
    const bool is_accepted = !accepted_fields_.empty() && each.name.starts_with(accepted_fields_);
    const auto is_it = [&](std::string_view name) { return is_field_of(each.name, name); };
    if (!is_accepted && std::ranges::none_of(asked_, is_it)) refuse_at(where::header, each.name);
  }
  if (accepts_body_ || !body_.is_object()) return;
  for (const json& each : body_) {
    if (is_in(asked_, each.name()) || is_in(asked_members_, each.name())) continue;
    refuse_at(where::body, shown_name(where::body, each.name()));
  }
}

}  // namespace foliot::program::http
