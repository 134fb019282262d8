// The stream of events: what a client is told, how it ends, and what a slow client misses. On virtual time.
#include "server/http/event_requests.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <fstream>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "jobs/kit/temporary_folder.hpp"
#include "server/access/access_token.hpp"
#include "server/http/api_client.hpp"

namespace foliot::program::http {
namespace {

using namespace std::chrono_literals;

using words = std::vector<std::string>;

/// The body of a response in chunks; with `<end>` behind its last chunk.
std::string dechunked(std::string_view chunks) {
  std::string body;
  while (!chunks.empty()) {
    std::size_t size = 0;
    const auto [end, error] = std::from_chars(chunks.data(), chunks.data() + chunks.size(), size, 16);
    const std::size_t begin = static_cast<std::size_t>(end - chunks.data()) + 2;
    if (error != std::errc() || begin + size > chunks.size()) return body + "<cut>";
    body += size == 0 ? std::string("<end>") : std::string(chunks.substr(begin, size));
    chunks.remove_prefix(std::min(begin + size + 2, chunks.size()));
  }
  return body;
}

/// The values of all fields with this name, in their order.
words values(std::string_view body, std::string_view name) {
  words all;
  const std::string begin = std::string(name) + ": ";
  while (!body.empty()) {
    const std::size_t size = std::min(body.find('\n'), body.size());
    if (body.starts_with(begin)) all.emplace_back(body.substr(begin.size(), size - begin.size()));
    body.remove_prefix(std::min(size + 1, body.size()));
  }
  return all;
}

/// The names of the events, in their order.
std::string kinds_in(std::string_view body) {
  std::string all;
  for (const std::string& each : values(body, "event")) all += (all.empty() ? "" : " ") + each;
  return all;
}

std::uint64_t number_of(const std::string& id) { return event_place_in(id).value().number; }

/// A client that reads a stream.
class stream_client {
 public:
  explicit stream_client(http_server& of) : client_(of) {}

  /// Begins a stream, and reads its head.
  task<std::string> begin(std::string target, extras more = extras()) {
    co_await client_.send("GET", std::move(target), std::move(more));
    std::string head = co_await client_.read_up_to("\r\n\r\n");
    co_return head;
  }
  /// The body up to a piece that ends so.
  task<std::string> read_up_to(std::string end) {
    const std::string chunks = co_await client_.read_up_to(end + "\r\n");
    co_return dechunked(chunks);
  }
  /// The body up to the data of an event with this text.
  task<std::string> read_past(std::string text) {
    std::string all;
    while (!all.contains(text)) {
      const std::string more = co_await read_up_to("\n\n");
      if (more.empty() || more.ends_with("<cut>")) break;
      all += more;
    }
    co_return all;
  }
  [[nodiscard]] http_client& below() noexcept { return client_; }
  task<> leave() { co_await client_.leave(); }

