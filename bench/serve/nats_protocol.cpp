#include "nats_protocol.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>

#include <fmt/format.h>
#include <foliot/core/clock.hpp>

namespace foliot::program::bench {

namespace {

constexpr std::string_view end_of_line = "\r\n";
constexpr std::string_view reply_subject = "_INBOX.<client>";
constexpr std::string_view taken_by = "workers";  // the consumer
constexpr std::int64_t milliseconds_per_second = 1000;

std::uint64_t number_behind(std::string_view text, std::string_view begin) noexcept {
  std::uint64_t number = 0;
  if (const std::size_t at = text.find(begin); at != std::string_view::npos) {
    std::from_chars(text.data() + at + begin.size(), text.data() + text.size(), number);
  }
  return number;
}

/// The first line of a message: the subject, the number of the subscription, perhaps a subject for the reply, of HMSG
/// the bytes of the header, and those of header and body.
struct message_head {
  std::string_view reply_to{};
  std::size_t header = 0;
  std::size_t size = 0;
};

message_head head_of(std::string_view line) noexcept {
  constexpr std::size_t most_words = 6;
  std::array<std::string_view, most_words> words{};
  std::size_t count = 0;
  while (!line.empty() && count < most_words) {
    const std::size_t end = std::min(line.find(' '), line.size());
    words[count++] = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  const auto number = [](std::string_view word) {
    std::size_t value = 0;
    std::from_chars(word.data(), word.data() + word.size(), value);
    return value;
  };
  const bool has_header = words[0] == "HMSG";
  const std::size_t without_reply = has_header ? 5 : 4;
  message_head head{.size = number(words[count - 1])};
  if (has_header) head.header = number(words[count - 2]);
  if (count > without_reply) head.reply_to = words[3];
  return head;
}

reply reply_of(const message_head& head, std::string_view line, std::string_view message) {
  reply found{.line = line, .body = message.substr(head.header)};
  if (head.reply_to.starts_with("$JS.ACK.")) {
    found.kind = reply_kind::reserved;
    found.reservation = head.reply_to;
  } else if (head.header > 0) {  // a status, such as `NATS/1.0 408 Request Timeout`
    found.line = message.substr(0, message.find(end_of_line));
  } else if (message.empty()) {
    found.kind = reply_kind::deleted;
  } else if (message.find(R"("error":)") != std::string_view::npos) {
    found.line = message;
  } else if (message.starts_with(R"({"type":)")) {
    found.kind = reply_kind::ok;
  } else {
    found.kind = reply_kind::inserted;
    found.number = number_behind(message, R"("seq":)");
  }
  return found;
}

std::string publication(std::string_view subject, std::string_view reply_to, std::string_view body) {
  return fmt::format("PUB {} {} {}\r\n{}\r\n", subject, reply_to, body.size(), body);
}

std::string publication_with(std::string_view header, std::string_view subject, std::string_view body) {
  return fmt::format("HPUB {} {} {} {}\r\n{}{}\r\n", subject, reply_subject, header.size(), header.size() + body.size(),
                     header, body);
}

/// A time of RFC 3339, of milliseconds since 1970.
std::string time_text(std::int64_t milliseconds) {
  const std::time_t seconds = milliseconds / milliseconds_per_second;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, milliseconds % milliseconds_per_second);
}

std::string scheduled(std::string_view tube, std::string_view name, std::int64_t due, std::string_view body) {
  const std::string header =
      fmt::format("NATS/1.0\r\nNats-Schedule: @at {}\r\nNats-Schedule-Target: {}.ready\r\n\r\n", time_text(due), tube);
  return publication_with(header, fmt::format("{}.later.{}", tube, name), body);
}

std::string stream_of(std::string_view tube) {
  return fmt::format(
      R"({{"name":"{0}","subjects":["{0}.ready","{0}.later.*"],"retention":"workqueue","storage":"file",)"
      R"("allow_rollup_hdrs":true,"allow_msg_schedules":true}})",
      tube);
}

std::string consumer_of(std::string_view tube) {
  constexpr std::int64_t ack_wait = 600'000'000'000;  // ns
  return fmt::format(R"({{"stream_name":"{0}","config":{{"durable_name":"{1}","ack_policy":"explicit","ack_wait":{2},)"
                     R"("filter_subject":"{0}.ready","max_ack_pending":-1,"max_waiting":100000}}}})",
                     tube, taken_by, ack_wait);
}

}  // namespace

std::optional<found_reply> nats_protocol::find_reply(std::string_view bytes) const {
  std::string_view about_itself;
  for (std::size_t begin = 0;;) {
    const std::size_t end = bytes.find(end_of_line, begin);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view line = bytes.substr(begin, end - begin);
    const std::size_t next = end + end_of_line.size();
    if (line.starts_with("MSG ") || line.starts_with("HMSG ")) {
      const message_head head = head_of(line);
      if (bytes.size() - next < head.size + end_of_line.size()) return std::nullopt;
      return found_reply{reply_of(head, line, bytes.substr(next, head.size)), next + head.size + end_of_line.size()};
    }
    if (line == "PONG") return found_reply{{.kind = reply_kind::ok, .line = line, .body = about_itself}, next};
    if (line.starts_with("INFO ")) {
      about_itself = line;
    } else if (line != "PING") {  // which needs no answer: the next one comes after a day
      return found_reply{{.line = line}, next};
    }
    begin = next;
  }
}

opening nats_protocol::sign_in() const {
  return {
      fmt::format("CONNECT {{\"verbose\":false,\"pedantic\":false,\"lang\":\"C++\",\"version\":\"1\",\"protocol\":1,"
                  "\"headers\":true,\"no_responders\":true}}\r\nSUB {} 1\r\nPING\r\n",
                  reply_subject),
      reply_kind::ok};
}

commands nats_protocol::ask_about_itself() const { return {publication("$JS.API.INFO", reply_subject, "")}; }

std::vector<opening> nats_protocol::enter(std::string_view tube) const {
  const auto ask = [](const std::string& subject, const std::string& body) {
    return opening{publication(subject, reply_subject, body), reply_kind::ok};
  };
  return {sign_in(), ask(fmt::format("$JS.API.STREAM.CREATE.{}", tube), stream_of(tube)),
          ask(fmt::format("$JS.API.CONSUMER.DURABLE.CREATE.{}.{}", tube, taken_by), consumer_of(tube))};
}

commands nats_protocol::put(std::string_view tube, std::size_t body) const {
  return {publication(fmt::format("{}.ready", tube), reply_subject, std::string(body, 'x'))};
}

commands nats_protocol::put_many(std::string_view tube, std::size_t jobs, std::size_t body) const {
  const std::string one = put(tube, body).bytes;
  commands all{.count = jobs};
  for (std::size_t i = 0; i < jobs; ++i) all.bytes += one;
  return all;
}

commands nats_protocol::put_delayed(std::string_view tube, const delayed_put& job) const {
  return {scheduled(tube, fmt::format("{}", job.number), job.due, job.body)};
}

commands nats_protocol::replace(std::string_view tube, const keyed_put& job, std::size_t body) const {
  const std::int64_t now = wall_clock::instance().now().nanoseconds() / 1'000'000;
  return {scheduled(tube, job.key, now + milliseconds_per_second * static_cast<std::int64_t>(job.delay),
                    std::string(body, 'x'))};
}

commands nats_protocol::replace_many(std::string_view tube, const std::vector<keyed_put>& jobs,
                                     std::size_t body) const {
  commands all{.count = jobs.size()};
  for (const keyed_put& each : jobs) all.bytes += replace(tube, each, body).bytes;
  return all;
}

commands nats_protocol::reserve(std::string_view tube) const {
  return {publication(fmt::format("$JS.API.CONSUMER.MSG.NEXT.{}.{}", tube, taken_by), reply_subject, R"({"batch":1})")};
}

commands nats_protocol::finish(const reply& reserved) const {
  return {publication(reserved.reservation, reply_subject, "+ACK")};
}

}  // namespace foliot::program::bench
