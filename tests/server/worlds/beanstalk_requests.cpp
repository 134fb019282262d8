#include "beanstalk_requests.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <utility>

#include <fmt/format.h>

namespace foliot::program::worlds {

namespace {

using namespace std::chrono_literals;

/// One reply of the server.
struct reply {
  std::string line;
  std::string body;
};

/// Takes the first whole reply off the bytes that have come, if there is one.
std::optional<reply> take_reply(std::string& received) {
  const std::size_t end = received.find("\r\n");
  if (end == std::string::npos) return std::nullopt;
  reply found{received.substr(0, end), ""};
  std::size_t used = end + 2;
  const bool has_body =
      found.line.starts_with("RESERVED ") || found.line.starts_with("FOUND ") || found.line.starts_with("OK ");
  if (has_body) {
    const std::size_t size = std::stoul(found.line.substr(found.line.rfind(' ') + 1));
    if (received.size() < used + size + 2) return std::nullopt;
    found.body = received.substr(used, size);
    used += size + 2;
  }
  received.erase(0, used);
  return found;
}

/// The lines of the reply to `x-due`; nothing if a line is another one.
std::optional<std::vector<jobs::due_job>> listed_in(std::string_view text) {
  constexpr std::string_view id_key = "- {id: ";
  constexpr std::string_view tube_key = ", tube: \"";
  constexpr std::string_view due_key = "\", state: delayed, due-ms: ";
  std::vector<jobs::due_job> all;
  std::string shown = "---\n";
  std::istringstream lines{std::string(text)};
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    jobs::due_job& each = all.emplace_back();
    const std::size_t tube = line.find(tube_key);
    const std::size_t due = line.find(due_key);
    if (!line.starts_with(id_key) || tube == std::string::npos || due == std::string::npos) return std::nullopt;
    each.id = std::strtoull(line.c_str() + id_key.size(), nullptr, 10);
    each.tube = line.substr(tube + tube_key.size(), due - tube - tube_key.size());
    each.due = jobs::utc_time(jobs::milliseconds(std::strtoll(line.c_str() + due + due_key.size(), nullptr, 10)));
    shown += fmt::format("{}{}{}{}{}{}}}\n", id_key, each.id, tube_key, each.tube, due_key,
                         each.due.time_since_epoch().count());
  }
  return shown == text ? std::optional(std::move(all)) : std::nullopt;
}

}  // namespace

std::string beanstalk_requests::expect(std::string command, std::string expected) {
  note(verb::other).expected = std::move(expected);
  return command;
}

std::string beanstalk_requests::greeting() {
  used_ = client_world::tubes[in_.below(client_world::tubes.size())];
  std::string all = expect("use " + used_ + "\r\n", "USING " + used_);
  for (const char* each : client_world::tubes) {
    if (in_.one_in(2)) continue;
    watched_.insert(each);
    all += expect(fmt::format("watch {}\r\n", each), fmt::format("WATCHING {}", watched_.size()));
  }
  if (watched_.size() > 1 && in_.one_in(2)) {
    watched_.erase("default");
    all += expect("ignore default\r\n", fmt::format("WATCHING {}", watched_.size()));
  }
  return all;
}

std::string beanstalk_requests::next() {
  if (takes_aim()) {
    const jobs::job_id id = in_.ending_job;
    if (std::ranges::find(held_, id) != held_.end()) return of_job(verb::remove, "delete", id);
    return in_.one_in(3) ? reserve() : of_job(verb::reserve_job, "reserve-job", id);
  }
  const std::size_t choice = in_.below(100);
  if (choice < 8) return put();
  if (choice < 32) return extended_put();
  if (choice < 56) return reserve();
  if (choice < 76) return of_held_job();
  if (choice < 90) return of_named_job();
  return other();
}

std::string beanstalk_requests::put() {
  event& made = note(verb::put);
  made.body = new_body();
  made.priority = static_cast<jobs::priority>(in_.below(3));
  const std::size_t delay = in_.one_in(4) ? 1 : 0;
  const std::size_t ttr = in_.below(3);
  made.delay = std::chrono::seconds(delay);
  made.ttr = std::chrono::seconds(std::max<std::size_t>(ttr, 1));
  return fmt::format("put {} {} {} {}\r\n{}\r\n", made.priority, delay, ttr, made.body.size(), made.body);
}

