// Who may come in over HTTP: access tokens and certificates, requests that come from elsewhere, and rights that end
// while a request waits. On virtual time.
#include "server/http/request_access.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/job_tries.hpp>
#include <foliot/runtime/run.hpp>

#include "jobs/kit/temporary_folder.hpp"
#include "server/access/access_token.hpp"
#include "server/http/api_client.hpp"
#include "server/http/routes.hpp"
#include "server/http/target.hpp"

namespace foliot::program::http {
namespace {

using namespace std::chrono_literals;

using words = std::vector<std::string>;

scope_set scopes_of(std::initializer_list<scope> which) {
  scope_set all;
  for (const scope each : which) all.add(each);
  return all;
}

/// A server with a file of access tokens.
class RequestAccess : public testing::Test {
 protected:
  RequestAccess() { write(entry_of(token_)); }

  [[nodiscard]] static access_entry entry(const std::string& token, scope_set scopes, words prefixes) {
    access_entry made;
    made.given = std::make_shared<const rights>(std::string(access_token::parse(token)->id()), "a test", scopes,
                                                std::move(prefixes), instant::never(), sha256_of(token));
    return made;
  }
  /// The entry of a token that has ended.
  [[nodiscard]] static access_entry ended(const std::string& token) {
    access_entry made = entry(token, scope_set::all(), {""});
    made.given = std::make_shared<const rights>(made.given->id(), "a test", scope_set::all(), words{""},
                                                instant::from_nanoseconds(1), made.given->proof());
    return made;
  }
  [[nodiscard]] static std::string entry_of(const std::string& token, scope_set scopes = scope_set::all(),
                                            words prefixes = {""}) {
    return text_of(entry(token, scopes, std::move(prefixes)));
  }
  void write(std::string_view text) const {
    std::ofstream(path_) << text;
    ::chmod(path_.c_str(), 0600);
  }
  [[nodiscard]] static extras shows(const std::string& token, std::string body = {}) {
    return extras("Authorization: Bearer " + token + "\r\n", std::move(body));
  }
  [[nodiscard]] static extras shows_with_json(const std::string& token, std::string body) {
    extras all = shows(token, std::move(body));
    if (!all.body.empty()) all.fields += "Content-Type: application/json\r\n";
    return all;
  }
  /// Runs `body` with a server that has read the file.
  void with_tokens(const std::function<task<>(http_server&, watched_tokens&)>& body, words hosts = {}) {
    watched_tokens tokens(path_, log_, wall_clock::instance(), time_of_failures_);
    const auto live = [&](http_server& in) -> task<> { return body(in, tokens); };
    with_server(live, &tokens, &log_, std::move(hosts));
  }
  [[nodiscard]] std::size_t times_logged(std::string_view text) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(lines_, [&](const std::string& each) { return each.contains(text); }));
  }

  foliot_test::temporary_folder folder_;
  const std::string path_ = folder_.path() + "/tokens";
  const std::string token_ = access_token::make();
  words lines_;
  virtual_clock time_of_log_;
  virtual_clock time_of_failures_;
  const server_log log_{false, time_of_log_, [this](std::string_view line) { lines_.emplace_back(line); }};
};

/// Asks, and returns the status and the value of WWW-Authenticate.
task<std::string> outcome(http_client& by, std::string method, std::string target, extras more = extras()) {
  const received got = co_await by.ask(std::move(method), std::move(target), std::move(more));
  constexpr std::string_view name = "WWW-Authenticate: ";
  const std::size_t at = got.head.find(name);
  if (at == std::string::npos) co_return std::to_string(got.status);
  const std::string rest = got.head.substr(at + name.size());
  co_return fmt::format("{} {}", got.status, rest.substr(0, rest.find('\r')));
}

TEST_F(RequestAccess, EachRequestShowsAToken) {
  with_tokens([this](http_server& in, watched_tokens&) -> task<> {
    http_client client(in);
    for (const std::string target : {"/v1/jobs?tube=mail", "/v1/nothing", "/v1/access", "/page", "/%70age/page.css",
                                     "/health/", "/healthy", "/v1/statistics"}) {
      const std::string without = co_await outcome(client, "GET", target);
      EXPECT_EQ(without, "401 Bearer") << target;
    }
    const std::string put = co_await outcome(client, "POST", "/v1/jobs?tube=mail", shows(token_));
    EXPECT_EQ(put, "201");
    const std::string next = co_await outcome(client, "POST", "/v1/jobs?tube=mail");
    EXPECT_EQ(next, "401 Bearer") << "the token of a request is none of the next one";
    extras other_case("authorization: BEARER  " + token_ + "\r\n");
    const std::string again = co_await outcome(client, "GET", "/v1/jobs/1", std::move(other_case));
    EXPECT_EQ(again, "200");
    co_await client.leave();
  });
  EXPECT_EQ(times_logged(token_), 0u);
}

TEST_F(RequestAccess, AConnectionIsOnlyWhatItsRequestShows) {
  const std::string other = access_token::make();
  std::string mistyped = token_;
  mistyped.back() = mistyped.back() == 'a' ? 'b' : 'a';
  const std::array<std::byte, access_token::secret_bytes> secret{};
  const std::string another_secret = access_token::make(access_token::parse(token_)->id(), secret);
  write(entry_of(token_) + entry_of(other, scopes_of({scope::put}), {"mail"}));
  with_tokens([&](http_server& in, watched_tokens& tokens) -> task<> {
    http_client client(in);
    const auto put = [&](const std::string& token, std::string tube) {
      return outcome(client, "POST", "/v1/jobs?tube=" + std::move(tube), shows(token));
    };
    const auto expect_unknown = [&](const std::string& token) -> task<> {
      const std::string got = co_await put(token, "mail");
      EXPECT_EQ(got, "401 Bearer error=\"invalid_token\"") << token;
    };
    const auto expect = [&](const std::string& token, std::string tube, std::string status) -> task<> {
      const std::string got = co_await put(token, std::move(tube));
      EXPECT_TRUE(got.starts_with(status)) << got;
    };
    for (int i = 0; i < 2; ++i) {
      co_await expect(token_, "paper", "201");
      co_await expect_unknown(mistyped);
      co_await expect(token_, "paper", "201");
      co_await expect_unknown(another_secret);
      co_await expect(other, "paper", "403");
      co_await expect(other, "mail", "201");
      co_await expect(token_, "paper", "201");
    }
    const auto read_again = [&](std::vector<access_entry> entries) { return tokens.who().replace(std::move(entries)); };
    EXPECT_EQ(read_again({entry(token_, scope_set::all(), {"mail"}), entry(other, scope_set::all(), {""})}), 0u);
    co_await expect(token_, "paper", "403");  // narrowed
    co_await expect(token_, "mail", "201");
    co_await expect(other, "paper", "201");  // widened
    EXPECT_EQ(read_again({ended(token_), entry(other, scope_set::all(), {""})}), 0u);
    co_await expect_unknown(token_);
    co_await expect(other, "paper", "201");
    EXPECT_EQ(read_again({entry(token_, scope_set::all(), {""})}), 0u);
    co_await expect(token_, "paper", "201");
    co_await expect_unknown(other);
    co_await client.leave();
  });
}