 private:
  http_client client_;
};

TEST(EventStream, TellsWhatHappens) {
  with_server([](http_server& in) -> task<> {
    stream_client stream(in);
    http_client worker(in);
    const std::string head = co_await stream.begin("/v1/events?tube=mail");
    for (const std::string_view field :
         {"HTTP/1.1 200 OK\r\n", "Content-Type: text/event-stream\r\n", "Cache-Control: no-store\r\n",
          "X-Accel-Buffering: no\r\n", "Transfer-Encoding: chunked\r\n", "Connection: close\r\n"}) {
      EXPECT_TRUE(head.contains(field)) << head;
    }
    EXPECT_FALSE(head.contains("Content-Length")) << head;
    const std::string first = co_await stream.read_up_to("\n\n");
    EXPECT_TRUE(first.starts_with("retry: 2000\nid: ")) << first;
    for (const std::string target : {"/v1/jobs?tube=bill", "/v1/jobs?tube=mail&key=a%22b&delay=1h"}) {
      const received put = co_await worker.ask("POST", target);
      EXPECT_EQ(put.status, 201);
    }
    const received cancelled = co_await worker.ask("DELETE", "/v1/jobs/2");
    EXPECT_EQ(cancelled.status, 200);
    const std::string told = co_await stream.read_past("cancelled");
    EXPECT_EQ(kinds_in(told), "put ended");
    const words data = values(told, "data");
    EXPECT_TRUE(data.at(0).starts_with(R"({"tube":"mail","id":"2","key":"a\"b","at":")")) << data.at(0);
    EXPECT_TRUE(data.at(1).starts_with(R"({"tube":"mail","id":"2","key":"a\"b","reason":"cancelled","at":")")) << told;
    EXPECT_FALSE(told.contains("bill")) << told;
    co_await stream.leave();
    co_await worker.leave();
  });
}

/// For longer than an idle connection may last.
TEST(EventStream, ASilentStreamSaysThatItLives) {
  with_server([](http_server& in) -> task<> {
    stream_client stream(in);
    const std::string head = co_await stream.begin("/v1/events");
    EXPECT_TRUE(head.contains(" 200 ")) << head;
    const std::string first = co_await stream.read_up_to("\n\n");
    const instant begin = runtime::now();
    for (int i = 1; i <= 40; ++i) {
      const std::string comment = co_await stream.read_up_to("\n\n");
      EXPECT_EQ(comment, ":\nid: " + values(first, "id").at(0) + "\n\n");
      EXPECT_EQ(runtime::now() - begin, i * longest_silence);
    }
    co_await stream.leave();
  });
}

/// What happens to jobs that the client does not see wakes its stream, and is no sign of life to it.
TEST(EventStream, AStreamOfASilentTubeSaysSoOnABusyServer) {
  with_server([](http_server& in) -> task<> {
    stream_client stream(in);
    static_cast<void>(co_await stream.begin("/v1/events?tube=quiet"));
    static_cast<void>(co_await stream.read_up_to("\n\n"));
    const instant begin = runtime::now();
    http_client worker(in);
    for (int i = 1; i <= 3; ++i) {
      for (int each = 0; each < 3; ++each) {
        co_await runtime::sleep(4s);
        static_cast<void>(co_await worker.ask("POST", "/v1/jobs?tube=busy&delay=1h"));
      }
      const std::string comment = co_await stream.read_up_to("\n\n");
      EXPECT_TRUE(comment.starts_with(":\nid: ")) << comment;
      EXPECT_EQ(runtime::now() - begin, i * longest_silence);
    }
    co_await worker.leave();
    co_await stream.leave();
  });
}

TEST(EventStream, AClientThatComesAgainGoesOn) {
  with_server([](http_server& in) -> task<> {
    http_client worker(in);
    std::string last;
    {
      stream_client stream(in);
      static_cast<void>(co_await stream.begin("/v1/events?prefix=mail."));
      static_cast<void>(co_await worker.ask("POST", "/v1/jobs?tube=mail.a&delay=1h"));
      const std::string told = co_await stream.read_past("mail.a");
      last = values(told, "id").back();
      co_await stream.leave();
    }
    static_cast<void>(co_await worker.ask("POST", "/v1/jobs?tube=mail.b&delay=1h"));
    static_cast<void>(co_await worker.ask("POST", "/v1/jobs?tube=other&delay=1h"));
    {
      stream_client again(in);
      static_cast<void>(co_await again.begin("/v1/events?prefix=mail.", extras("Last-Event-ID: " + last + "\r\n")));
      const std::string told = co_await again.read_past("mail.b");
      EXPECT_EQ(kinds_in(told), "put") << told;
      EXPECT_EQ(number_of(values(told, "id").back()), number_of(last) + 2) << told;
      co_await again.leave();
    }
    for (const std::string id : {"0123456789abcdef-7", "nonsense", "0123456789abcdef-99999999999999999999"}) {
      stream_client stranger(in);
      static_cast<void>(co_await stranger.begin("/v1/events", extras("Last-Event-ID: " + id + "\r\n")));
      const std::string told = co_await stranger.read_up_to("\n\n");
      EXPECT_TRUE(told.contains("event: missed\ndata: {}\n\n")) << told;
      co_await stranger.leave();
    }
    co_await worker.leave();
  });
}

/// Puts so many jobs.
task<> put_many(http_client& by, std::size_t batches) {
  std::string body = R"({"jobs":[)";
  for (int i = 0; i < 1000; ++i) body += fmt::format(R"({}{{"tube":"mail","delay":"1h"}})", i == 0 ? "" : ",");
  body += "]}";
  for (std::size_t i = 0; i < batches; ++i) {
    const received put = co_await by.ask_json("POST", "/v1/batch", body);
    EXPECT_EQ(put.status, 200);
  }
}

TEST(EventStream, ASlowClientIsToldHowManyItHasMissed) {
  with_server([](http_server& in) -> task<> {
    constexpr std::size_t batches = 5;
    stream_client slow(in);
    http_client worker(in);
    static_cast<void>(co_await slow.begin("/v1/events"));
    const std::string first = co_await slow.read_up_to("\n\n");
    const std::uint64_t begin = number_of(values(first, "id").at(0));
    co_await put_many(worker, batches);
    static_cast<void>(co_await worker.ask("POST", "/v1/jobs?tube=last&delay=1h"));
    const std::string told = co_await slow.read_past("last");
    const words kinds = values(told, "event");
    const auto puts = static_cast<std::size_t>(std::ranges::count(kinds, "put"));
    std::uint64_t missed = 0;
    for (const std::string& each : values(told, "data")) {
      const auto value = nlohmann::json::parse(each);
      if (value.contains("count")) missed += value["count"].get<std::uint64_t>();
    }
    EXPECT_GT(missed, 0u) << "the stream and the buffer have not had room for all";
    EXPECT_EQ(puts + missed, batches * 1000 + 1);
    EXPECT_EQ(number_of(values(told, "id").back()) - begin, batches * 1000 + 1);
    co_await slow.leave();
    co_await worker.leave();
  });
}

TEST(EventStream, AClientThatNeverReadsIsDroppedAndHoldsLittle) {
  with_server([](http_server& in) -> task<> {
    stream_client silent(in);
    http_client worker(in);
    static_cast<void>(co_await silent.begin("/v1/events"));
    co_await put_many(worker, 1);
    EXPECT_EQ(in.memory_of_clients.bytes(), 0u) << "each within its allowance";
    co_await worker.leave();
    co_await runtime::sleep(61s);
    EXPECT_TRUE(silent.below().has_ended());
    EXPECT_EQ(in.jobs.events().readers(), 0u);
    co_await silent.leave();
  });
}

/// In order, within no time, and also while the client does not read.
TEST(EventStream, TheEndOfTheServerEndsIt) {
  with_server([](http_server& in) -> task<> {
    stream_client reads(in);
    stream_client stalls(in);
    http_client worker(in);
    static_cast<void>(co_await reads.begin("/v1/events?tube=none"));
    static_cast<void>(co_await stalls.begin("/v1/events"));
    static_cast<void>(co_await reads.read_up_to("\n\n"));
    co_await put_many(worker, 1);
    co_await worker.leave();
    const instant begin = runtime::now();
    reads.below().end_reading_of_server();
    stalls.below().end_reading_of_server();
    const std::string end = co_await reads.read_up_to("0\r\n");
    EXPECT_EQ(end, "<end>");
    while (in.jobs.events().readers() > 0) co_await runtime::sleep(10ms);
    EXPECT_LE(runtime::now() - begin, duration(1s));
    co_await reads.leave();
    co_await stalls.leave();
  });
}

TEST(EventStream, HasAHeadAloneForHeadAndNoChunksInHttp10) {
  with_server([](http_server& in) -> task<> {
    http_client head(in);
    co_await head.send("HEAD", "/v1/events");
    const std::string all = co_await head.read_up_to("");
    EXPECT_TRUE(all.contains("Content-Type: text/event-stream\r\n")) << all;
    EXPECT_TRUE(all.ends_with("\r\n\r\n")) << all;
    co_await head.leave();
    http_client old(in);
    co_await old.write("GET /v1/events HTTP/1.0\r\n\r\n");
    const std::string begin = co_await old.read_up_to("\n\n");
    EXPECT_FALSE(begin.contains("Transfer-Encoding")) << begin;
    EXPECT_TRUE(begin.contains("\r\n\r\nretry: 2000\nid: ")) << begin;
    co_await old.leave();
  });
}

TEST(EventStream, NothingIsAnsweredBehindIt) {
  with_server([](http_server& in) -> task<> {
    stream_client stream(in);
    static_cast<void>(co_await stream.begin("/v1/events"));
    static_cast<void>(co_await stream.read_up_to("\n\n"));
    co_await stream.below().write("POST /v1/jobs?tube=mail HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const std::string comment = co_await stream.read_up_to("\n\n");
    EXPECT_TRUE(comment.starts_with(":\n")) << comment;
    co_await stream.below().write(std::string(65'536, 'x'));
    const std::string end = co_await stream.read_up_to("0\r\n");
    EXPECT_EQ(end, "<end>") << "too much has come to see the client go";
    EXPECT_EQ(in.jobs.counters().operations, 0u);
    co_await stream.leave();
  });
}

TEST(EventStream, NamesWhatIsWrong) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const received both = co_await client.ask("GET", "/v1/events?tube=a&prefix=b");
    EXPECT_EQ(both.wrong(), "400 parameter prefix");
    const received other = co_await client.ask("GET", "/v1/events?colour=red");
    EXPECT_EQ(other.wrong(), "400 parameter colour");
    const received twice = co_await client.ask("GET", "/v1/events", extras("Last-Event-ID: a\r\nLast-Event-ID: b\r\n"));
    EXPECT_EQ(twice.wrong(), "400 header last-event-id");
    co_await client.leave();
  });
}

TEST(EventStream, ThereAreOnlySoMany) {
  with_server([](http_server& in) -> task<> {
    std::deque<stream_client> all;
    for (int i = 0; i < 100; ++i) {
      const std::string head = co_await all.emplace_back(in).begin("/v1/events");
      EXPECT_TRUE(head.contains(" 200 ")) << head;
    }
    http_client next(in);
    const received refused = co_await next.ask("GET", "/v1/events");
    EXPECT_EQ(refused.status, 503);
    EXPECT_TRUE(refused.head.contains("Retry-After: 1\r\n")) << refused.head;
    co_await all.front().leave();
    co_await next.send("GET", "/v1/events");
    const std::string head = co_await next.read_up_to("\r\n\r\n");
    EXPECT_TRUE(head.contains(" 200 ")) << head;
    co_await next.leave();
    all.pop_front();
    for (stream_client& each : all) co_await each.leave();
  });
}

/// Streams of clients that show access tokens.
class EventStreamAccess : public testing::Test {
 protected:
  static std::shared_ptr<const rights> rights_of(const std::string& token, std::initializer_list<scope> which,
                                                 words prefixes) {
    scope_set scopes;
    for (const scope each : which) scopes.add(each);
    return std::make_shared<const rights>(std::string(access_token::parse(token)->id()), "a test", scopes,
                                          std::move(prefixes), instant::never(), sha256_of(token));
  }
  void admit(const std::string& token, std::initializer_list<scope> which, words prefixes) {
    access_entry made;
    made.given = rights_of(token, which, std::move(prefixes));
    std::ofstream(path_, std::ios::app) << text_of(made);
    ::chmod(path_.c_str(), 0600);
    entries_.push_back(std::move(made));
  }
  [[nodiscard]] static extras shows(const std::string& token) {
    return extras("Authorization: Bearer " + token + "\r\n");
  }
  template <class Body>
  void with_tokens(Body body) {
    watched_tokens tokens(path_, log_);
    const auto live = [&](http_server& in) -> task<> { return body(in, tokens); };
    with_server(live, &tokens, &log_);
  }

