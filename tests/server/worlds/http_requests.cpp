#include "http_requests.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace foliot::program::worlds {

namespace {

using namespace std::chrono_literals;

std::uint64_t number_of(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// As 2026-11-29T05:40:00.123Z.
std::string text_of(jobs::utc_time time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", int{date.year()}, unsigned{date.month()},
                     unsigned{date.day()}, clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

/// Of a text that has just that form; else a time at which nothing is due.
jobs::utc_time time_of(const std::string& text) {
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  std::array<int, 4> clock{};
  const int read = std::sscanf(text.c_str(), "%4d-%2u-%2uT%2d:%2d:%2d.%3dZ", &year, &month, &day, &clock[0], &clock[1],
                               &clock[2], &clock[3]);
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  if (read != 7 || !date.ok()) return jobs::utc_time::min();
  const jobs::utc_time found = std::chrono::sys_days(date) + std::chrono::hours(clock[0]) +
                               std::chrono::minutes(clock[1]) + std::chrono::seconds(clock[2]) +
                               jobs::milliseconds(clock[3]);
  return text_of(found) == text ? found : jobs::utc_time::min();
}

std::string text_of(jobs::milliseconds length) { return fmt::format("{}ms", length.count()); }

/// As the value of a query; the worlds have no other characters that must be escaped.
std::string escaped(std::string text) {
  for (std::size_t at = 0; (at = text.find(' ', at)) != std::string::npos;) text.replace(at, 1, "%20");
  return text;
}

std::string query_of(const nlohmann::ordered_json& values) {
  std::string text;
  for (const auto& [name, value] : values.items()) {
    text += fmt::format("{}{}={}", text.empty() ? "?" : "&", name,
                        escaped(value.is_string() ? value.get<std::string>() : value.dump()));
  }
  return text;
}

/// What the worker of a job gets as its body.
std::string body_of(const nlohmann::ordered_json& job) {
  if (job.contains("body")) return job["body"].dump();
  return job.value("text", "");
}

}  // namespace

bool http_requests::answer::has_field(std::string_view line) const {
  return head.find(fmt::format("\r\n{}\r\n", line)) != std::string::npos;
}

bool http_requests::take(std::string& received, bool has_body, answer& into) {
  constexpr std::string_view length_name = "\r\nContent-Length: ";
  for (;;) {
    const std::size_t end = received.find("\r\n\r\n");
    if (end == std::string::npos) return false;
    into.head = received.substr(0, end + 2);
    into.status = static_cast<int>(number_of(std::string_view(into.head).substr(9)));
    const std::size_t at = into.head.find(length_name);
    const std::size_t length =
        at == std::string::npos ? 0 : number_of(std::string_view(into.head).substr(at + length_name.size()));
    const std::size_t used = end + 4 + (has_body ? length : 0);
    if (received.size() < used) return false;
    into.body = received.substr(end + 4, used - end - 4);
    received.erase(0, used);
    if (into.status >= 200) return true;  // "100 Continue" stands before an answer
  }
}

std::string http_requests::write(std::string_view method, std::string path, const json& values, std::string fields,
                                 std::size_t events) {
  questions_.push_back({events});
  if (!key_.empty()) fields += fmt::format("Idempotency-Key: {}\r\n", key_);
  const auto is_plain = [](const json& each) { return !each.is_structured(); };
  constexpr std::size_t most_in_query = 1000;
  const std::string body = values.dump();
  const bool in_query = body.size() < most_in_query && std::ranges::all_of(values, is_plain) && in_.one_in(2);
  if (in_query) path += query_of(values);
  std::string text = fmt::format("{} {} HTTP/1.1\r\nHost: localhost\r\n{}", method, path, fields);
  if (in_query || values.empty()) return text + (method == "GET" ? "\r\n" : "Content-Length: 0\r\n\r\n");
  text += "Content-Type: application/json\r\n";
  if (in_.one_in(8)) text += "Expect: 100-continue\r\n";
  if (in_.one_in(4)) {
    const std::size_t first = 1 + in_.below(body.size() - 1);
    return text + fmt::format("Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{}\r\n{:X}\r\n{}\r\n0\r\n\r\n", first,
                              body.substr(0, first), body.size() - first, body.substr(first));
  }
  return text + fmt::format("Content-Length: {}\r\n\r\n{}", body.size(), body);
}

std::string http_requests::expect(std::string text, std::string expected, bool is_head) {
  note(verb::other).expected = std::move(expected);
  questions_.push_back({1, is_head});
  return text;
}

std::string http_requests::next() {
  if (takes_aim()) {
    if (!in_.ending_token.empty() && !in_.one_in(3)) return of_reservation({in_.ending_token, in_.ending_job});
    return reserve();
  }
  if (!in_.keyed.empty() && in_.one_in(12)) return repeat();
  const std::size_t choice = in_.below(100);
  if (in_.one_in(6)) {
    if (choice < 10) return once(&http_requests::batch);
    if (choice < 20) return once(&http_requests::atomic_batch);
    return once(choice < 60 ? &http_requests::put : &http_requests::reserve);
  }
  if (choice < 3) return atomic_batch();
  if (choice < 7) return batch();
  if (choice < 30) return put();
  if (choice < 54) return reserve();
  if (choice < 76) return some_reservation();
  if (choice < 91) return of_named_job();
  return other();
}

http_requests::json http_requests::choose_put(event& made) {
  json values;
  made.tube = values["tube"] = client_world::tubes[in_.below(client_world::tubes.size())];
  made.body = new_body();
  if (in_.one_in(200)) made.body.append(20'000, '.');
  made.priority = static_cast<jobs::priority>(in_.below(3));
  if (made.priority != 0 || in_.one_in(2)) values["priority"] = made.priority;
  const auto shorter = static_cast<std::size_t>(in_.short_ttr.count());
  made.ttr = in_.one_in(2) ? jobs::milliseconds(1 + in_.below(shorter)) : in_.long_ttr;
  if (made.ttr != 60s || in_.one_in(2)) values["ttr"] = text_of(made.ttr);
  if (in_.one_in(3)) {
    made.delay = jobs::milliseconds(in_.below(60));
    values["delay"] = text_of(made.delay);
  } else if (in_.one_in(2)) {
    made.at = in_.one_in(3) ? client_world::far : in_.utc() + jobs::milliseconds(in_.below(60));
    values["due"] = text_of(*made.at);
  }
  return values;
}

std::string http_requests::raw_put(const event& made, json values) {
  questions_.push_back({});
  std::string fields = "Content-Type: text/plain\r\n";
  if (!key_.empty()) fields += fmt::format("Idempotency-Key: {}\r\n", key_);
  if (values.contains("delay")) {
    fields += fmt::format("Foliot-Delay: {}\r\n", values["delay"].get<std::string>());
    values.erase("delay");
  }
  return fmt::format("POST /v1/jobs{} HTTP/1.1\r\nHost: localhost\r\n{}Content-Length: {}\r\n\r\n{}", query_of(values),
                     fields, made.body.size(), made.body);
}

std::string http_requests::put() {
  event& made = note(verb::put);
  json values = choose_put(made);
  std::string fields;
  const std::size_t policy = in_.below(3);
  if (in_.one_in(2)) values["key"] = made.key = some_key();
  if (!made.key.empty() && policy == 1) {
    made.replaces = true;
    const auto seen = in_.versions_of_keys.find({made.tube, made.key});
    if (seen != in_.versions_of_keys.end() && in_.one_in(2)) {
      made.wanted_version = seen->second;
      fields = fmt::format("If-Match: \"{}\"\r\n", seen->second);
    }
    values["text"] = made.body;
    if (in_.one_in(2)) return write("PUT", "/v1/job", values, fields);
    const std::string path = fmt::format("/v1/tubes/{}/jobs/{}", made.tube, made.key);
    values.erase("tube");
    values.erase("key");
    return write("PUT", path, values, fields);
  }
  if (!made.key.empty() && policy == 2) {
    if (in_.one_in(2)) {
      fields = "If-None-Match: *\r\n";
    } else {
      values["existing"] = "refuse";
    }
  }
  if (fields.empty() && in_.one_in(4)) return raw_put(made, std::move(values));
  if (in_.one_in(3)) {
    made.body = json({{"number", in_.bodies}}).dump();
    values["body"] = json::parse(made.body);
  } else {
    values["text"] = made.body;
  }
  return write("POST", "/v1/jobs", values, fields);
}

std::string http_requests::batch() {
  json all;
  all["jobs"] = json::array();
  const std::size_t count = 1 + in_.below(4);
  for (std::size_t i = 0; i < count; ++i) {
    if (in_.one_in(10)) {
      note(verb::other).expected = "400";
      all["jobs"].push_back({{"tube", "mail"}, {"delay", "soon"}});
      continue;
    }
    event& made = note(verb::put);
    json values = choose_put(made);
    values["text"] = made.body;
    if (in_.one_in(3)) {
      values["key"] = made.key = some_key();
      made.replaces = in_.one_in(3);
      if (made.replaces) values["existing"] = "replace";
    }
    all["jobs"].push_back(std::move(values));
  }
  return write("POST", "/v1/batch", all, "", count);
}

std::string http_requests::atomic_batch() {
  json all;
  all["atomic"] = true;
  all["jobs"] = json::array();
  const std::size_t count = 1 + in_.below(4);
  const std::size_t group = ++in_.groups;
  const std::size_t tube = in_.below(client_world::tubes.size());
  std::set<std::pair<std::string, std::string>> keys;
  for (std::size_t i = 0; i < count; ++i) {
    event& made = note(verb::put);
    made.group = group;
    json values = choose_put(made);
    // Most have one tube: those of several databases are refused.
    if (!in_.one_in(10)) values["tube"] = made.tube = client_world::tubes[tube];
    values["text"] = made.body;
    std::string key = in_.one_in(3) ? some_key() : "";
    if (!key.empty() && keys.emplace(made.tube, key).second) {
      values["key"] = made.key = std::move(key);
      const std::size_t policy = in_.below(3);
      made.replaces = policy == 1;
      if (policy == 1) values["existing"] = "replace";
      if (policy == 2) values["existing"] = "refuse";
    }
    all["jobs"].push_back(std::move(values));
  }
  std::string text = write("POST", "/v1/batch", all, "", count);
  questions_.back().is_atomic = true;
  return text;
}

std::string http_requests::once(std::string (http_requests::*ask)()) {
  key_ = fmt::format("i{}", ++in_.keys);
  const std::size_t first = open().size();
  keyed_request made;
  made.text = (this->*ask)();
  made.is_atomic = questions_.back().is_atomic;
  for (std::size_t i = first; i < open().size(); ++i) {
    event& each = *open()[i];
    each.once = fmt::format("{}/{}", key_, i - first);
    made.asked.push_back(each);
  }
  key_.clear();
  in_.keyed.push_back(made);
  return std::move(made.text);
}

std::string http_requests::repeat() {
  const std::size_t latest = std::min<std::size_t>(in_.keyed.size(), 6);
  return repeat(in_.keyed[in_.keyed.size() - 1 - in_.below(latest)]);
}

std::string http_requests::repeat(const keyed_request& again) {
  for (const event& each : again.asked) note_again(each);
  questions_.push_back({again.asked.size(), false, again.is_atomic});
  return again.text;
}

std::string http_requests::reserve() {
  event& made = note(verb::reserve);
  json values;
  for (const char* each : client_world::tubes) {
    if (in_.one_in(2)) made.watched.insert(each);
  }
  if (made.watched.empty()) made.watched.insert(client_world::tubes[in_.below(client_world::tubes.size())]);
  if (made.watched.size() == 1 && in_.one_in(2)) {
    values["tube"] = *made.watched.begin();
  } else {
    values["tubes"] = made.watched;
  }
  made.count = in_.one_in(2) ? 1 : 1 + in_.below(5);
  if (made.count > 1) values["count"] = made.count;
  made.timeout = 30s;
  if (!in_.one_in(3)) {
    made.timeout = jobs::milliseconds(in_.one_in(2) ? 0 : in_.below(60));
    values["timeout"] = text_of(*made.timeout);
  }
  return write("POST", "/v1/reserve", values);
}

std::string http_requests::of_reservation(const known_reservation& held) {
  constexpr std::array<std::pair<verb, std::string_view>, 4> all{
      std::pair{verb::remove, "finish"}, {verb::release, "release"}, {verb::touch, "touch"}, {verb::bury, "bury"}};
  const std::size_t choice = in_.below(10);
  const auto& [what, word] = all[choice < 5 ? 0 : choice < 7 ? 1 : choice < 9 ? 2 : 3];
  event& made = note(what);
  made.asked = held.job;
  made.token = held.token;
  json values;
  if ((what == verb::release || what == verb::bury) && in_.one_in(2)) {
    made.priority = static_cast<jobs::priority>(in_.below(3));
    values["priority"] = made.priority;
  }
  if (what == verb::release && in_.one_in(3)) {
    made.delay = jobs::milliseconds(in_.below(40));
    values["delay"] = text_of(made.delay);
  }
  return write("POST", fmt::format("/v1/reservations/{}/{}", held.token, word), values);
}

/// Any client may have the token, and may show it again after it has ended its reservation.
std::string http_requests::some_reservation() {
  std::vector<known_reservation>& all = in_.reservations;
  if (all.empty()) return reserve();
  const std::size_t which = all.size() - 1 - in_.below(std::min<std::size_t>(all.size(), 6));
  const known_reservation held = all[which];
  if (!in_.one_in(4)) all.erase(all.begin() + static_cast<std::ptrdiff_t>(which));
  return of_reservation(held);
}

std::string http_requests::name_job(event& made) {
  if (in_.one_in(2)) {
    made.asked = some_job();
    return fmt::format("/v1/jobs/{}", made.asked);
  }
  made.tube = client_world::tubes[in_.below(client_world::tubes.size())];
  made.key = some_key();
  return fmt::format("/v1/tubes/{}/jobs/{}", made.tube, made.key);
}

std::string http_requests::expected_version(event& made) {
  const auto seen = in_.versions.find(made.asked);
  if (seen == in_.versions.end() || in_.one_in(3)) return "";
  made.wanted_version = seen->second;
  return fmt::format("If-Match: \"{}\"\r\n", seen->second);
}

std::string http_requests::change(verb what) {
  event& made = note(what);
  std::string path;
  if (what == verb::kick_job) {
    made.asked = some_job();
    path = fmt::format("/v1/jobs/{}", made.asked);
  } else {
    path = name_job(made);
  }
  const std::string fields = expected_version(made);
  if (what == verb::cancel) return write("DELETE", path, json::object(), fields);
  if (what == verb::fire) return write("POST", path + "/fire", json::object(), fields);
  if (what == verb::kick_job) return write("POST", path + "/kick", json::object(), fields);
  json values;
  if (in_.one_in(2)) {
    made.at = in_.utc() + jobs::milliseconds(in_.below(60));
    values["due"] = text_of(*made.at);
  } else {
    made.delay = jobs::milliseconds(in_.below(60));
    values["delay"] = text_of(made.delay);
  }
  return write("POST", path + "/reschedule", values, fields);
}

std::string http_requests::look() {
  event& made = note(verb::peek);
  const std::string path = name_job(made);
  if (in_.one_in(5)) return write("GET", path + "/why", json::object());
  return write("GET", path, json::object());
}

std::string http_requests::of_named_job() {
  const std::size_t choice = in_.below(14);
  if (choice < 5) return look();
  if (choice < 7) return change(verb::cancel);
  if (choice < 10) return change(verb::reschedule);
  if (choice < 12) return change(verb::fire);
  return change(verb::kick_job);
}

std::string http_requests::kick() {
  event& made = note(verb::kick);
  made.tube = client_world::tubes[in_.below(client_world::tubes.size())];
  return write("POST", fmt::format("/v1/tubes/{}/kick", made.tube), {{"count", 1 + in_.below(3)}});
}

std::string http_requests::clear() {
  event& made = note(verb::clear);
  made.tube = client_world::tubes[in_.below(client_world::tubes.size())];
  made.count = in_.one_in(2) ? 10'000 : 1 + in_.below(3);
  json values;
  values["tube"] = made.tube;
  if (made.count < 10'000) values["count"] = made.count;
  return write("POST", "/v1/tube/clear", values);
}

std::string http_requests::pause_tube() {
  event& made = note(verb::pause);
  made.tube = client_world::tubes[in_.below(client_world::tubes.size())];
  const jobs::milliseconds length(in_.one_in(3) ? 0 : 1 + in_.below(60));
  return write("POST", fmt::format("/v1/tubes/{}/pause", made.tube), {{"length", text_of(length)}});
}

std::string http_requests::page() {
  const event& made = note_page();
  json values;
  if (!made.prefix.empty()) values["prefix"] = made.prefix;
  if (made.count != 100) values["count"] = made.count;
  values["cursor"] = fmt::format("{}-{}", made.at->time_since_epoch().count(), made.after);
  questions_.push_back({});
  return fmt::format("GET /v1/due{} HTTP/1.1\r\nHost: localhost\r\n\r\n", query_of(values));
}

/// Requests with one right answer. The last ones end the connection.
std::string http_requests::wrong() {
  constexpr std::string_view host = " HTTP/1.1\r\nHost: localhost\r\n";
  switch (in_.below(12)) {
    case 0: return expect(fmt::format("GET /v1/nothing{}\r\n", host), "404");
    case 1: return expect(fmt::format("POST /v1/due{}Content-Length: 0\r\n\r\n", host), "405");
    case 2: return expect(fmt::format("POST /v1/jobs/1/reschedule?delay=soon{}Content-Length: 0\r\n\r\n", host), "400");
    case 3:
      return expect(
          fmt::format("POST /v1/reserve{}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n[]", host), "400");
    case 4: return expect(fmt::format("HEAD /health{}\r\n", host), "200", true);
    case 5: return expect(fmt::format("GET /health{}\r\n", host), "200");
    case 6: return expect(fmt::format("POST /v1/reservations/1-1/touch{}Content-Length: 0\r\n\r\n", host), "400");
    case 7: return expect(fmt::format("GET /v1/jobs/1{}If-Match: \"1\"\r\n\r\n", host), "400");
    default: break;
  }
  if (!in_.one_in(4)) return look();
  is_last_ = true;
  if (in_.one_in(2)) return expect(fmt::format("GET /health{}Connection: close\r\n\r\n", host), "200");
  return expect(fmt::format("POST /v1/jobs{}Content-Length: 3\r\nContent-Length: 3\r\n\r\nx\r\n", host), "400");
}

std::string http_requests::other() {
  const std::size_t choice = in_.below(11);
  if (choice > 8) return page();
  if (choice < 3) return kick();
  if (choice == 3 && in_.has_pauses) return pause_tube();
  if (choice == 4 && in_.has_clears) return clear();
  if (choice < 7) return wrong();
  return put();
}

bool http_requests::take_answer(std::string& received) {
  answer got;
  const question asked = questions_.front();
  if (!take(received, !asked.is_head, got)) return false;
  questions_.pop_front();
  const std::vector<event*> answered = take_answered(asked.events);
  const json value = got.body.empty() ? json::object() : json::parse(got.body, nullptr, false);
  if (value.is_object() && value.contains("results")) {
    note_batch(answered, got, value);
  } else if (asked.is_atomic && !is_of_outage(got, value)) {
    note_refused_batch(answered, got, value);
  } else {
    for (event* each : answered) note_answer(*each, got, value);
  }
  return true;
}

void http_requests::note_batch(const std::vector<event*>& answered, const answer& got, const json& value) {
  bool all_put = true;
  for (std::size_t i = 0; i < answered.size(); ++i) {
    answer one = got;
    const json& result = value["results"].at(i);
    one.status = result.value("status", 0);
    all_put = all_put && one.status < 300;
    note_answer(*answered[i], one, result);
  }
  const bool is_right = got.status == (all_put ? 200 : 207) && value["results"].size() == answered.size();
  if (!is_right) answered.front()->answer += fmt::format(" in a batch with {}", got.status);
}

/// One put is refused, and with it all; or none is the reason.
void http_requests::note_refused_batch(const std::vector<event*>& answered, const answer& got, const json& value) {
  const std::string outcome = value.is_object() ? value.value("outcome", "") : "";
  std::size_t place = answered.size();
  const std::string pointer = value.is_object() ? value.value(json::json_pointer("/errors/0/pointer"), "") : "";
  if (outcome != "several_databases" && pointer.starts_with("#/jobs/")) place = number_of(pointer.substr(7));
  for (std::size_t i = 0; i < answered.size(); ++i) {
    if (i == place || (got.status != 409 && got.status != 412 && outcome != "several_databases")) {
      note_answer(*answered[i], got, value);
    } else {
      answered[i]->answer = "NOT_PUT";
    }
  }
}

/// The word of the history for an outcome; nothing if it is unknown.
std::string_view http_requests::word_of(verb what, std::string_view outcome) {
  using entry = std::pair<std::string_view, std::string_view>;
  constexpr std::array<entry, 19> words{entry{"inserted", "INSERTED"},
                                        {"kept", "KEPT"},
                                        {"replaced", "REPLACED"},
                                        {"exists", "EXISTS"},
                                        {"reserved", "IS_RESERVED"},
                                        {"other_version", "OTHER_VERSION"},
                                        {"gone", "GONE"},
                                        {"refused", "REFUSED"},
                                        {"cancelled", "CANCELLED"},
                                        {"rescheduled", "RESCHEDULED"},
                                        {"finished", "DELETED"},
                                        {"released", "RELEASED"},
                                        {"touched", "TOUCHED"},
                                        {"buried", "BURIED"},
                                        {"not_held", "NOT_FOUND"},
                                        {"reservations_ended", "ENDED"},
                                        {"paused", "PAUSED"},
                                        {"resumed", "PAUSED"},
                                        {"ready", "FIRED"}};
  if (outcome == "ready" && what == verb::kick_job) return "KICKED";
  if (outcome == "gone" && what == verb::peek) return "NOT_FOUND";
  const auto* const found = std::ranges::find(words, outcome, &entry::first);
  return found == words.end() ? std::string_view() : found->second;
}

bool http_requests::is_of_outage(const answer& got, const json& value) const {
  if (in_.is_over && got.status >= 500) return true;
  const std::string outcome = value.is_object() ? value.value("outcome", "") : "";
  if (got.status == 409 && outcome == "under_way") return true;
  if (!in_.seen.has_outages) return false;
  return got.status == 503 || (got.status == 507 && outcome == "no_space") ||
         (got.status == 500 && outcome == "unknown");
}

void http_requests::note_answer(event& it, const answer& got, const json& value) {
  if (is_of_outage(got, value)) {  // as if no answer had come
    if (!in_.is_over) it.given_up = it.end;
    it.end.reset();
    return;
  }
  if (it.what == verb::other) {
    const bool is_drained = got.status == 503 && in_.has_drained;  // the server says that before it looks at the values
    it.answer = is_drained ? it.expected : std::to_string(got.status);
    return;
  }
  const std::string outcome = value.is_object() ? value.value("outcome", "") : "";
  it.answer = word_of(it.what, outcome);
  constexpr std::string_view refusals = " NOT_FOUND GONE EXISTS IS_RESERVED OTHER_VERSION REFUSED ENDED ";
  const bool is_refused = refusals.find(fmt::format(" {} ", it.answer)) != std::string_view::npos;
  if (it.answer.empty() || is_refused == (got.status < 300)) {
    const std::string detail = value.is_object() ? value.value("detail", "") : "";
    it.answer = fmt::format("{} {}", got.status, outcome.empty() ? detail : outcome);
  }
  if (got.status == 503 && it.what == verb::put) it.answer = "DRAINING";
  if (got.status == 200 && it.what == verb::reserve) note_reserved(it, value);
  if (got.status == 200 && it.what == verb::peek) note_look(it, got, value);
  if (got.status == 200 && it.what == verb::page) note_page_answer(it, value);
  if (got.status == 200 && it.what == verb::kick) it.answer = value.contains("kicked") ? "KICKED" : "nothing";
  if (got.status == 200 && it.what == verb::clear && value.contains("cancelled")) {
    it.answer = "CLEARED";
    it.changed = value["cancelled"].get<std::uint64_t>();
  }
  if (value.is_object() && value.contains("id") && it.what != verb::peek) {
    it.job = number_of(value["id"].get<std::string>());
  } else if (it.asked != 0 && it.job == 0 && it.answer != "NOT_FOUND" && it.answer != "GONE") {
    it.job = it.asked;
  }
  if (it.what != verb::reserve) learn(it);
}

/// A reserve that has brought several jobs is an event for each of them.
void http_requests::note_reserved(event& it, const json& all) {
  const json& got = all["jobs"];
  if (got.empty()) {
    it.answer = "TIMED_OUT";
    return;
  }
  const event asked = it;
  // Twins at two nodes over several databases: a repeat brings what both have reserved. The checker counts that.
  const bool may_be_more = in_.seen.has_several_databases && !asked.once.empty();
  std::set<std::string> ids;
  for (std::size_t i = 0; i < got.size(); ++i) {
    event& each = i == 0 ? it : in_.seen.events.emplace_back(asked);
    each.answer = got.size() > asked.count && !may_be_more ? "too many" : "RESERVED";
    each.brought = got.size();
    note_job(each, got[i]);
    each.token = got[i].value("reservation", "");
    if (!ids.insert(got[i].value("id", "")).second) each.answer += " twice";
    learn(each);
  }
}

void http_requests::note_job(event& it, const json& job) {
  it.job = number_of(job.value("id", ""));
  it.body = body_of(job);
  it.state = job.value("state", "");
}

void http_requests::note_look(event& it, const answer& got, const json& value) {
  note_job(it, value);
  if (value.contains("waits")) {
    it.answer = "SHOWN";
    return;
  }
  it.answer = "FOUND";
  it.version = number_of(value.value("version", ""));
  if (!got.has_field(fmt::format("ETag: \"{}\"", it.version))) it.answer += " with another ETag";
  in_.versions[it.job] = it.version;
  if (!it.key.empty()) in_.versions_of_keys[{it.tube, it.key}] = it.version;
}

void http_requests::note_page_answer(event& it, const json& value) {
  it.answer = "OK";
  for (const json& each : value["jobs"]) {
    jobs::due_job& job = it.listed.emplace_back();
    job.id = number_of(each.value("id", ""));
    job.tube = each.value("tube", "");
    job.due = time_of(each.value("due", ""));
  }
  if (!it.listed.empty()) last_listed_ = it.listed.back();
  std::string next;
  if (it.listed.size() == it.count) {
    next = fmt::format("{}-{}", it.listed.back().due.time_since_epoch().count(), it.listed.back().id);
  }
  if (value.value("next", "") != next) it.answer += " with another next page";
}

}  // namespace foliot::program::worlds