TEST_F(RequestAccess, WhatIsShownWronglyIsToldAndCounted) {
  with_tokens([this](http_server& in, watched_tokens&) -> task<> {
    std::string mistyped = token_;
    mistyped.back() = mistyped.back() == 'a' ? 'b' : 'a';
    const words wrong = {"Bearer " + access_token::make(),
                         "Bearer " + mistyped,
                         "Bearer",
                         "Bearer x",
                         "Basic " + token_,
                         token_,
                         "Bearer " + token_ + " x",
                         "Bearer=" + token_,
                         "",
                         "Bearer " + token_ + "," + token_};
    http_client client(in);
    http_client other(in, "192.0.2.7:4000");
    for (const std::string& each : wrong) {
      extras more("Authorization: " + each + "\r\n");
      const received got = co_await client.ask("GET", "/v1/jobs/1", std::move(more));
      EXPECT_EQ(got.status, 401) << each;
      EXPECT_TRUE(got.head.contains("WWW-Authenticate: Bearer error=\"invalid_token\"\r\n")) << got.head;
      EXPECT_FALSE(got.body.contains(token_.substr(20))) << "no secret in an answer";
    }
    const received many = co_await client.ask("GET", "/v1/jobs/1", shows("x"));
    EXPECT_EQ(many.status, 429);
    EXPECT_TRUE(many.head.contains("Retry-After: 60\r\n")) << many.head;
    using step = std::pair<duration, std::string_view>;
    for (const auto& [passed, left] : {step(1ns, "60"), step(1s, "59"), step(58s, "1")}) {
      time_of_failures_.advance(passed);
      const received later = co_await client.ask("GET", "/v1/jobs/1", shows("x"));
      EXPECT_TRUE(later.head.contains(fmt::format("Retry-After: {}\r\n", left))) << left << later.head;
    }
    const std::string right = co_await outcome(client, "GET", "/v1/tubes", shows(token_));
    EXPECT_EQ(right, "200") << "others of the same address do not pay for it";
    const std::string elsewhere = co_await outcome(other, "GET", "/v1/tubes", shows("x"));
    EXPECT_EQ(elsewhere, "401 Bearer error=\"invalid_token\"");
    const std::string nothing = co_await outcome(client, "GET", "/v1/tubes");
    EXPECT_EQ(nothing, "401 Bearer") << "it has shown nothing wrong";
    co_await client.leave();
    co_await other.leave();
  });
  EXPECT_GE(times_logged("an access token from 127.0.0.1:4000 lets nobody in"), 1u);
  EXPECT_EQ(times_logged(token_.substr(20)), 0u) << "no secret in the log";
}

/// By the head alone: the body of the request never comes.
TEST_F(RequestAccess, IsDecidedBeforeTheBody) {
  with_tokens([](http_server& in, watched_tokens&) -> task<> {
    http_client client(in);
    co_await client.write(
        "POST /v1/jobs?tube=mail HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10000\r\nExpect: 100-continue\r\n\r\n");
    const received got = co_await client.read();
    EXPECT_EQ(got.status, 401);
    EXPECT_TRUE(got.head.contains("Connection: close\r\n")) << got.head;
    co_await client.leave();
  });
}

TEST_F(RequestAccess, ProbesNeedNone) {
  with_tokens([](http_server& in, watched_tokens&) -> task<> {
    http_client client(in);
    for (const std::string target : {"/health", "/ready", "/ready?"}) {
      const received got = co_await client.ask("GET", target, extras("X-Forwarded-For: 192.0.2.1\r\n"));
      EXPECT_EQ(got.status, 200) << got.body;
      co_await client.send("HEAD", target);
      const received head = co_await client.read(false);
      EXPECT_EQ(head.status, 200);
      co_await client.send("POST", target);
      const received post = co_await client.read();
      EXPECT_EQ(post.status, 401);
    }
    const received with_body = co_await client.ask("GET", "/ready", extras("", "x"));
    EXPECT_EQ(with_body.status, 401) << "no body is read of a client without access";
    co_await client.leave();
  });
}

TEST_F(RequestAccess, IsNotReadyWhileTheFileHasAMistake) {
  watched_tokens tokens(path_, log_);
  const auto ask = [&](std::string target) {
    int status = 0;
    const auto live = [&](http_server& in) -> task<> {
      http_client client(in);
      const received got = co_await client.ask("GET", std::move(target));
      status = got.status;
      co_await client.leave();
    };
    with_server(live, &tokens, &log_);
    return status;
  };
  const auto look_twice = [&] {
    runtime::run([&]() -> task<> {
      co_await tokens.look();
      co_await tokens.look();
    });
  };
  EXPECT_EQ(ask("/ready"), 200);
  write("[token]\n");
  look_twice();
  EXPECT_EQ(ask("/ready"), 503);
  EXPECT_EQ(ask("/health"), 200);
  write(entry_of(token_));
  look_twice();
  EXPECT_EQ(ask("/ready"), 200);
}

TEST_F(RequestAccess, RightsAreLimitedToScopesAndTubes) {
  const std::string narrow = access_token::make();
  write(entry_of(token_) + entry_of(narrow, scopes_of({scope::put, scope::look, scope::reserve}), {"mail."}));
  with_tokens([&](http_server& in, watched_tokens&) -> task<> {
    http_client client(in);
    const auto put = [&](std::string tube, const std::string& token) -> task<int> {
      const received done = co_await client.ask("POST", "/v1/jobs?tube=" + tube, shows(token, "hello"));
      co_return done.status;
    };
    const int hidden = co_await put("bill", token_);  // job 1
    const int own = co_await put("mail.in", narrow);  // job 2
    EXPECT_EQ(hidden, 201);
    EXPECT_EQ(own, 201);

    const received tube = co_await client.ask("POST", "/v1/jobs?tube=bill", shows(narrow, "hello"));
    EXPECT_EQ(tube.wrong(), "403 no_tube");
    EXPECT_TRUE(tube.body.contains("'bill'")) << tube.body;
    const received scope = co_await client.ask("DELETE", "/v1/jobs/2", shows(narrow));
    EXPECT_EQ(scope.wrong(), "403 no_scope");
    EXPECT_TRUE(scope.body.contains("'change'")) << scope.body;
    EXPECT_TRUE(scope.head.contains("WWW-Authenticate: Bearer error=\"insufficient_scope\"")) << scope.head;
    const received seen = co_await client.ask("GET", "/v1/jobs/2", shows(narrow));
    EXPECT_EQ(seen.status, 200);
    const received tubes = co_await client.ask("GET", "/v1/tubes", shows(narrow));
    EXPECT_EQ(tubes.value()["tubes"].size(), 1u) << tubes.body;
    const received all = co_await client.ask("GET", "/v1/statistics", shows(narrow));
    EXPECT_EQ(all.wrong(), "403 no_tube");
    co_await client.leave();
  });
}

TEST_F(RequestAccess, OnlyOperatorsSeeWhichOtherClientHasAJob) {
  const std::string worker = access_token::make();
  const std::string onlooker = access_token::make();
  const scope_set works = scopes_of({scope::put, scope::reserve, scope::look});
  const scope_set runs = scopes_of({scope::look, scope::administer});
  const std::string operator_of_tube = access_token::make();
  write(entry_of(token_) + entry_of(worker, works, {"mail"}) + entry_of(onlooker, works, {""}) +
        entry_of(operator_of_tube, runs, {"mail"}));
  with_tokens([&](http_server& in, watched_tokens&) -> task<> {
    http_client client(in);
    static_cast<void>(co_await client.ask("POST", "/v1/jobs?tube=mail", shows(worker, "hello")));
    static_cast<void>(co_await client.ask("POST", "/v1/reserve?tube=mail", shows(worker)));
    const std::string id(access_token::parse(worker)->id());
    const auto expect = [&](const std::string& token, std::string holder) -> task<> {
      const received why = co_await client.ask("GET", "/v1/jobs/1/why", shows(token));
      EXPECT_EQ(why.value().value("held_by", ""), holder) << why.body;
      const received listed = co_await client.ask("GET", "/v1/reservations", shows(token));
      EXPECT_EQ(listed.value()["jobs"].at(0).value("held_by", ""), holder) << listed.body;
    };
    co_await expect(token_, id);
    co_await expect(operator_of_tube, id);
    co_await expect(worker, id);
    co_await expect(onlooker, "");
    co_await client.leave();
  });
}

