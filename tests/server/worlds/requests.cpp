#include "requests.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace foliot::program::worlds {

namespace {

using namespace std::chrono_literals;

/// Clients send something so long before a reservation ends: while the store executes it, the time may be over.
constexpr duration before_the_end = duration::nanoseconds(2'000'000);

}  // namespace

event& requests::note(verb what) {
  event& made = in_.seen.events.emplace_back();
  made.connection = connection_;
  made.node = node_;
  made.by = by_;
  made.what = what;
  made.begin = in_.now();
  made.front = open_.empty() ? made.begin : moment{0, instant::never()};
  made.tube = used_;
  open_.push_back(&made);
  return made;
}

event& requests::note_again(const event& first) {
  event& made = note(first.what);
  const moment front = made.front;
  made = first;
  made.connection = connection_;
  made.node = node_;
  made.front = front;
  return made;
}

std::vector<event*> requests::take_answered(std::size_t count) {
  std::vector<event*> answered(open_.begin(), open_.begin() + static_cast<std::ptrdiff_t>(count));
  open_.erase(open_.begin(), open_.begin() + static_cast<std::ptrdiff_t>(count));
  const moment now = in_.now();
  for (event* each : answered) each->end = now;
  if (!open_.empty()) open_.front()->front = now;
  return answered;
}

void requests::learn(const event& from) {
  if (from.answer == "INSERTED" || from.answer == "RESERVED") in_.known.push_back(from.job);
  if (from.what == verb::put) in_.ttrs.emplace(from.job, from.ttr);
  if (from.answer != "RESERVED") return;
  if (!from.token.empty()) in_.reservations.push_back({from.token, from.job});
  const auto ttr = in_.ttrs.find(from.job);
  if (ttr == in_.ttrs.end() || ttr->second >= 1s) return;
  in_.ending_job = from.job;
  in_.ending_token = from.token;
  in_.next_end = from.end->time + duration(ttr->second);
}

duration requests::pause() {
  const instant end = in_.next_end - (in_.has_stalls ? before_the_end : duration::zero());
  if (end > in_.time_now() && in_.one_in(in_.has_stalls ? 2 : 6)) {
    aims_ = true;
    return end - in_.time_now() + duration::nanoseconds(in_.has_stalls || in_.one_in(2) ? 0 : 1);
  }
  switch (in_.below(4)) {
    case 0: return duration::zero();
    case 1: return duration(std::chrono::microseconds(in_.below(3000)));
    case 2: return jobs::milliseconds(in_.below(10));
    default: return jobs::milliseconds(in_.below(40));
  }
}

void requests::is_slow() {
  for (event* each : open_) each->prompt = false;
}

void requests::misses() {
  if (!open_.empty()) open_.front()->answer = "MISSING";
}

event& requests::note_page() {
  constexpr std::array<const char*, 5> prefixes{"", "", "mail", "ca", "x"};
  event& made = note(verb::page);
  made.prefix = prefixes[in_.below(prefixes.size())];
  made.count = in_.one_in(2) ? jobs::most_listed_due : 1 + in_.below(4);
  made.at = jobs::utc_time{};
  if (last_listed_ && in_.one_in(2)) {
    made.at = last_listed_->due;
    made.after = last_listed_->id;
  } else if (in_.one_in(2)) {
    made.at = in_.one_in(2) ? client_world::far : in_.utc() + jobs::milliseconds(in_.below(60));
    if (in_.one_in(2)) made.after = some_job();
  }
  return made;
}

jobs::job_id requests::some_job() {
  if (in_.known.empty()) return 1;
  const std::size_t latest = std::min<std::size_t>(in_.known.size(), 12);
  return in_.known[in_.known.size() - 1 - in_.below(latest)];
}

std::string requests::some_key() { return fmt::format("k{}", in_.below(4)); }

std::string requests::new_body() { return fmt::format("body {}", ++in_.bodies); }

}  // namespace foliot::program::worlds