  foliot_test::temporary_folder folder_;
  const std::string path_ = folder_.path() + "/tokens";
  std::vector<access_entry> entries_;
  virtual_clock time_of_log_;
  const server_log log_{false, time_of_log_, [](std::string_view) {}};
};

TEST_F(EventStreamAccess, IsCutByTheRights) {
  const std::string all = access_token::make();
  const std::string narrow = access_token::make();
  const std::string blind = access_token::make();
  admit(all, {scope::put}, {""});
  admit(narrow, {scope::look}, {"mail."});
  admit(blind, {scope::put, scope::reserve, scope::change, scope::administer}, {""});
  with_tokens([&](http_server& in, watched_tokens&) -> task<> {
    http_client client(in);
    const received no_scope = co_await client.ask("GET", "/v1/events", shows(blind));
    EXPECT_EQ(no_scope.wrong(), "403 no_scope");
    const received no_tube = co_await client.ask("GET", "/v1/events?tube=bill", shows(narrow));
    EXPECT_EQ(no_tube.wrong(), "403 no_tube");
    const received nothing = co_await client.ask("GET", "/v1/events");
    EXPECT_EQ(nothing.status, 401);
    stream_client wide(in);
    stream_client within(in);
    static_cast<void>(co_await wide.begin("/v1/events", shows(narrow)));
    static_cast<void>(co_await within.begin("/v1/events?prefix=ma", shows(narrow)));
    for (const std::string tube : {"bill", "mail", "mail.a"}) {
      static_cast<void>(co_await client.ask("POST", "/v1/jobs?delay=1h&tube=" + tube, shows(all)));
    }
    for (stream_client* const each : {&wide, &within}) {
      const std::string told = co_await each->read_past("mail.a");
      EXPECT_EQ(kinds_in(told), "put") << told;
    }
    co_await wide.leave();
    co_await within.leave();
    co_await client.leave();
  });
}

TEST_F(EventStreamAccess, ARevokedTokenEndsItsStreamsAndNoOthers) {
  const std::string leaves = access_token::make();
  const std::string stays = access_token::make();
  admit(leaves, {scope::look, scope::put}, {""});
  admit(stays, {scope::look, scope::put}, {""});
  with_tokens([&](http_server& in, watched_tokens& tokens) -> task<> {
    stream_client first(in);
    stream_client second(in);
    http_client client(in);
    static_cast<void>(co_await first.begin("/v1/events", shows(leaves)));
    static_cast<void>(co_await first.read_up_to("\n\n"));
    static_cast<void>(co_await second.begin("/v1/events", shows(stays)));
    const instant begin = runtime::now();
    std::vector<access_entry> left;
    left.push_back(entries_.back());
    EXPECT_EQ(tokens.who().replace(std::move(left)), 1u);
    static_cast<void>(co_await client.ask("POST", "/v1/jobs?delay=1h&tube=secret", shows(stays)));
    const std::string end = co_await first.read_up_to("0\r\n");
    EXPECT_EQ(end, "<end>") << "and nothing of what has happened since";
    EXPECT_LE(runtime::now() - begin, duration(1s));
    const std::string told = co_await second.read_past("secret");
    EXPECT_EQ(kinds_in(told), "put") << told;
    co_await first.leave();
    co_await second.leave();
    co_await client.leave();
  });
}

TEST_F(EventStreamAccess, EachTokenHasOnlySoMany) {
  const std::string greedy = access_token::make();
  const std::string other = access_token::make();
  admit(greedy, {scope::look}, {""});
  admit(other, {scope::look}, {""});
  with_tokens([&](http_server& in, watched_tokens&) -> task<> {
    std::deque<stream_client> all;
    for (int i = 0; i < 20; ++i) {
      const std::string head = co_await all.emplace_back(in).begin("/v1/events", shows(greedy));
      EXPECT_TRUE(head.contains(" 200 ")) << head;
    }
    http_client client(in);
    const received refused = co_await client.ask("GET", "/v1/events", shows(greedy));
    EXPECT_EQ(refused.status, 429);
    EXPECT_TRUE(refused.head.contains("Retry-After: 1\r\n")) << refused.head;
    co_await client.leave();
    const std::string head = co_await all.emplace_back(in).begin("/v1/events", shows(other));
    EXPECT_TRUE(head.contains(" 200 ")) << head;
    for (stream_client& each : all) co_await each.leave();
  });
}

}  // namespace
}  // namespace foliot::program::http