TEST_F(RequestAccess, TheTubeOfAScheduleDecidesWhoSeesIt) {
  const std::string narrow = access_token::make();
  const std::string onlooker = access_token::make();
  write(entry_of(token_) + entry_of(narrow, scopes_of({scope::put, scope::look}), {"mail."}) +
        entry_of(onlooker, scopes_of({scope::look}), {""}));
  with_tokens([&](http_server& in, watched_tokens&) -> task<> {
    http_client client(in);
    const auto ask = [&](std::string method, std::string target, const std::string& token, std::string body = {}) {
      return client.ask(std::move(method), std::move(target), shows_with_json(token, std::move(body)));
    };
    const std::string plan = R"({"rules":["@daily"]})";
    const received hidden = co_await ask("PUT", "/v1/tubes/bill/schedules/one", token_, plan);
    EXPECT_EQ(hidden.status, 201) << hidden.body;
    const received own = co_await ask("PUT", "/v1/tubes/mail.in/schedules/one", narrow, plan);
    EXPECT_EQ(own.status, 201) << own.body;
    const received elsewhere = co_await ask("PUT", "/v1/tubes/bill/schedules/two", narrow, plan);
    EXPECT_EQ(elsewhere.wrong(), "403 no_tube");
    const received tried = co_await ask("POST", "/v1/tubes/bill/schedules/one/preview", narrow, plan);
    EXPECT_EQ(tried.wrong(), "403 no_tube") << "as the put of it";
    const std::vector<std::pair<std::string, std::string>> requests = {
        {"GET", ""},       {"POST", "/pause"}, {"POST", "/resume"},
        {"POST", "/skip"}, {"POST", "/run"},   {"POST", "/backfill?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z"},
        {"DELETE", ""}};
    for (const auto& [method, rest] : requests) {
      const received none = co_await ask(method, "/v1/tubes/bill/schedules/none" + rest, narrow);
      const received out = co_await ask(method, "/v1/tubes/bill/schedules/one" + rest, narrow);
      EXPECT_EQ(out.wrong(), "404 gone") << method << rest;
      EXPECT_EQ(out.body, none.body) << "as if it had never been";
    }
    const received all = co_await ask("GET", "/v1/schedules", narrow);
    EXPECT_EQ(all.value()["schedules"].size(), 1u) << all.body;
    const received of_tube = co_await ask("GET", "/v1/tubes/bill/schedules", narrow);
    EXPECT_EQ(of_tube.status == 200 ? of_tube.value()["schedules"].size() : 0, 0u) << of_tube.body;
    const received both = co_await ask("GET", "/v1/schedules", onlooker);
    EXPECT_EQ(both.value()["schedules"].size(), 2u) << both.body;
    const received paused = co_await ask("POST", "/v1/tubes/bill/schedules/one/pause", onlooker);
    EXPECT_EQ(paused.wrong(), "403 no_scope");
    const received cancels = co_await ask("DELETE", "/v1/tubes/mail.in/schedules/one?occurrences=cancel", narrow);
    EXPECT_EQ(cancels.wrong(), "403 no_scope") << "it needs the scope of a change";
    const received kept = co_await ask("DELETE", "/v1/tubes/mail.in/schedules/one", narrow);
    EXPECT_EQ(kept.status, 200) << kept.body;
    co_await client.leave();
  });
}

TEST_F(RequestAccess, TheTubeOfAPolicyDecidesWhoSeesAndSetsIt) {
  const std::string narrow = access_token::make();
  write(entry_of(token_) + entry_of(narrow, scopes_of({scope::administer, scope::look}), {"mail."}));
  with_tokens([&](http_server& in, watched_tokens&) -> task<> {
    http_client client(in);
    const auto ask = [&](std::string method, std::string target, const std::string& token, std::string body = {}) {
      return client.ask(std::move(method), std::move(target), shows_with_json(token, std::move(body)));
    };
    const received hidden = co_await ask("PUT", "/v1/policies/bill", token_, R"({"tries":3})");
    EXPECT_EQ(hidden.status, 201) << hidden.body;
    const received own = co_await ask("PUT", "/v1/policies/mail.in", narrow, R"({"tries":3})");
    EXPECT_EQ(own.status, 201) << own.body;
    const received elsewhere = co_await ask("PUT", "/v1/policies/bill", narrow, R"({"tries":3})");
    EXPECT_EQ(elsewhere.wrong(), "403 no_tube");
    const received letters =
        co_await ask("PUT", "/v1/policies/mail.in", narrow, R"({"tries":3,"dead_letters":"bill"})");
    EXPECT_EQ(letters.wrong(), "403 no_tube") << "dead letters are puts into that tube";
    for (const std::string method : {"GET", "DELETE"}) {
      const received none = co_await ask(method, "/v1/policies/none", narrow);
      const received out = co_await ask(method, "/v1/policies/bill", narrow);
      EXPECT_EQ(out.wrong(), "404 gone") << method;
      EXPECT_EQ(out.body, none.body) << "as if it had never been";
    }
    const received some = co_await ask("GET", "/v1/policies", narrow);
    EXPECT_EQ(some.value()["policies"].size(), 1u) << some.body;
    const received all = co_await ask("GET", "/v1/policies", token_);
    EXPECT_EQ(all.value()["policies"].size(), 2u) << all.body;
    co_await client.leave();
  });
}

TEST_F(RequestAccess, DeadLettersTellNothingOfATubeOutOfTheRights) {
  const std::string narrow = access_token::make();
  write(entry_of(token_) + entry_of(narrow, scopes_of({scope::administer, scope::look}), {"mail."}));
  with_tokens([&](http_server& in, watched_tokens&) -> task<> {
    using how = jobs::failed_try::kind;
    jobs::job_tries tries;
    tries.note({.how = how::released, .why = "of bill", .worker = "w1"});
    tries.note({.how = how::moved, .why = "bill", .worker = "7 salary-ada"});
    tries.note({.how = how::released, .why = "of mail", .worker = "w2"});
    jobs::put letter;
    letter.tube = "mail.dead";
    EXPECT_TRUE(tries.write(letter.history));
    static_cast<void>(jobs::execute_one(in.memory, std::move(letter)));
    http_client client(in);
    const auto look = [&](std::string target, const std::string& token) {
      return client.ask("GET", std::move(target), shows_with_json(token, {}));
    };
    const received all = co_await look("/v1/jobs/1", token_);
    EXPECT_TRUE(all.body.contains("of bill") && all.body.contains("salary-ada") && all.body.contains("w1")) << all.body;
    const received some = co_await look("/v1/jobs/1", narrow);
    for (const char* const each : {"bill", "salary-ada", "w1", "\"7\""})
      EXPECT_FALSE(some.body.contains(each)) << some.body;
    for (const char* const each : {"of mail", "w2", "moved"}) EXPECT_TRUE(some.body.contains(each)) << some.body;
    const received page = co_await look("/v1/jobs?tube=mail.dead&with_tries=true", narrow);
    EXPECT_EQ(page.value()["jobs"][0]["tries"], some.value()["tries"]) << page.body << ": a list tells no more";

    const received put = co_await client.ask("PUT", "/v1/policies/mail.in",
                                             shows_with_json(token_, R"({"tries":3,"dead_letters":"bill"})"));
    EXPECT_EQ(put.status, 201) << put.body;
    const received shown = co_await look("/v1/policies/mail.in", narrow);
    EXPECT_EQ(shown.value()["policy"].dump(), R"({"tries":3})") << shown.body;
    EXPECT_EQ(shown.value()["hidden"].dump(), R"(["dead_letters"])") << shown.body;
    const received listed = co_await look("/v1/policies", narrow);
    EXPECT_FALSE(listed.body.contains("bill")) << listed.body;
    const received whole = co_await look("/v1/policies/mail.in", token_);
    EXPECT_FALSE(whole.value().contains("hidden")) << whole.body;
    co_await client.leave();
  });
}

