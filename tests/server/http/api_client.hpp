// A server of HTTP over a store in memory, on virtual time, and clients that ask it.
#pragma once

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/runtime/net/address.hpp>
#include <foliot/runtime/net/io_error.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>

#include "jobs/kit/broker_world.hpp"
#include "server/access/server_tubes.hpp"
#include "server/access/watched_tokens.hpp"
#include "server/core/held_memory.hpp"
#include "server/core/known_stream.hpp"
#include "server/core/server_log.hpp"
#include "server/core/simulated_stream.hpp"
#include "server/http/api.hpp"
#include "server/http/protocol.hpp"
#include "server/policies/policies_in_force.hpp"
#include "server/schedules/zone_cache.hpp"
#include "support/virtual_time.hpp"

namespace foliot::program::http {

/// A response as a client reads it.
struct received {
  int status = 0;
  std::string head;
  std::string body;

  /// The body, which must be JSON.
  [[nodiscard]] nlohmann::json value() const {
    auto read = nlohmann::json::parse(body, nullptr, false);
    EXPECT_FALSE(read.is_discarded()) << body;
    return read;
  }
  /// Of a problem: its status, and the value that was wrong.
  [[nodiscard]] std::string wrong() const {
    const nlohmann::json all = value();
    std::string text = std::to_string(status);
    if (!all.contains("errors")) return text + " " + all.value("outcome", "");
    for (const auto& [name, it] : all["errors"][0].items()) {
      if (name != "detail") text += " " + name + " " + it.get<std::string>();
    }
    return text;
  }
};

/// Whether it is the answer that an earlier request with the same Idempotency-Key got.
inline bool is_replayed(const received& got) { return got.head.contains("Idempotency-Replayed: true\r\n"); }

/// What a request has besides its method and target.
struct extras {
  explicit extras(std::string with_fields = {}, std::string with_body = {})
      : fields(std::move(with_fields)), body(std::move(with_body)) {}

  std::string fields;  // with their line ends
  std::string body;
  std::string host = "localhost";
};

struct http_server : foliot::test::broker_world {
  static constexpr std::size_t largest_job = 10'000;

  /// `tokens`, `log` and `hosts`: see api.
  explicit http_server(const virtual_clock& time, watched_tokens* tokens = nullptr, const server_log* log = nullptr,
                       std::vector<std::string> hosts = {}, foliot::test::shared with_nodes = foliot::test::shared::no)
      : broker_world(time, limits(), with_nodes), speaks_to(jobs, largest_job, std::move(hosts), tokens, log) {
    speaks_to.plan_by(zones);
    speaks_to.act_by(policies);
  }

  static jobs::broker_limits limits() {
    jobs::broker_limits limits;
    limits.job.max_body = largest_job;
    limits.uncounted = prefix_of_server;
    limits.uncounted_job = jobs::job_limits{largest_body_of_server};
    return limits;
  }

  held_memory memory_of_clients{std::size_t{1} << 30};
  zone_cache zones;
  policies_in_force policies{jobs, {}, [this](std::string sentence) { warnings.push_back(std::move(sentence)); }};
  std::vector<std::string> warnings;  // about records of policies
  api speaks_to;
  protocol speaks{speaks_to, memory_of_clients, api::limits_for(largest_job)};
};

/// A connection, and the session at its other end. A server that is silent for a day while this client reads fails the
/// test: what wakes again and again for nothing would keep virtual time going for ever.
class http_client {
 public:
  explicit http_client(http_server& of, std::string_view from = "127.0.0.1:4000", std::string certificate = {})
      : ends_(test::simulated_stream::pair()) {
    ends_.first = std::make_unique<test::stream_of_known>(std::move(ends_.first), runtime::address::parse(from).value(),
                                                          std::move(certificate));
    serving_ = runtime::spawn(serve(of, *ends_.first), "session");
  }

