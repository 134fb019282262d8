#include "policy_record.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <foliot/core/duration.hpp>
#include <foliot/jobs/limits.hpp>

#include "server/access/server_tubes.hpp"
#include "server/core/tube_name.hpp"
#include "server/http/object_reader.hpp"

namespace foliot::program {

namespace {

using http::json;
using http::object_reader;
using http::ordered_json;
using http::wrong_member;
using jobs::milliseconds;

constexpr double greatest_factor = 100;
constexpr double greatest_jitter = 1;

std::string text_of_length(milliseconds it) { return to_string(duration(it)).c_str(); }

/// The longest delay unless the policy says otherwise: a delay that is named by itself is never cut.
milliseconds usual_most(milliseconds first) { return std::max(jobs::retry_delay().most, first); }

std::vector<milliseconds> read_delays(const json& from, const std::string& pointer) {
  if (!from.is_array() || from.empty() || from.size() > jobs::most_listed_delays)
    throw wrong_member(pointer, fmt::format("listed delays must be an array of 1 to {} lengths of time such as \"10s\"",
                                            jobs::most_listed_delays));
  std::vector<milliseconds> made;
  for (const json& each : from) {
    made.push_back(object_reader::length_of<milliseconds>(each, fmt::format("{}/{}", pointer, made.size()), "delay",
                                                          milliseconds(0), jobs::longest_retry_delay));
  }
  return made;
}

jobs::retry_delay read_delay(const json& from) {
  constexpr const char* pointer = "/delay";
  jobs::retry_delay made;
  if (from.is_array()) {
    made.listed = read_delays(from, pointer);
    return made;
  }
  if (!from.is_object()) {
    made.first =
        object_reader::length_of<milliseconds>(from, pointer, "delay", milliseconds(0), jobs::longest_retry_delay);
    made.most = usual_most(made.first);
    return made;
  }
  object_reader in(from, pointer, "`delay`");
  const json* const listed = in.find("listed");
  const auto first = in.length<milliseconds>("first", milliseconds(0), jobs::longest_retry_delay);
  const auto factor = in.fraction("factor", 1, greatest_factor);
  const auto most = in.length<milliseconds>("most", milliseconds(0), jobs::longest_retry_delay);
  made.jitter = in.fraction("jitter", 0, greatest_jitter).value_or(made.jitter);
  in.expect_no_others();
  if (listed != nullptr && (first || factor || most))
    in.refuse("listed", "`listed` excludes `first`, `factor` and `most`: name the delays one by one, or by a rule");
  if (listed != nullptr) made.listed = read_delays(*listed, in.pointer_to("listed"));
  made.first = first.value_or(made.first);
  made.factor = factor.value_or(made.factor);
  made.most = most.value_or(usual_most(made.first));
  if (made.most < made.first)
    in.refuse("most", fmt::format("`most` must not be shorter than `first`, {}", text_of_length(made.first)));
  return made;
}

std::string read_dead_letters(object_reader& in, std::string_view tube, std::uint32_t tries) {
  const auto given = in.text("dead_letters", "\"mail-dead\"");
  if (!given || given->empty()) return {};
  if (!is_tube_name(*given)) in.refuse("dead_letters", fmt::format("`dead_letters` must have {}", rule_of_tube_names));
  if (*given == tube)
    in.refuse(
        "dead_letters",
        fmt::format("`dead_letters` must be another tube than '{}' itself: leave it out to have jobs buried", tube));
  if (tries == 0) in.refuse("dead_letters", "`dead_letters` needs `tries` from 1 on: else no try is the last one");
  return std::string(*given);
}

std::uint32_t read_bound(object_reader& in, std::string_view name) {
  return static_cast<std::uint32_t>(in.number(name, 0, jobs::greatest_policy_bound).value_or(0));
}

/// Reads each member by one call of `each`, which calls what reads it.
template <class Each>
jobs::tube_policy read_members(object_reader& in, std::string_view tube, Each each) {
  jobs::tube_policy made;
  each([&] { made.tries = read_bound(in, "tries"); });
  each([&] { made.counts_releases = in.flag("counts_releases").value_or(made.counts_releases); });
  each([&] { made.counts_timeouts = in.flag("counts_timeouts").value_or(made.counts_timeouts); });
  each([&] {
    if (const json* const delay = in.find("delay")) made.delay = read_delay(*delay);
  });
  each([&] { made.dead_letters = read_dead_letters(in, tube, made.tries); });
  each([&] {
    made.expires = in.length<milliseconds>("expires", milliseconds(0), jobs::longest_time).value_or(made.expires);
  });
  each([&] { made.most_reserved = read_bound(in, "most_reserved"); });
  each([&] { made.most_reserved_of_group = read_bound(in, "most_reserved_of_group"); });
  each([&] { made.most_per_second = read_bound(in, "most_per_second"); });
  each([&] {
    const auto burst = in.number("burst", 1, jobs::greatest_policy_bound);
    if (burst && made.most_per_second == 0)
      in.refuse("burst", "`burst` needs `most_per_second`: without it, any number is reserved at once");
    made.burst = static_cast<std::uint32_t>(burst.value_or(made.burst));
  });
  return made;
}

/// As people write it: 2, not 2.0.
ordered_json json_of_number(double it) {
  const auto whole = static_cast<std::uint64_t>(it);
  if (static_cast<double>(whole) == it) return whole;
  return it;
}

ordered_json json_of_delay(const jobs::retry_delay& it) {
  ordered_json listed = ordered_json::array();
  for (const milliseconds each : it.listed) listed.push_back(text_of_length(each));
  const bool grows = it.factor != jobs::retry_delay().factor;
  if (listed.empty() && !grows && it.jitter == 0) return text_of_length(it.first);
  if (!listed.empty() && it.jitter == 0) return listed;
  ordered_json made = ordered_json::object();
  if (!listed.empty()) {
    made["listed"] = std::move(listed);
  } else {
    made["first"] = text_of_length(it.first);
    if (grows) made["factor"] = json_of_number(it.factor);
    if (grows && it.most != usual_most(it.first)) made["most"] = text_of_length(it.most);
  }
  if (it.jitter != 0) made["jitter"] = json_of_number(it.jitter);
  return made;
}

}  // namespace

std::string sentence_of(const policy_error& wrong) {
  return wrong.pointer.empty() ? wrong.detail : fmt::format("{}: {}", wrong.pointer, wrong.detail);
}

std::expected<jobs::tube_policy, policy_error> read_policy(const http::json& from, std::string_view tube) {
  try {
    object_reader in(from, "", "a policy");
    jobs::tube_policy made = read_members(in, tube, [](const auto& read) { read(); });
    in.expect_no_others();
    if (auto wrong = jobs::mistake_in(tube, made)) return std::unexpected(policy_error{"", *std::move(wrong)});
    return made;
  } catch (wrong_member& wrong) {
    return std::unexpected(policy_error{std::move(wrong.pointer()), std::move(wrong.detail())});
  }
}

std::expected<jobs::tube_policy, policy_error> read_policy(std::string_view text, std::string_view tube) {
  const auto read = http::parse_json(text);
  if (read) return read_policy(read->root(), tube);
  return std::unexpected(policy_error{read.error().name, read.error().detail});
}

jobs::tube_policy read_right_members(std::string_view text, std::string_view tube) {
  const auto read = http::parse_json(text);
  if (!read || !read->root().is_object()) return {};
  object_reader in(read->root(), "", "a policy");
  jobs::tube_policy made = read_members(in, tube, [](const auto& one) {
    try {
      one();
    } catch (const wrong_member&) {
      return;  // as if it were left out
    }
  });
  if (jobs::mistake_in(tube, made)) return {};
  return made;
}

http::ordered_json json_of(const jobs::tube_policy& it) {
  const jobs::tube_policy usual;
  ordered_json made = ordered_json::object();
  if (it.tries != 0) made["tries"] = it.tries;
  if (!it.counts_releases) made["counts_releases"] = false;
  if (!it.counts_timeouts) made["counts_timeouts"] = false;
  if (it.delay != usual.delay) made["delay"] = json_of_delay(it.delay);
  if (!it.dead_letters.empty()) made["dead_letters"] = it.dead_letters;
  if (it.expires != usual.expires) made["expires"] = text_of_length(it.expires);
  if (it.most_reserved != 0) made["most_reserved"] = it.most_reserved;
  if (it.most_reserved_of_group != 0) made["most_reserved_of_group"] = it.most_reserved_of_group;
  if (it.most_per_second != 0) made["most_per_second"] = it.most_per_second;
  if (it.burst != usual.burst) made["burst"] = it.burst;
  return made;
}

jobs::put put_of_policy(std::string_view tube, const jobs::tube_policy& it) {
  jobs::put record;
  record.tube = tube_of_policies;
  record.key = tube;
  record.body = http::json_text(json_of(it));
  record.due = jobs::latest_due();
  return record;
}

}  // namespace foliot::program