/// A request, and the scope of its operation.
struct example {
  std::string method;
  std::string target;
  scope needs;
  std::string body{};  // JSON
};

/// Those of schedules, in an order in which the first ones are there.
std::vector<example> examples_of_schedules() {
  return {
      {"GET", "/v1/schedules", scope::look},
      {"GET", "/v1/tubes/mail/schedules", scope::look},
      {"PUT", "/v1/tubes/mail/schedules/one", scope::put, R"({"rules":["@daily"]})"},
      {"GET", "/v1/tubes/mail/schedules/one", scope::look},
      {"POST", "/v1/tubes/mail/schedules/one/preview", scope::put, R"({"rules":["@daily"]})"},
      {"POST", "/v1/tubes/mail/schedules/one/pause", scope::put},
      {"POST", "/v1/tubes/mail/schedules/one/resume", scope::put},
      {"POST", "/v1/tubes/mail/schedules/one/skip", scope::put},
      {"POST", "/v1/tubes/mail/schedules/one/run", scope::put},
      {"POST", "/v1/tubes/mail/schedules/one/backfill?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z", scope::put},
      {"DELETE", "/v1/tubes/mail/schedules/one", scope::put},
      {"PUT", "/v1/schedule?tube=mail&name=two", scope::put, R"({"rules":["@daily"]})"},
      {"GET", "/v1/schedule?tube=mail&name=two", scope::look},
      {"POST", "/v1/schedule/preview?tube=mail&name=two", scope::put, R"({"rules":["@daily"]})"},
      {"POST", "/v1/schedule/pause?tube=mail&name=two", scope::put},
      {"POST", "/v1/schedule/resume?tube=mail&name=two", scope::put},
      {"POST", "/v1/schedule/skip?tube=mail&name=two", scope::put},
      {"POST", "/v1/schedule/run?tube=mail&name=two", scope::put},
      {"POST", "/v1/schedule/backfill", scope::put,
       R"({"tube":"mail","name":"two","from":"2026-01-01T00:00:00Z","to":"2026-01-02T00:00:00Z","dry_run":true})"},
      {"DELETE", "/v1/schedule?tube=mail&name=two", scope::put},
  };
}

/// The same of policies.
std::vector<example> examples_of_policies() {
  return {
      {"GET", "/v1/policies", scope::look},
      {"PUT", "/v1/policies/mail", scope::administer, R"({"tries":3})"},
      {"GET", "/v1/policies/mail", scope::look},
      {"DELETE", "/v1/policies/mail", scope::administer},
      {"PUT", "/v1/policy?tube=mail", scope::administer, R"({"tries":3})"},
      {"GET", "/v1/policy?tube=mail", scope::look},
      {"DELETE", "/v1/policy?tube=mail", scope::administer},
  };
}

/// Those of webhooks. There are none here: an example that has its scope is told so.
std::vector<example> examples_of_webhooks() {
  const std::string plan = R"({"url":"https://hooks.example.com/","secret":"one"})";
  std::vector<example> all = {{"GET", "/v1/webhooks", scope::administer},
                              {"GET", "/v1/webhooks?count=50&with_jobs=true", scope::administer}};
  for (const std::string rest : {"", "/enable", "/disable", "/test", "/deliveries"}) {
    for (const std::string& path : {"/v1/tubes/mail/webhook" + rest, "/v1/webhook" + rest + "?tube=mail"}) {
      if (rest.empty() || rest == "/deliveries") all.push_back({"GET", path, scope::administer});
      if (rest.empty()) all.push_back({"PUT", path, scope::administer, plan});
      if (rest.empty()) all.push_back({"DELETE", path, scope::administer});
      if (!rest.empty() && rest != "/deliveries") all.push_back({"POST", path, scope::administer});
    }
  }
  return all;
}

std::vector<example> examples_of_all() {
  std::vector<example> all = {
      {"POST", "/v1/jobs?tube=mail", scope::put},
      {"POST", "/v1/tubes/mail/jobs", scope::put},
      {"PUT", "/v1/tubes/mail/jobs/key", scope::put},
      {"PUT", "/v1/job?tube=mail&key=key", scope::put},
      {"POST", "/v1/batch", scope::put, R"({"jobs":[{"tube":"mail","text":"a"}]})"},
      {"POST", "/v1/batch", scope::put, R"({"jobs":[{"put":{"tube":"mail","text":"a"}}],"atomic":true})"},
      {"POST", "/v1/batch", scope::change, R"({"jobs":[{"cancel":{"id":"9"}},{"kick":{"id":"9"}}]})"},
      {"POST", "/v1/batch", scope::reserve, R"({"jobs":[{"finish":{"reservation":"17-5-2"}}]})"},
      {"GET", "/v1/jobs/1", scope::look},
      {"GET", "/v1/jobs?with_tries=true", scope::look},
      {"HEAD", "/v1/jobs/1", scope::look},
      {"GET", "/v1/tubes/mail/jobs/key", scope::look},
      {"GET", "/v1/job?id=1", scope::look},
      {"GET", "/v1/jobs/1/why", scope::look},
      {"GET", "/v1/tubes/mail/jobs/key/why", scope::look},
      {"GET", "/v1/job/why?id=1", scope::look},
      {"DELETE", "/v1/jobs/9", scope::change},
      {"DELETE", "/v1/tubes/mail/jobs/none", scope::change},
      {"DELETE", "/v1/job?id=9", scope::change},
      {"POST", "/v1/jobs/1/reschedule?delay=1s", scope::change},
      {"POST", "/v1/tubes/mail/jobs/key/reschedule?delay=1s", scope::change},
      {"POST", "/v1/job/reschedule?id=1&delay=1s", scope::change},
      {"POST", "/v1/jobs/1/fire", scope::change},
      {"POST", "/v1/tubes/mail/jobs/key/fire", scope::change},
      {"POST", "/v1/job/fire?id=1", scope::change},
      {"POST", "/v1/jobs/1/kick", scope::change},
      {"POST", "/v1/tubes/mail/kick", scope::change},
      {"POST", "/v1/tube/kick?tube=mail", scope::change},
      {"POST", "/v1/reserve?tube=none&timeout=0s", scope::reserve},
      {"POST", "/v1/reserve?tube=none&timeout=5s", scope::reserve},
      {"POST", "/v1/reservations/17-5-2/finish", scope::reserve},
      {"POST", "/v1/reservations/17-5-2/release", scope::reserve},
      {"POST", "/v1/reservations/17-5-2/touch", scope::reserve},
      {"POST", "/v1/reservations/17-5-2/bury", scope::reserve},
      {"POST", "/v1/tubes/mail/pause?length=0s", scope::administer},
      {"POST", "/v1/tube/pause?tube=mail&length=0s", scope::administer},
      {"POST", "/v1/tubes/none/clear", scope::administer},
      {"POST", "/v1/tube/clear?tube=none", scope::administer},
      {"GET", "/v1/tubes", scope::look},
      {"GET", "/v1/tubes/mail", scope::look},
      {"GET", "/v1/tube?tube=mail", scope::look},
      {"GET", "/v1/due", scope::look},
      {"GET", "/v1/due/counts", scope::look},
      {"GET", "/v1/events", scope::look},
      {"GET", "/v1/statistics", scope::look},
      {"GET", "/metrics", scope::look},
      {"HEAD", "/metrics", scope::look},
      {"GET", "/v1/jobs", scope::look},
      {"GET", "/v1/tubes/mail/jobs?state=delayed", scope::look},
      {"GET", "/v1/reservations", scope::look},
      {"POST", "/v1/actions", scope::change, R"({"do":"cancel","tube":"mail"})"},
      {"GET", "/v1/actions", scope::change},
      {"GET", "/v1/actions/9", scope::change},
      {"POST", "/v1/actions/9/run?counted=0", scope::change},
      {"POST", "/v1/actions/9/stop", scope::change},
      {"DELETE", "/v1/actions/9", scope::change},
  };
  std::ranges::move(examples_of_schedules(), std::back_inserter(all));
  std::ranges::move(examples_of_policies(), std::back_inserter(all));
  std::ranges::move(examples_of_webhooks(), std::back_inserter(all));
  return all;
}