  task<> send(std::string method, std::string target, extras more = extras()) {
    std::string text = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n{}", method, target, more.host, more.fields);
    if (!more.body.empty()) text += fmt::format("Content-Length: {}\r\n", more.body.size());
    text += "\r\n" + more.body;
    const bool is_written = co_await write_all(*ends_.second, text);
    EXPECT_TRUE(is_written);
  }
  /// The next response; status 0 if the connection ends before. That to a HEAD has no body.
  task<received> read(bool has_body = true) {
    received got;
    while (!got.head.ends_with("\r\n\r\n")) {
      char one = 0;
      const std::size_t count = co_await read_some(std::span(&one, 1));
      if (count == 0) co_return received();
      got.head += one;
    }
    got.status = number_behind(got.head, "HTTP/1.1 ");
    const auto length = static_cast<std::size_t>(number_behind(got.head, "Content-Length: "));
    while (has_body && got.body.size() < length) {
      std::string piece(std::min<std::size_t>(length - got.body.size(), 16'384), '\0');
      const std::size_t count = co_await read_some(std::span(piece));
      if (count == 0) co_return received();
      got.body.append(piece, 0, count);
    }
    co_return got;
  }
  task<received> ask(std::string method, std::string target, extras more = extras()) {
    co_await send(std::move(method), std::move(target), std::move(more));
    received got = co_await read();
    co_return got;
  }
  /// The same with a body of JSON.
  task<received> ask_json(std::string method, std::string target, std::string body) {
    extras more("Content-Type: application/json\r\n", std::move(body));
    auto asking = ask(std::move(method), std::move(target), std::move(more));
    received got = co_await asking;
    co_return got;
  }
  /// All bytes up to this text, or to the end of the connection.
  task<std::string> read_up_to(std::string end) {
    std::string all;
    while (end.empty() || !all.ends_with(end)) {
      char one = 0;
      const std::size_t count = co_await read_some(std::span(&one, 1));
      if (count == 0) break;
      all += one;
    }
    co_return all;
  }
  task<> write(std::string text) {
    const bool is_written = co_await write_all(*ends_.second, text);
    EXPECT_TRUE(is_written);
  }
  /// Whether the server has ended the connection.
  [[nodiscard]] bool has_ended() const noexcept { return ends_.second->peer_has_ended(); }
  /// As when the server ends: its session reads nothing more.
  void end_reading_of_server() noexcept { ends_.first->end_reading(); }
  task<> leave() {
    ends_.second->close();
    co_await serving_.join();
  }

 private:
  /// How much was read; 0 at the end of the connection.
  task<std::size_t> read_some(std::span<char> into) {
    ends_.second->set_read_deadline(std::chrono::hours(24));
    const auto count = co_await ends_.second->read_some(into);
    EXPECT_TRUE(count || count.error() != runtime::io_errc::deadline_exceeded) << "the server says nothing for a day";
    co_return count.value_or(0);
  }
  static task<> serve(http_server& of, byte_stream& peer) {
    co_await of.speaks.serve(peer);
    peer.close();
  }
  static int number_behind(std::string_view text, std::string_view name) {
    const std::size_t at = text.find(name);
    int value = 0;
    if (at != std::string_view::npos) {
      std::from_chars(text.data() + at + name.size(), text.data() + text.size(), value);
    }
    return value;
  }

  std::pair<std::unique_ptr<byte_stream>, std::unique_ptr<byte_stream>> ends_;
  runtime::join_handle<> serving_;
};

template <class Body>
task<> run_server(http_server& in, Body& body) {
  auto running = runtime::spawn(in.jobs.run(), "the broker");
  co_await body(in);
  in.jobs.close();
  co_await running.join();
}

/// Runs `body`, whose clients must have left in the end. For `tokens`, `log` and `hosts` see api.
template <class Body>
void with_server(Body body, watched_tokens* tokens = nullptr, const server_log* log = nullptr,
                 std::vector<std::string> hosts = {}, foliot::test::shared with_nodes = foliot::test::shared::no) {
  virtual_clock clock;
  http_server one(clock, tokens, log, std::move(hosts), with_nodes);
  foliot::test::on_virtual_time(clock, run_server(one, body));
  const check_result broker = one.jobs.check();
  EXPECT_TRUE(broker) << broker.error();
}

}  // namespace foliot::program::http
