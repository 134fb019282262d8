#include "attempt_notes.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "server/http/times.hpp"

namespace foliot::program {

namespace {

std::uint64_t note_number(const http::json& of, std::string_view name) noexcept {
  const http::json* const found = of.find(name);
  return found != nullptr && found->is_number() ? found->number() : 0;
}

std::string note_text(const http::json& of, std::string_view name) {
  const http::json* const found = of.find(name);
  return found != nullptr && found->is_text() ? std::string(found->text()) : std::string();
}

http::ordered_json encoded_notes(const attempt_notes& notes, std::size_t count) {
  http::ordered_json all = http::ordered_json::object();
  all["failed"] = notes.failed;
  http::ordered_json& last = all["last"] = http::ordered_json::array();
  for (std::size_t i = 0; i < std::min(count, notes.last.size()); ++i) {
    const failed_attempt& each = notes.last[i];
    http::ordered_json one = http::ordered_json::object();
    one["at"] = each.at.time_since_epoch().count();
    one["outcome"] = each.outcome;
    one["status"] = each.status;
    one["took"] = each.took.count();
    one["why"] = each.why;
    last.push_back(std::move(one));
  }
  return all;
}

}  // namespace

attempt_notes attempt_notes::in(const jobs::job_fields& history) {
  attempt_notes read;
  const auto field = history.find(tag_of_attempts);
  if (!field) return read;
  const auto document = http::parse_json(*field);
  if (!document || !document->root().is_object()) return read;
  read.failed = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(note_number(document->root(), "failed"), std::numeric_limits<std::uint32_t>::max()));
  const http::json* const last = document->root().find("last");
  if (last == nullptr || !last->is_array()) return read;
  for (const http::json& each : *last) {
    if (!each.is_object() || read.last.size() == most_kept) break;
    failed_attempt one;
    one.at = jobs::utc_time(jobs::milliseconds(static_cast<std::int64_t>(note_number(each, "at"))));
    one.outcome = note_text(each, "outcome");
    one.status = static_cast<int>(std::min<std::uint64_t>(note_number(each, "status"), 999));
    one.took = jobs::milliseconds(static_cast<std::int64_t>(note_number(each, "took")));
    one.why = note_text(each, "why");
    read.last.push_back(std::move(one));
  }
  return read;
}

void attempt_notes::note(failed_attempt one) {
  if (failed != std::numeric_limits<std::uint32_t>::max()) ++failed;
  if (one.why.size() > longest_reason) {
    std::size_t end = longest_reason;
    while (end > 0 && (static_cast<unsigned char>(one.why[end]) & 0xc0U) == 0x80U) --end;  // within a character
    one.why.resize(end);
  }
  last.insert(last.begin(), std::move(one));
  if (last.size() > most_kept) last.resize(most_kept);
}

jobs::job_fields attempt_notes::noted_in(jobs::job_fields history) const {
  for (std::size_t count = last.size();; --count) {
    if (history.set(tag_of_attempts, http::json_text(encoded_notes(*this, count))) || count == 0) return history;
  }
}

http::ordered_json attempt_notes::json() const {
  http::ordered_json all = http::ordered_json::object();
  all["failed"] = failed;
  http::ordered_json& shown = all["last"] = http::ordered_json::array();
  for (const failed_attempt& each : last) {
    http::ordered_json one = http::ordered_json::object();
    one["at"] = http::time_text(each.at);
    one["outcome"] = each.outcome;
    if (each.status != 0) one["status"] = each.status;
    one["milliseconds"] = each.took.count();
    if (!each.why.empty()) one["reason"] = each.why;
    shown.push_back(std::move(one));
  }
  return all;
}

}  // namespace foliot::program