/// A new route needs an example here.
TEST_F(RequestAccess, EachRouteHasAnExample) {
  const std::vector<example> examples = examples_of_all();
  for (const api::named_route& route : api::all_routes()) {
    const bool has_scope =
        (route.pattern.starts_with("/v1/") && route.pattern != "/v1/access") || route.pattern == "/metrics";
    if (!has_scope) continue;
    const bool has_example = std::ranges::any_of(examples, [&](const example& each) {
      std::vector<parameter> names;
      const auto asked = parse_target(each.target);
      return each.method == route.method && asked && matches(route.pattern, asked->path, names);
    });
    EXPECT_TRUE(has_example) << route.method << " " << route.pattern;
  }
}

/// With all scopes but one each route that needs it is refused, and with this one alone it is not.
TEST_F(RequestAccess, EachRouteHasItsScope) {
  std::string file = entry_of(token_);
  std::map<scope, std::string> alone;
  std::map<scope, std::string> all_others;
  for (const named_scope& each : all_scopes) {
    scope_set others;
    for (const named_scope& other : all_scopes) {
      if (other.what != each.what) others.add(other.what);
    }
    alone[each.what] = access_token::make();
    all_others[each.what] = access_token::make();
    file += entry_of(alone[each.what], scopes_of({each.what})) + entry_of(all_others[each.what], others);
  }
  write(file);
  with_tokens([&](http_server& in, watched_tokens&) -> task<> {
    http_client client(in);
    const received put = co_await client.ask("POST", "/v1/jobs?tube=mail&key=key&delay=1h", shows(token_));
    EXPECT_EQ(put.status, 201);
    const std::vector<example> examples = examples_of_all();
    for (const example& each : examples) {
      const std::string what = each.method + " " + each.target;
      co_await client.send(each.method, each.target, shows_with_json(all_others.at(each.needs), each.body));
      const received refused = co_await client.read(each.method != "HEAD");
      EXPECT_EQ(refused.status, 403) << what << refused.body;
      if (each.method != "HEAD") {
        EXPECT_EQ(refused.wrong(), "403 no_scope") << what;
      }
      http_client other(in);  // the answer may be a stream
      co_await other.send(each.method, each.target, shows_with_json(alone.at(each.needs), each.body));
      const received done = co_await other.read(each.method != "HEAD");
      co_await other.leave();
      const std::set<int> allowed = each.target.contains("webhook") ? std::set{501} : std::set{200, 201, 207, 404, 409};
      EXPECT_TRUE(allowed.contains(done.status)) << what << " " << done.status << done.body;
    }
    co_await client.leave();
  });
}

/// Byte by byte, but for the date and the id itself.
TEST_F(RequestAccess, WhatIsOutOfTheRightsIsAsIfItWereNotThere) {
  const std::string narrow = access_token::make();
  write(entry_of(token_) + entry_of(narrow, scope_set::all(), {"mail."}));
  with_tokens([&](http_server& in, watched_tokens&) -> task<> {
    http_client client(in);
    const received put = co_await client.ask("POST", "/v1/jobs?tube=bill", shows(token_, "secret"));
    EXPECT_EQ(put.status, 201);
    for (const auto& [method, rest] : std::vector<std::pair<std::string, std::string>>{
             {"GET", ""}, {"DELETE", ""}, {"POST", "/reschedule?delay=1s"}, {"POST", "/fire"}, {"POST", "/kick"}}) {
      const received hidden = co_await client.ask(method, "/v1/jobs/1" + rest, shows(narrow));
      const received none = co_await client.ask(method, "/v1/jobs/9" + rest, shows(narrow));
      EXPECT_EQ(hidden.status, 404) << method << rest << hidden.body;
      EXPECT_EQ(hidden.head, none.head) << method << rest;
      EXPECT_EQ(hidden.body, none.body) << method << rest;
    }
    const received reserved = co_await client.ask("POST", "/v1/reserve?tube=bill", shows(token_));
    const auto token = reserved.value()["jobs"][0]["reservation"].get<std::string>();
    for (const char* const what : {"finish", "release", "touch", "bury"}) {
      const received hidden = co_await client.ask("POST", "/v1/reservations/" + token + "/" + what, shows(narrow));
      EXPECT_EQ(hidden.wrong(), "409 not_held") << what;
    }
    const received finished = co_await client.ask("POST", "/v1/reservations/" + token + "/finish", shows(token_));
    EXPECT_EQ(finished.status, 200) << "none of them has changed anything";
    co_await client.leave();
  });
}

/// As an id that was never given, byte by byte. The one that has made it finds it.
TEST_F(RequestAccess, AnActionOfAnotherTokenIsAsIfItWereNotThere) {
  const std::string other = access_token::make();
  write(entry_of(token_) + entry_of(other, scopes_of({scope::change, scope::look, scope::put}), {""}));
  with_tokens([&](http_server& in, watched_tokens&) -> task<> {
    http_client client(in);
    const std::string body = R"({"do":"cancel","tube":"mail"})";
    const received made = co_await client.ask("POST", "/v1/actions", shows_with_json(token_, body));
    EXPECT_EQ(made.status, 201) << made.body;
    for (const auto& [method, rest] : std::vector<std::pair<std::string, std::string>>{
             {"GET", ""}, {"DELETE", ""}, {"POST", "/stop"}, {"POST", "/run?counted=0"}}) {
      const received hidden = co_await client.ask(method, "/v1/actions/1" + rest, shows(other));
      const received none = co_await client.ask(method, "/v1/actions/9" + rest, shows(other));
      EXPECT_EQ(hidden.status, 404) << method << rest << hidden.body;
      EXPECT_EQ(hidden.head, none.head) << method << rest;
      EXPECT_EQ(hidden.body, none.body) << method << rest;
    }
    const received listed = co_await client.ask("GET", "/v1/actions", shows(other));
    EXPECT_EQ(listed.value()["actions"].size(), 0u) << listed.body;
    const received own = co_await client.ask("GET", "/v1/actions/1", shows(token_));
    EXPECT_EQ(own.status, 200);
    EXPECT_FALSE(own.body.contains(hexadecimal(sha256_of(token_)))) << "no digest in an answer";
    co_await client.leave();
  });
}

/// The number of jobs would tell what is in their bodies.
TEST_F(RequestAccess, ATextNeedsALook) {
  const std::string narrow = access_token::make();
  write(entry_of(token_) + entry_of(narrow, scopes_of({scope::change}), {"mail"}));
  with_tokens([&](http_server& in, watched_tokens&) -> task<> {
    http_client client(in);
    const auto ask = [&](std::string filter) -> task<std::string> {
      const std::string body = R"({"do":"cancel",)" + filter + "}";
      const received got = co_await client.ask("POST", "/v1/actions", shows_with_json(narrow, body));
      co_return got.status == 201 ? "201" : got.wrong();
    };
    const std::string text = co_await ask(R"("tube":"mail","text":"secret")");
    EXPECT_EQ(text, "403 no_scope");
    const std::string tube = co_await ask(R"("tube":"bill")");
    EXPECT_EQ(tube, "403 no_tube");
    const std::string plain = co_await ask(R"("tube":"mail")");
    EXPECT_EQ(plain, "201");
    co_await client.leave();
  });
}

