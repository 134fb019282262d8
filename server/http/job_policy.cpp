#include "job_policy.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <foliot/jobs/job_tries.hpp>
#include <foliot/jobs/limits.hpp>
#include <foliot/runtime/wall_time.hpp>

#include "front_check.hpp"
#include "server/policies/policies_in_force.hpp"
#include "times.hpp"

namespace foliot::program::http {

namespace {

constexpr std::string_view no_room_for_fields =
    "the headers of the job leave no room for its group and its expiry: shorten them";

std::string encoded_expiry(jobs::utc_time at) {
  auto left = static_cast<std::uint64_t>(at.time_since_epoch().count());
  std::string bytes(8, '\0');
  for (std::size_t i = bytes.size(); i-- > 0; left >>= 8) bytes[i] = static_cast<char>(left & 0xffU);
  return bytes;
}

std::optional<jobs::utc_time> expiry_of(const jobs::job_fields& fields) {
  const auto bytes = fields.find(jobs::tag_of_expiry);
  if (!bytes || bytes->size() != 8) return std::nullopt;
  std::uint64_t count = 0;
  for (const char each : *bytes) count = count << 8 | static_cast<unsigned char>(each);
  if (count > static_cast<std::uint64_t>(jobs::latest_due().time_since_epoch().count())) return std::nullopt;
  return jobs::utc_time(jobs::milliseconds(static_cast<std::int64_t>(count)));
}

/// The text, cut between two characters where it is longer.
std::string_view cut(std::string_view text, std::size_t most) noexcept {
  if (text.size() <= most) return text;
  const auto is_within = [](char one) { return (static_cast<unsigned char>(one) & 0xc0U) == 0x80U; };
  while (most > 0 && is_within(text[most])) --most;
  return text.substr(0, most);
}

std::string_view word_of(jobs::failed_try::kind how) noexcept {
  switch (how) {
    case jobs::failed_try::kind::released: return "released";
    case jobs::failed_try::kind::timed_out: return "timed_out";
    case jobs::failed_try::kind::moved: return "moved";
    case jobs::failed_try::kind::buried: break;
  }
  return "buried";
}

ordered_json tries_json(const jobs::job_tries& tries) {
  ordered_json all = ordered_json::object();
  all["failed"] = tries.failed;
  ordered_json& last = all["last"] = ordered_json::array();
  for (const jobs::failed_try& each : tries.last) {
    ordered_json one = ordered_json::object();
    one["when"] = time_text(each.when);
    one["how"] = word_of(each.how);
    if (each.how == jobs::failed_try::kind::moved) {  // job_tries.hpp has what the texts are then
      const std::size_t space = each.worker.find(' ');
      one["tube"] = each.why;
      one["id"] = each.worker.substr(0, space);
      if (space != std::string::npos) one["key"] = each.worker.substr(space + 1);
    } else {
      if (!each.why.empty()) one["why"] = each.why;
      if (!each.worker.empty()) one["worker"] = each.worker;
    }
    last.push_back(std::move(one));
  }
  return all;
}

}  // namespace

std::optional<jobs::milliseconds> expiry_length_of(inputs& in) { return in.length("expires_in"); }

void read_policy_fields(inputs& in, jobs::put& into) {
  const std::optional<std::string> group = in.part_of_name("group", jobs::most_group_bytes);
  if (group) {
    const bool is_group = !group->empty() && is_utf8(*group) && is_field_value(*group) && !group->contains('\t');
    if (!is_group)
      in.refuse("group", fmt::format("`group` must be 1 to {} bytes of UTF-8 without control characters",
                                     jobs::most_group_bytes));
    if (!into.fields.set(jobs::tag_of_group, *group)) in.refuse("group", std::string(no_room_for_fields));
  }
  const std::optional<jobs::utc_time> time = in.time("expires");
  const std::optional<jobs::milliseconds> length = expiry_length_of(in);
  if (time && length) in.refuse("expires", "`expires` and `expires_in` exclude each other");
  if (!time && !length) return;
  const char* const name = time ? "expires" : "expires_in";
  const auto now = std::chrono::floor<jobs::milliseconds>(runtime::wall_now());
  const jobs::utc_time expires = time ? *time : now + *length;
  const auto* const delay = std::get_if<jobs::milliseconds>(&into.due);
  const jobs::utc_time due = delay != nullptr ? now + *delay : std::get<jobs::utc_time>(into.due);
  if (expires <= due)
    in.refuse(name, fmt::format("`{}` must be later than the due time: else no worker would ever get the job", name));
  if (!into.fields.set(jobs::tag_of_expiry, encoded_expiry(expires))) in.refuse(name, std::string(no_room_for_fields));
}

std::optional<jobs::job_fields> read_reason(inputs& in) {
  const std::optional<std::string> reason = in.text("reason");
  if (!reason || reason->empty()) return std::nullopt;
  if (!is_utf8(*reason)) in.refuse("reason", "`reason` must be UTF-8");
  jobs::job_fields made;
  static_cast<void>(made.set(jobs::tag_of_reason, cut(*reason, jobs::most_reason_bytes)));
  return made;
}

void note_worker(const call& by, std::optional<jobs::job_fields>& history) {
  const bool is_asked_for = history || (by.state.policies != nullptr && by.state.policies->count() > 0);
  if (!is_asked_for || by.worker.empty()) return;
  if (!history) history.emplace();
  static_cast<void>(history->set(jobs::tag_of_worker, cut(by.worker, jobs::most_worker_bytes)));
}

void show_policy_fields(ordered_json& to, const jobs::job& what) {
  if (const auto group = what.fields.find(jobs::tag_of_group)) to["group"] = *group;
  if (const auto expires = expiry_of(what.fields)) to["expires"] = time_text(*expires);
  if (!what.history.find(jobs::tag_of_tries)) return;
  if (const auto tries = jobs::job_tries::in(what.history)) to["tries"] = tries_json(*tries);
}

void hide_what_is_others(ordered_json& from, const call& by) {
  const auto tries = from.find("tries");
  if (tries == from.end()) return;
  ordered_json& last = (*tries)["last"];
  bool is_within = true;  // the tube in which the try was; the last ones were in that of the job
  for (auto each = last.rbegin(); each != last.rend(); ++each) {
    const auto moved_from = each->find("tube");
    if (moved_from != each->end()) is_within = by.client.includes(moved_from->get_ref<const std::string&>());
    if (!is_within) {
      for (const char* const name : {"tube", "id", "key", "why", "worker"}) each->erase(name);
    }
    const auto worker = each->find("worker");
    if (worker != each->end() && !by.client.may_see_holder(worker->get_ref<const std::string&>()))
      each->erase("worker");
  }
}

}  // namespace foliot::program::http