std::string beanstalk_requests::extended_put() {
  event& made = note(verb::put);
  made.body = new_body();
  if (in_.one_in(200)) made.body.append(20'000, '.');
  made.priority = static_cast<jobs::priority>(in_.below(3));
  made.ttr = in_.one_in(2) ? jobs::milliseconds(1 + in_.below(30)) : jobs::milliseconds(60'000);
  std::string due = "0";
  if (in_.one_in(3)) {
    made.delay = jobs::milliseconds(in_.below(60));
    due = fmt::format("{}", made.delay.count());
  } else if (in_.one_in(2)) {
    made.at = in_.one_in(3) ? client_world::far : in_.utc() + jobs::milliseconds(in_.below(60));
    due = fmt::format("@{}", made.at->time_since_epoch().count());
  }
  const std::array<const char*, 3> policies{"keep", "replace", "refuse"};
  const std::size_t policy = in_.below(policies.size());
  if (in_.one_in(3)) made.key = some_key();
  made.replaces = policy == 1;
  return fmt::format("x-put {} {} {} {} {} {}\r\n{}\r\n", policies[policy], made.key.empty() ? "-" : made.key,
                     made.priority, due, made.ttr.count(), made.body.size(), made.body);
}

std::string beanstalk_requests::reserve() {
  event& made = note(verb::reserve);
  made.watched = watched_;
  if (in_.one_in(3)) return "reserve\r\n";
  made.timeout = std::chrono::seconds(in_.one_in(4) ? 1 : 0);
  return fmt::format("reserve-with-timeout {}\r\n", std::chrono::floor<std::chrono::seconds>(*made.timeout).count());
}

std::string beanstalk_requests::of_job(verb what, std::string_view word, jobs::job_id id) {
  event& made = note(what);
  made.asked = id;
  return fmt::format("{} {}\r\n", word, id);
}

std::string beanstalk_requests::of_held_job() {
  if (held_.empty()) return reserve();
  const std::size_t which = in_.below(held_.size());
  const jobs::job_id id = held_[which];
  const std::size_t choice = in_.below(10);
  if (choice == 0) return of_job(verb::touch, "touch", id);
  held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(which));
  if (choice < 6) return of_job(verb::remove, "delete", id);
  event& made = note(choice < 9 ? verb::release : verb::bury);
  made.asked = id;
  made.priority = static_cast<jobs::priority>(in_.below(3));
  if (made.what == verb::bury) return fmt::format("bury {} {}\r\n", id, made.priority);
  const std::size_t delay = in_.one_in(4) ? 1 : 0;
  made.delay = std::chrono::seconds(delay);
  return fmt::format("release {} {} {}\r\n", id, made.priority, delay);
}

std::string beanstalk_requests::of_named_job() {
  const std::size_t choice = in_.below(14);
  if (choice < 3) return of_job(verb::reserve_job, "reserve-job", some_job());
  if (choice == 3) return of_job(verb::remove, "delete", some_job());
  if (choice == 4) return of_job(verb::touch, "touch", some_job());
  if (choice == 5) return of_job(verb::kick_job, "kick-job", some_job());
  if (choice == 6) return of_job(verb::peek, "peek", some_job());
  event& made = note(choice < 10 ? verb::cancel : choice < 12 ? verb::reschedule : verb::fire);
  std::string name;
  if (in_.one_in(2)) {
    made.key = some_key();
    name = "=" + made.key;
  } else {
    made.asked = some_job();
    name = fmt::format("{}", made.asked);
  }
  if (made.what == verb::cancel) return fmt::format("x-cancel {}\r\n", name);
  if (made.what == verb::fire) return fmt::format("x-fire {}\r\n", name);
  if (in_.one_in(2)) {
    made.at = in_.utc() + jobs::milliseconds(in_.below(60));
    return fmt::format("x-reschedule {} @{}\r\n", name, made.at->time_since_epoch().count());
  }
  made.delay = jobs::milliseconds(in_.below(60));
  return fmt::format("x-reschedule {} {}\r\n", name, made.delay.count());
}

std::string beanstalk_requests::other() {
  const std::size_t choice = in_.below(11);
  if (choice > 8) return page();
  if (choice < 3) {
    note(verb::kick);
    return fmt::format("kick {}\r\n", 1 + in_.below(3));
  }
  if (choice == 3 && in_.has_pauses) {
    event& made = note(verb::pause);
    made.tube = client_world::tubes[in_.below(client_world::tubes.size())];
    return fmt::format("pause-tube {} {}\r\n", made.tube, in_.below(2));
  }
  if (choice == 4) return expect("list-tube-used\r\n", "USING " + used_);
  if (choice == 5) return expect("frobnicate\r\n", "UNKNOWN_COMMAND");
  if (choice == 6) return expect("touch x\r\n", "BAD_FORMAT");
  if (choice == 7) return expect("put 0 0 1 3\r\nlong?", "EXPECTED_CRLF");
  return extended_put();
}

std::string beanstalk_requests::page() {
  const event& made = note_page();
  return fmt::format("x-due {} @{} {} {}\r\n", made.count, made.at->time_since_epoch().count(), made.after,
                     made.prefix.empty() ? "-" : made.prefix);
}

bool beanstalk_requests::take_answer(std::string& received) {
  std::optional<reply> got = take_reply(received);
  if (!got) return false;
  event& it = *take_answered(1).front();
  if (it.what == verb::other) {
    it.answer = std::move(got->line);
  } else {
    note_answer(it, got->line, std::move(got->body));
  }
  return true;
}

void beanstalk_requests::note_answer(event& it, const std::string& line, std::string body) {
  const std::size_t space = line.find(' ');
  it.answer = line.substr(0, space);
  if (it.what != verb::put) it.body = std::move(body);
  if (it.what == verb::page) {
    auto listed = listed_in(it.body);
    if (!listed) it.answer += " with other lines";
    if (listed) it.listed = *std::move(listed);
    if (!it.listed.empty()) last_listed_ = it.listed.back();
    return;
  }
  const bool has_id = space != std::string::npos && it.what != verb::kick;
  if (has_id) it.job = std::stoull(line.substr(space + 1));
  constexpr std::string_view of_asked = " DELETED RELEASED BURIED TOUCHED KICKED ";
  if (it.job == 0 && of_asked.find(" " + it.answer + " ") != std::string_view::npos) it.job = it.asked;
  if (it.answer == "RESERVED") held_.push_back(it.job);
  learn(it);
}

}  // namespace foliot::program::worlds