/// The entries of a batch that are not puts, about a job that is delayed and one that is reserved, with their scopes.
std::vector<std::pair<std::string, scope>> entries_about(const std::string& id, const std::string& token) {
  std::vector<std::pair<std::string, scope>> all;
  for (const char* const what : {R"("kick":{)", R"("reschedule":{"delay":"1h",)", R"("fire":{)", R"("cancel":{)"}) {
    all.emplace_back(fmt::format(R"({{{}"id":"{}"}}}})", what, id), scope::change);
  }
  for (const char* const what : {"touch", "release", "bury", "finish"}) {
    all.emplace_back(fmt::format(R"({{"{}":{{"reservation":"{}"}}}})", what, token), scope::reserve);
  }
  return all;
}

std::string batch_of(const std::vector<std::pair<std::string, scope>>& entries) {
  std::string text = R"({"jobs":[{"tube":"mail","text":"an entry that is allowed"})";
  for (const auto& each : entries) text += "," + each.first;
  return text + "]}";
}

TEST_F(RequestAccess, EachEntryOfABatchHasItsScope) {
  const std::string putter = access_token::make();
  const std::string changer = access_token::make();
  const std::string worker = access_token::make();
  write(entry_of(token_) + entry_of(putter, scopes_of({scope::put})) +
        entry_of(changer, scopes_of({scope::put, scope::change})) +
        entry_of(worker, scopes_of({scope::put, scope::reserve})));
  with_tokens([&](http_server& in, watched_tokens&) -> task<> {
    http_client client(in);
    const std::vector<std::pair<std::string, scope>> entries = entries_about("17", "17-5-2");
    for (const auto& [token, scopes] : std::vector<std::pair<std::string, std::set<scope>>>{
             {putter, {}}, {changer, {scope::change}}, {worker, {scope::reserve}}}) {
      const received some = co_await client.ask("POST", "/v1/batch", shows_with_json(token, batch_of(entries)));
      EXPECT_EQ(some.status, 207) << some.body;
      const auto results = some.value()["results"];
      EXPECT_EQ(results[0]["status"], 201) << "what is not allowed keeps no other from being done";
      for (std::size_t i = 0; i < entries.size(); ++i) {
        const bool may = scopes.contains(entries[i].second);
        const auto outcome = results[i + 1].value("outcome", "");
        if (may) {
          EXPECT_EQ(outcome, entries[i].second == scope::change ? "gone" : "not_held") << entries[i].first;
        } else {
          EXPECT_EQ(outcome, "no_scope") << entries[i].first;
          EXPECT_EQ(results[i + 1]["status"], 403) << entries[i].first;
        }
      }
    }
    co_await client.leave();
  });
}

/// An entry about a job in another tube is answered as one about no job, and changes nothing.
TEST_F(RequestAccess, AnEntryOfABatchSeesNothingOfOtherTubes) {
  const std::string narrow = access_token::make();
  write(entry_of(token_) + entry_of(narrow, scope_set::all(), {"mail"}));
  with_tokens([&](http_server& in, watched_tokens&) -> task<> {
    http_client client(in);
    for (const char* const target : {"/v1/jobs?tube=bill", "/v1/jobs?tube=bill&key=k&delay=1h"}) {
      const received put = co_await client.ask("POST", target, shows(token_, "secret"));
      EXPECT_EQ(put.status, 201);
    }
    const received reserved = co_await client.ask("POST", "/v1/reserve?tube=bill", shows(token_));
    const auto token = reserved.value()["jobs"][0]["reservation"].get<std::string>();
    const std::string hidden_batch = batch_of(entries_about("2", token));
    const received hidden = co_await client.ask("POST", "/v1/batch", shows_with_json(narrow, hidden_batch));
    const std::string no_batch = batch_of(entries_about("99", "99" + token.substr(1)));
    const received none = co_await client.ask("POST", "/v1/batch", shows_with_json(narrow, no_batch));
    auto with = hidden.value()["results"];
    auto without = none.value()["results"];
    EXPECT_EQ(with[0]["status"], 201);
    with.erase(0);
    without.erase(0);
    EXPECT_EQ(with, without);

    const std::string named = R"({"jobs":[{"tube":"mail"},{"tube":"bill"},{"cancel":{"tube":"bill","key":"k"}}]})";
    const received refused = co_await client.ask("POST", "/v1/batch", shows_with_json(narrow, named));
    const auto results = refused.value()["results"];
    EXPECT_EQ(results[0]["status"], 201) << refused.body;
    EXPECT_EQ(results[1]["outcome"], "no_tube");
    EXPECT_EQ(results[2]["outcome"], "no_tube");
    const std::string all = R"({"jobs":[{"tube":"mail"},{"tube":"bill"}],"atomic":true})";
    const received atomic = co_await client.ask("POST", "/v1/batch", shows_with_json(narrow, all));
    EXPECT_EQ(atomic.wrong(), "403 pointer #/jobs/1") << atomic.body;

    const received still = co_await client.ask("GET", "/v1/jobs/2", shows(token_));
    EXPECT_EQ(still.value()["state"], "delayed");
    EXPECT_EQ(still.value()["kicks"], 0);
    const received counts = co_await client.ask("GET", "/v1/tubes/mail", shows(token_));
    EXPECT_EQ(counts.value()["ready"], 3) << "one of each batch that is not atomic";
    const received finished = co_await client.ask("POST", "/v1/reservations/" + token + "/finish", shows(token_));
    EXPECT_EQ(finished.status, 200) << "nobody else has ended it";
    co_await client.leave();
  });
}

/// Lists have what is in the rights, and a cursor means the same whether or not there is something at its place.
TEST_F(RequestAccess, ListsHaveNothingThatIsOutOfTheRights) {
  const std::string narrow = access_token::make();
  write(entry_of(token_) + entry_of(narrow, scope_set::all(), {"mail.", "news"}));
  with_tokens([&](http_server& in, watched_tokens&) -> task<> {
    http_client client(in);
    for (const char* const tube : {"bill", "mail", "mail.in", "mail.out", "news", "other"}) {
      const received put = co_await client.ask("POST", fmt::format("/v1/jobs?tube={}", tube), shows(token_, "hello"));
      EXPECT_EQ(put.status, 201);
    }
    const auto ask = [&](std::string target) { return client.ask("GET", std::move(target), shows(narrow)); };
    const auto names_in = [](const nlohmann::json& all) {
      words found;
      for (const auto& each : all) found.push_back(each["tube"].get<std::string>());
      return found;
    };
    const received tubes = co_await ask("/v1/tubes?count=2");
    EXPECT_EQ(names_in(tubes.value()["tubes"]), (words{"mail.in", "mail.out"}));
    EXPECT_EQ(tubes.value()["next"], "mail.out");
    const received rest = co_await ask("/v1/tubes?count=2&cursor=mail.out");
    EXPECT_EQ(names_in(rest.value()["tubes"]), words{"news"});
    const received behind_hidden = co_await ask("/v1/tubes?cursor=mail");
    const received behind_nothing = co_await ask("/v1/tubes?cursor=maik");
    EXPECT_EQ(behind_hidden.body, behind_nothing.body);
    EXPECT_EQ(names_in(behind_hidden.value()["tubes"]), (words{"mail.in", "mail.out", "news"}));
    const received all = co_await ask("/v1/jobs");
    EXPECT_EQ(names_in(all.value()["jobs"]), (words{"mail.in", "mail.out", "news"}));
    const received behind_hidden_job = co_await ask("/v1/jobs?cursor=0-2");  // the job of `mail`
    EXPECT_EQ(behind_hidden_job.body, all.body);
    const received sought = co_await ask("/v1/jobs?text=hello");
    EXPECT_EQ(names_in(sought.value()["jobs"]), (words{"mail.in", "mail.out", "news"}));
    const received outside = co_await ask("/v1/jobs?prefix=b");
    EXPECT_EQ(outside.value()["jobs"].size(), 0u) << outside.body;
    const received hidden = co_await ask("/v1/tubes/bill/jobs");
    EXPECT_EQ(hidden.wrong(), "403 no_tube");
    const received missing = co_await ask("/v1/tubes/nothing/jobs");
    EXPECT_EQ(missing.wrong(), "403 no_tube");
    const received reserved = co_await client.ask("POST", "/v1/reserve?tube=bill", shows(token_));
    EXPECT_EQ(reserved.value()["jobs"].size(), 1u);
    const received nobody = co_await ask("/v1/reservations");
    EXPECT_EQ(nobody.value()["jobs"].size(), 0u) << nobody.body;
    co_await client.leave();
  });
}

