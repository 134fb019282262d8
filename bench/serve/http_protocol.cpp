#include "http_protocol.hpp"

#include <charconv>

#include <fmt/format.h>

namespace foliot::program::bench {

namespace {

constexpr std::string_view end_of_head = "\r\n\r\n";

/// The text between `begin` and the next quotation mark, from the place of `begin` on; empty if it is not there.
std::string_view quoted_behind(std::string_view text, std::string_view begin) noexcept {
  const std::size_t at = text.find(begin);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + begin.size());
  const std::size_t end = text.find('"');
  return end == std::string_view::npos ? std::string_view() : text.substr(0, end);
}

std::uint64_t number_of(std::string_view text) noexcept {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

reply_kind kind_of_success(std::string_view body) noexcept {
  if (body.starts_with(R"({"results":)")) return reply_kind::ok;
  if (body.starts_with(R"({"jobs":[])")) return reply_kind::timed_out;
  if (body.starts_with(R"({"jobs":[{"reservation":)")) return reply_kind::reserved;
  const std::string_view outcome = quoted_behind(body, R"("outcome":")");
  if (outcome == "inserted") return reply_kind::inserted;
  if (outcome == "replaced") return reply_kind::replaced;
  if (outcome == "finished") return reply_kind::deleted;
  return outcome.empty() ? reply_kind::ok : reply_kind::other;
}

/// So many bytes of a job's body, as a string of JSON.
std::string text_member(std::size_t body) { return fmt::format(R"("text":"{:x<{}}")", "", body); }

}  // namespace

http_protocol::http_protocol(std::string token) : fields_(" HTTP/1.1\r\nHost: localhost\r\n") {
  if (!token.empty()) fields_ += fmt::format("Authorization: Bearer {}\r\n", token);
}

std::optional<found_reply> http_protocol::find_reply(std::string_view bytes) const {
  const std::size_t empty_line = bytes.find(end_of_head);
  if (empty_line == std::string_view::npos) return std::nullopt;
  const std::string_view head = bytes.substr(0, empty_line);
  constexpr std::string_view length_field = "\r\nContent-Length: ";
  const std::size_t field = head.find(length_field);
  const std::size_t body = field == std::string_view::npos ? 0 : number_of(head.substr(field + length_field.size()));
  const std::size_t begin = empty_line + end_of_head.size();
  if (bytes.size() - begin < body) return std::nullopt;
  reply found;
  found.line = head.substr(0, head.find('\r'));
  found.body = bytes.substr(begin, body);
  const std::uint64_t status = number_of(found.line.substr(std::min(found.line.find(' '), found.line.size() - 1) + 1));
  if (status == 200 || status == 201) found.kind = kind_of_success(found.body);
  if (found.kind == reply_kind::reserved) found.reservation = quoted_behind(found.body, R"("reservation":")");
  found.number = number_of(quoted_behind(found.body, R"("id":")"));
  return found_reply{found, begin + body};
}

commands http_protocol::request(std::string_view method, std::string_view target, std::string_view type,
                                std::string_view body) const {
  commands made{fmt::format("{} {}{}", method, target, fields_)};
  if (!type.empty()) made.bytes += fmt::format("Content-Type: {}\r\n", type);
  if (method != "GET") made.bytes += fmt::format("Content-Length: {}\r\n", body.size());
  made.bytes += "\r\n";
  made.bytes += body;
  return made;
}

std::vector<opening> http_protocol::enter(std::string_view) const { return {}; }

commands http_protocol::put(std::string_view tube, std::size_t body) const {
  return request("POST", fmt::format("/v1/tubes/{}/jobs", tube), "application/octet-stream", std::string(body, 'x'));
}

commands http_protocol::put_many(std::string_view tube, std::size_t jobs, std::size_t body) const {
  const std::string one = fmt::format(R"({{"tube":"{}",{}}})", tube, text_member(body));
  std::string all = R"({"jobs":[)";
  for (std::size_t i = 0; i < jobs; ++i) all += (i == 0 ? "" : ",") + one;
  return request("POST", "/v1/batch", "application/json", all + "]}");
}

commands http_protocol::put_delayed(std::string_view tube, const delayed_put& job) const {
  return request("POST", fmt::format("/v1/tubes/{}/jobs?delay={}s", tube, job.delay), "application/octet-stream",
                 job.body);
}

commands http_protocol::replace(std::string_view tube, const keyed_put& job, std::size_t body) const {
  return request("PUT", fmt::format("/v1/tubes/{}/jobs/{}?delay={}s", tube, job.key, job.delay),
                 "application/octet-stream", std::string(body, 'x'));
}

commands http_protocol::replace_many(std::string_view tube, const std::vector<keyed_put>& jobs,
                                     std::size_t body) const {
  std::string all = R"({"jobs":[)";
  for (const keyed_put& each : jobs) {
    if (&each != jobs.data()) all += ',';
    all += fmt::format(R"({{"tube":"{}","key":"{}","existing":"replace","delay":"{}s",{}}})", tube, each.key,
                       each.delay, text_member(body));
  }
  return request("POST", "/v1/batch", "application/json", all + "]}");
}

commands http_protocol::reserve(std::string_view tube) const {
  return request("POST", fmt::format("/v1/reserve?tube={}&timeout=1h", tube), "", "");
}

commands http_protocol::finish(const reply& reserved) const {
  return request("POST", fmt::format("/v1/reservations/{}/finish", reserved.reservation), "", "");
}

}  // namespace foliot::program::bench