TEST_F(RequestAccess, ACertificateWithAnEntryIsEnough) {
  const std::string fingerprint(64, 'a');
  access_entry entry;
  entry.what = access_entry::kind::certificate;
  entry.given = std::make_shared<const rights>("workers", "a test", scope_set::all(), words{"mail"}, instant::never(),
                                               *parse_digest(fingerprint));
  write(entry_of(token_) + text_of(entry));
  with_tokens([&](http_server& in, watched_tokens&) -> task<> {
    http_client known(in, "192.0.2.7:4000", fingerprint);
    http_client unknown(in, "192.0.2.7:4001", std::string(64, 'b'));
    const std::string put = co_await outcome(known, "POST", "/v1/jobs?tube=mail");
    EXPECT_EQ(put, "201");
    const std::string bill = co_await outcome(known, "POST", "/v1/jobs?tube=bill");
    EXPECT_EQ(bill, "403");
    const std::string wide = co_await outcome(known, "POST", "/v1/jobs?tube=bill", shows(token_));
    EXPECT_EQ(wide, "201") << "the token counts where there is one";
    const std::string wrong = co_await outcome(known, "POST", "/v1/jobs?tube=mail", shows("x"));
    EXPECT_EQ(wrong, "401 Bearer error=\"invalid_token\"");
    const std::string proxy = co_await outcome(known, "POST", "/v1/jobs?tube=mail", extras("Via: 1.1 proxy\r\n"));
    EXPECT_EQ(proxy, "401 Bearer") << "the certificate is the proxy's";
    const std::string none = co_await outcome(unknown, "POST", "/v1/jobs?tube=mail");
    EXPECT_EQ(none, "401 Bearer");
    co_await known.leave();
    co_await unknown.leave();
  });
}

TEST_F(RequestAccess, ARevokedTokenEndsItsLongPollAndNoOther) {
  const std::string other = access_token::make();
  write(entry_of(token_) + entry_of(other));
  with_tokens([&](http_server& in, watched_tokens& tokens) -> task<> {
    http_client revoked(in);
    http_client stays(in);
    http_client idle(in);
    const std::string looked = co_await outcome(idle, "GET", "/v1/tubes", shows(token_));
    EXPECT_EQ(looked, "200");
    co_await revoked.send("POST", "/v1/reserve?tube=mail", shows(token_));
    co_await stays.send("POST", "/v1/reserve?tube=mail", shows(other));
    co_await runtime::sleep(1s);
    EXPECT_EQ(in.jobs.counters().waiting, 2u);
    const instant begin = runtime::now();
    std::vector<access_entry> left;
    left.push_back(entry(other, scope_set::all(), {""}));
    EXPECT_EQ(tokens.who().replace(std::move(left)), 1u);
    const received ended = co_await revoked.read();
    EXPECT_EQ(ended.wrong(), "401 header authorization");
    EXPECT_TRUE(ended.head.contains("Connection: close\r\n")) << ended.head;
    EXPECT_LE(runtime::now() - begin, duration(1s));
    EXPECT_EQ(in.jobs.counters().waiting, 1u);
    const std::string again = co_await outcome(idle, "GET", "/v1/tubes", shows(token_));
    EXPECT_EQ(again, "401 Bearer error=\"invalid_token\"");
    const std::string right = co_await outcome(idle, "POST", "/v1/jobs?tube=mail", shows(other));
    EXPECT_EQ(right, "201") << "a connection is nobody's between two requests";
    const received got = co_await stays.read();
    EXPECT_EQ(got.value()["jobs"].size(), 1u);
    co_await revoked.leave();
    co_await stays.leave();
    co_await idle.leave();
  });
}

/// A request of a token with an Idempotency-Key, with a body of JSON if there is one.
task<received> ask_once(http_client& by, std::string target, extras more) {
  more.fields += "Idempotency-Key: k\r\n";
  const received got = co_await by.ask("POST", std::move(target), std::move(more));
  co_return got;
}

TEST_F(RequestAccess, AnIdempotencyKeyBelongsToItsToken) {
  const std::string other = access_token::make();
  write(entry_of(token_) + entry_of(other));
  with_tokens([&](http_server& in, watched_tokens&) -> task<> {
    http_client client(in);
    const std::string batch = R"({"jobs":[{"tube":"mail"}]})";
    std::set<std::string> answers;
    for (const std::string& token : {token_, other}) {
      const received put = co_await ask_once(client, "/v1/jobs?tube=mail", shows(token, "hello"));
      EXPECT_EQ(put.status, 201) << put.body;
      EXPECT_FALSE(is_replayed(put));
      EXPECT_TRUE(answers.insert(put.body).second) << put.body;
      const received many = co_await ask_once(client, "/v1/batch", shows_with_json(token, batch));
      EXPECT_FALSE(is_replayed(many));
      EXPECT_TRUE(answers.insert(many.body).second) << many.body;
      const received jobs = co_await ask_once(client, "/v1/reserve?tube=mail&timeout=0s", shows(token));
      EXPECT_FALSE(is_replayed(jobs));
      EXPECT_EQ(jobs.value()["jobs"].size(), 1u) << jobs.body;
      EXPECT_TRUE(answers.insert(jobs.body).second) << jobs.body;
      const received again = co_await ask_once(client, "/v1/jobs?tube=mail", shows(token, "hello"));
      EXPECT_TRUE(is_replayed(again));
      EXPECT_EQ(again.body, put.body);
    }
    co_await client.leave();
  });
}

/// Neither the record of the same request nor that of another one can be told from none.
TEST_F(RequestAccess, ARecordOutOfScopeIsAsIfItWereNotThere) {
  with_tokens([&](http_server& in, watched_tokens& tokens) -> task<> {
    http_client client(in);
    const auto narrow_to = [&](scope_set scopes, words prefixes) {
      std::vector<access_entry> entries;
      entries.push_back(entry(token_, scopes, std::move(prefixes)));
      tokens.who().replace(std::move(entries));
    };
    const std::string all = R"({"atomic":true,"jobs":[{"tube":"mail"}]})";
    const std::string each = R"({"jobs":[{"tube":"bill"},{"tube":"mail"}]})";
    const received put = co_await ask_once(client, "/v1/jobs?tube=mail", shows(token_, "hello"));
    const received batch = co_await ask_once(client, "/v1/batch", shows_with_json(token_, all));
    const received jobs = co_await ask_once(client, "/v1/reserve?tube=mail&timeout=0s", shows(token_));
    for (const received& done : {put, batch, jobs}) EXPECT_LT(done.status, 300) << done.body;

    narrow_to(scope_set::all(), {"bill"});
    for (const std::string body : {"hello", "hallo"}) {
      const received no_put = co_await ask_once(client, "/v1/jobs?tube=mail", shows(token_, body));
      EXPECT_EQ(no_put.wrong(), "403 no_tube") << body;
    }
    const received no_batch = co_await ask_once(client, "/v1/batch", shows_with_json(token_, all));
    EXPECT_EQ(no_batch.wrong(), "403 pointer #/jobs/0");
    const received no_entry = co_await ask_once(client, "/v1/batch", shows_with_json(token_, each));
    EXPECT_EQ(no_entry.wrong(), "422 header idempotency-key") << "a batch with an entry in scope has its own record";
    const received no_jobs = co_await ask_once(client, "/v1/reserve?tube=mail&timeout=0s", shows(token_));
    EXPECT_EQ(no_jobs.wrong(), "403 no_tube");
    narrow_to(scopes_of({scope::look}), {""});
    const received no_scope = co_await ask_once(client, "/v1/jobs?tube=mail", shows(token_, "hello"));
    EXPECT_EQ(no_scope.wrong(), "403 no_scope");
    const received no_reserve = co_await ask_once(client, "/v1/reserve?tube=mail&timeout=0s", shows(token_));
    EXPECT_EQ(no_reserve.wrong(), "403 no_scope");

    narrow_to(scope_set::all(), {""});
    const received again = co_await ask_once(client, "/v1/jobs?tube=mail", shows(token_, "hello"));
    EXPECT_TRUE(is_replayed(again)) << again.body;
    EXPECT_EQ(again.body, put.body);
    co_await client.leave();
  });
}

TEST_F(RequestAccess, ARevokedTokenEndsABodyThatComes) {
  with_tokens([&](http_server& in, watched_tokens& tokens) -> task<> {
    http_client client(in);
    co_await client.write(
        fmt::format("POST /v1/jobs?tube=mail HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
                    "{}\r\nContent-Length: 9000\r\n\r\n",
                    token_));
    co_await runtime::sleep(1s);
    const instant begin = runtime::now();
    EXPECT_EQ(tokens.who().replace({}), 1u);
    const received ended = co_await client.read();
    EXPECT_EQ(ended.status, 0) << "the connection ends";
    EXPECT_LE(runtime::now() - begin, duration(1s));
    co_await client.leave();
  });
}

/// What a browser asks before a request from another site is answered without a word about other sites.
TEST(RequestAccessWithoutTokens, OptionsNameTheMethods) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const received job = co_await client.ask(
        "OPTIONS", "/v1/jobs/1", extras("Origin: http://evil.example\r\nAccess-Control-Request-Method: DELETE\r\n"));
    EXPECT_EQ(job.status, 204);
    EXPECT_TRUE(job.head.contains("Allow: GET, HEAD, DELETE, OPTIONS\r\n")) << job.head;
    EXPECT_FALSE(job.head.contains("Access-Control")) << job.head;
    const received server = co_await client.ask("OPTIONS", "*");
    EXPECT_EQ(server.status, 204);
    EXPECT_TRUE(server.head.contains("Allow: GET, HEAD, POST, PUT, DELETE, OPTIONS\r\n")) << server.head;
    const received nothing = co_await client.ask("OPTIONS", "/v1/nothing");
    EXPECT_EQ(nothing.status, 404);
    const received other = co_await client.ask("GET", "*");
    EXPECT_EQ(other.status, 404);
    const received head = co_await client.ask("PATCH", "/v1/jobs/1");
    EXPECT_EQ(head.status, 405);
    EXPECT_TRUE(head.head.contains("Allow: GET, HEAD, DELETE\r\n")) << head.head;
    co_await client.leave();
  });
}

/// What a named proxy passes on may come from anywhere, whether the proxy says so or not.
TEST(RequestAccessWithoutTokens, IsNotForANamedProxy) {
  with_server([](http_server& in) -> task<> {
    in.speaks_to.believe(named_proxies({*network::parse("127.0.0.1")}));
    http_client proxy(in);
    http_client local(in, "127.0.0.2:4000");
    const received refused = co_await proxy.ask("GET", "/v1/tubes");
    EXPECT_EQ(refused.status, 401);
    const received probe = co_await proxy.ask("GET", "/health");
    EXPECT_EQ(probe.status, 200);
    const received other = co_await local.ask("GET", "/v1/tubes");
    EXPECT_EQ(other.status, 200);
    co_await proxy.leave();
    co_await local.leave();
  });
}

/// Without a file of tokens: everything of this machine as ever, and nothing that comes from elsewhere.
TEST(RequestAccessWithoutTokens, IsForThisMachine) {
  with_server(
      [](http_server& in) -> task<> {
        http_client local(in);
        http_client remote(in, "192.0.2.7:4000");
        const auto status = [](http_client& by, std::string host, std::string fields) -> task<int> {
          extras more(std::move(fields));
          more.host = std::move(host);
          const received got = co_await by.ask("GET", "/v1/tubes", std::move(more));
          co_return got.status;
        };
        for (const std::string host : {"localhost", "localhost:11380", "127.0.0.1:11380", "127.1.2.3", "[::1]:11380",
                                       "a.localhost", "[0:0::1]", "[::ffff:127.0.0.1]:80"}) {
          const int come = co_await status(local, host, "");
          EXPECT_EQ(come, 200) << host;
        }
        for (const std::string fields :
             {"Forwarded: for=192.0.2.1\r\n", "X-Forwarded-For: 127.0.0.1\r\n", "x-forwarded-proto: https\r\n",
              "X-Forwarded-Anything:\r\n", "Via: 1.1 a\r\n", "X-Real-IP: 127.0.0.1\r\n", "X-Forwarded: a\r\n",
              "CF-Connecting-IP: 192.0.2.1\r\n", "True-Client-IP: 192.0.2.1\r\n", "X-Client-IP: 192.0.2.1\r\n",
              "X-Original-Forwarded-For: 192.0.2.1\r\n", "X-Envoy-Internal: true\r\n", "CDN-Loop: a\r\n",
              "Client-IP: 192.0.2.1\r\n", "X-Cluster-Client-IP: 192.0.2.1\r\n", "Fly-Client-IP: 192.0.2.1\r\n",
              "X-Forwarded-For: 1.2.3.4\r\nAuthorization: Bearer x\r\n"}) {
          const int come = co_await status(local, "localhost", fields);
          EXPECT_EQ(come, 401) << fields;
        }
        const int other_fields = co_await status(local, "localhost", "X-Client: a\r\nVia-A: b\r\nX-Request-Id: 1\r\n");
        EXPECT_EQ(other_fields, 200) << "programs have fields of their own";
        const int named = co_await status(local, "timers.example", "");
        EXPECT_EQ(named, 401);
        const int unknown = co_await status(local, "evil.example", "");
        EXPECT_EQ(unknown, 421);
        const int through_proxy = co_await status(local, "192.0.2.9", "");
        EXPECT_EQ(through_proxy, 401) << "programs of this machine connect to loopback";
        const int insecure = co_await status(remote, "192.0.2.9", "");
        EXPECT_EQ(insecure, 200) << "a listener that others can reach, by --insecure";
        const int ignored = co_await status(local, "localhost", "Authorization: Bearer x\r\n");
        EXPECT_EQ(ignored, 200) << "as ever";
        co_await local.leave();
        co_await remote.leave();
      },
      nullptr, nullptr, {"timers.example"});
}

}  // namespace
}  // namespace foliot::program::http
