// Requests with an Idempotency-Key: what a key is, what tells two of them and two requests apart, what a repeat gets,
// and what happens to a request beside its unfinished twin. On virtual time.
#include "server/http/idempotency.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <foliot/jobs/operations.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>

#include "server/http/api_client.hpp"
#include "server/http/inputs.hpp"
#include "server/http/job_headers.hpp"

namespace foliot::program::http {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

extras keyed(std::string_view key, std::string body = {}, std::string_view more = {}) {
  return extras(fmt::format("Idempotency-Key: {}\r\n{}", key, more), std::move(body));
}
extras keyed_json(std::string_view key, std::string body) {
  return keyed(key, std::move(body), "Content-Type: application/json\r\n");
}

/// A head without the fields that differ from answer to answer.
std::string lasting_head(const received& got) {
  std::string kept;
  for (std::size_t at = 0; at < got.head.size();) {
    const std::size_t end = got.head.find("\r\n", at) + 2;
    const std::string line = got.head.substr(at, end - at);
    if (!line.starts_with("Date:") && !line.starts_with("Idempotency-Replayed:")) kept += line;
    at = end;
  }
  return kept;
}

/// The answer of the first time, marked.
void expect_replay(const received& again, const received& first) {
  EXPECT_FALSE(is_replayed(first)) << first.head;
  EXPECT_TRUE(is_replayed(again)) << again.head << again.body;
  EXPECT_EQ(lasting_head(again), lasting_head(first));
  EXPECT_EQ(again.body, first.body);
}

/// Sends a request again, which must get the answer of the first time.
task<> expect_repeat(http_client& by, const received& first, std::string method, std::string target, extras more) {
  const received again = co_await by.ask(std::move(method), std::move(target), std::move(more));
  expect_replay(again, first);
}

task<int> count_of_jobs(http_client& by) {
  const received all = co_await by.ask("GET", "/v1/statistics");
  const json jobs = all.value()["jobs"];
  co_return jobs["ready"].get<int>() + jobs["delayed"].get<int>();
}

// ---------------------------------------------------------------- keys

TEST(IdempotencyKey, IsVisibleTextBareOrQuoted) {
  const std::string longest(255, 'k');
  const std::vector<std::pair<std::string, std::string>> right = {
      {"k", "k"},
      {"\"k\"", "k"},
      {"a,b;c=d", "a,b;c=d"},
      {"8e03978e-40d5-43dd-bc93-6894a57f9324", "8e03978e-40d5-43dd-bc93-6894a57f9324"},
      {"k\"", "k\""},
      {R"("a\"b\\c")", R"(a"b\c)"},
      {R"(a\b)", R"(a\b)"},
      {"!", "!"},
      {"~", "~"},
      {longest, longest},
      {"\"" + longest + "\"", longest},
  };
  for (const auto& [value, text] : right) EXPECT_EQ(parse_idempotency_key(value), text) << value;
  for (const std::string wrong : {"", "\"", "\"\"", "\"k", "a b", "\"a b\"", "\"k\";p=1", "\"a\"b\"", R"("a\b")",
                                  R"("a\")", "k\x7f", "k\x1f", "\xc3\xa4", "\"a\", \"b\""}) {
    EXPECT_EQ(parse_idempotency_key(wrong), std::nullopt) << wrong;
  }
  EXPECT_EQ(parse_idempotency_key(longest + "k"), std::nullopt);
  EXPECT_EQ(parse_idempotency_key("\"" + longest + "k\""), std::nullopt);
}

TEST(DigestOfParts, TellsListsOfPartsApart) {
  std::set<jobs::sha256> all;
  const std::vector<std::vector<std::string>> lists = {{},         {""},       {"", ""},   {"ab"},
                                                       {"a", "b"}, {"", "ab"}, {"ab", ""}, {std::string(8, '\0')}};
  for (const auto& list : lists) {
    digest_of_parts parts;
    for (const std::string& each : list) parts.add(each);
    EXPECT_TRUE(all.insert(parts.get()).second) << list.size() << " parts";
  }
  EXPECT_EQ(digest_of_parts().add("ab").get(), digest_of_parts().add("ab").get());
}

/// A change of the encoding turns each repeat that crosses an upgrade into a new request, so it must not go unnoticed.
TEST(DigestOfParts, IsThatOfEarlierVersions) {
  const auto hexadecimal_of = [](const jobs::sha256& digest) {
    std::string text;
    for (const std::byte each : digest) text += fmt::format("{:02x}", static_cast<unsigned>(each));
    return text;
  };
  // printf '\0\0\0\0\0\0\0\2ab\0\0\0\0\0\0\0\7' | sha256sum
  EXPECT_EQ(hexadecimal_of(digest_of_parts().add("ab").add(std::uint64_t{7}).get()),
            "950f8b89901a5fbba2c3c126a9e27bd2ef8e8e24fb011ba978fe1894fb916175");
  request head;
  head.method = "POST";
  head.fields = {{"idempotency-key", "k"}};
  const auto key = idempotency_key::of(head, *rights::everything(), {"jobs", "mail"});
  ASSERT_TRUE(key);
  EXPECT_EQ(hexadecimal_of(key->digest()), "c130853ae1cd1c9af7b1bfdfdbe2b304161e399e8c7a4296ea3c11b899480809");
  jobs::put what{.tube = "mail", .key = "k", .body = "hello"};
  EXPECT_EQ(hexadecimal_of(request_digest(what)), "ea2f9975ca0609e2904ae9710d6b8fec6778cd0a68e230f3d004d4f637a3317a");
}

TEST(IdempotencyKey, BelongsToOwnerMethodAndResource) {
  const auto of = [](const std::string& owner, const std::string& method, std::string_view text,
                     std::initializer_list<std::string_view> resource) {
    request head;
    head.method = method;
    head.fields = {{"idempotency-key", std::string(text)}};
    const rights given(owner, "a name", scope_set::all(), {""}, instant::never());
    return idempotency_key::of(head, given, resource).value();
  };
  const std::vector<jobs::sha256> digests = {of("", "POST", "k", {"jobs", "mail"}).digest(),
                                             of("http", "POST", "k", {"jobs", "mail"}).digest(),
                                             of("a", "POST", "k", {"jobs", "mail"}).digest(),
                                             of("b", "POST", "k", {"jobs", "mail"}).digest(),
                                             of("a", "PUT", "k", {"jobs", "mail"}).digest(),
                                             of("a", "POST", "l", {"jobs", "mail"}).digest(),
                                             of("a", "POST", "k", {"jobs", "bill"}).digest(),
                                             of("a", "POST", "k", {"job", "mail"}).digest(),
                                             of("a", "POST", "k", {"job", "mail", "x"}).digest(),
                                             of("a", "POST", "mail", {"jobs", "k"}).digest(),
                                             of("a", "POST", "k", {"batch"}).digest(),
                                             of("a", "POST", "k", {"batch"}).at(0),
                                             of("a", "POST", "k", {"batch"}).at(1),
                                             of("a", "POST", "k", {"reserve"}).digest()};
  EXPECT_EQ((std::set<jobs::sha256>(digests.begin(), digests.end()).size()), digests.size());
  EXPECT_EQ(of("a", "POST", "\"k\"", {"jobs", "mail"}).digest(), of("a", "POST", "k", {"jobs", "mail"}).digest());
  EXPECT_FALSE(idempotency_key::of(request(), *rights::everything(), {"batch"}));
}

TEST(RequestDigest, HasAllValuesButTheTraceContext) {
  const jobs::put plain{.tube = "mail", .key = "k", .body = "hello"};
  std::vector<jobs::put> all;
  const auto vary = [&](const std::function<void(jobs::put&)>& by) { by(all.emplace_back(plain)); };
  vary([](jobs::put&) {});
  vary([](jobs::put& it) { it.tube = "bill"; });
  vary([](jobs::put& it) { it.key = "l"; });
  vary([](jobs::put& it) { it.body = "hello "; });
  vary([](jobs::put& it) { it.existing = jobs::on_existing::replace; });
  vary([](jobs::put& it) { it.existing = jobs::on_existing::refuse; });
  vary([](jobs::put& it) { it.expected = 1; });
  vary([](jobs::put& it) { it.due = jobs::milliseconds(1); });
  vary([](jobs::put& it) { it.due = jobs::utc_time(jobs::milliseconds(0)); });
  vary([](jobs::put& it) { it.due = jobs::utc_time(jobs::milliseconds(1)); });
  vary([](jobs::put& it) { it.priority = 1; });
  vary([](jobs::put& it) { it.ttr += jobs::milliseconds(1); });
  vary([](jobs::put& it) { ASSERT_TRUE(set_headers(it.fields, "text/plain", {})); });
  vary([](jobs::put& it) { ASSERT_TRUE(set_headers(it.fields, "", {{"a", "b"}})); });
  vary([](jobs::put& it) { ASSERT_TRUE(set_headers(it.fields, "", {{"b", "a"}})); });
  vary([](jobs::put& it) { ASSERT_TRUE(set_headers(it.fields, "", {{"a", "b"}, {"b", "a"}})); });
  std::set<jobs::sha256> digests;
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_TRUE(digests.insert(request_digest(all[i])).second) << i;

  jobs::put traced = plain;
  ASSERT_TRUE(set_headers(traced.fields, "", {{"traceparent", "00-1-2-01"}, {"tracestate", "a=b"}}));
  EXPECT_EQ(request_digest(traced), request_digest(plain));
}

TEST(RequestDigest, OfABatchHasItsValuesInTheirOrder) {
  const auto of = [](std::string_view text, bool is_atomic) {
    return request_digest_of_batch(parse_json(text)->root(), is_atomic);
  };
  const jobs::sha256 plain = of(R"([{"tube":"a","text":"x"},{"tube":"b"}])", false);
  EXPECT_EQ(of(R"([ {"text":"\u0078", "tube":"a"}, {"tube":"b"} ])", false), plain);
  EXPECT_NE(of(R"([{"tube":"a","text":"x"},{"tube":"b"}])", true), plain);
  EXPECT_NE(of(R"([{"tube":"b"},{"tube":"a","text":"x"}])", false), plain);
  EXPECT_NE(of(R"([{"tube":"a","text":"x"}])", false), plain);
}

// ---------------------------------------------------------------- puts

TEST(IdempotencyKey, APutIsAnsweredAsTheFirstTime) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const std::vector<std::pair<std::string, std::string>> routes = {
        {"POST", "/v1/jobs?tube=t"},
        {"POST", "/v1/tubes/u/jobs"},
        {"POST", "/v1/jobs?tube=v&key=kept"},
        {"PUT", "/v1/tubes/t/jobs/replaced"},
        {"PUT", "/v1/job?tube=t&key=also&delay=1h"},
    };
    int jobs = 0;
    for (const auto& [method, target] : routes) {
      const received first = co_await client.ask(method, target, keyed("k1", "hello"));
      EXPECT_EQ(first.status, 201) << method << " " << target << first.body;
      for (int i = 0; i < 2; ++i) {
        const received again = co_await client.ask(method, target, keyed("k1", "hello"));
        expect_replay(again, first);
      }
      const int count = co_await count_of_jobs(client);
      EXPECT_EQ(count, ++jobs) << method << " " << target;
    }
    co_await client.leave();
  });
}

TEST(IdempotencyKey, AnAnswerOfAnyKindIsReplayed) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const received put = co_await client.ask("PUT", "/v1/tubes/t/jobs/k", keyed("1", "hello"));
    const received replaced = co_await client.ask("PUT", "/v1/tubes/t/jobs/k", keyed("2", "hello"));
    EXPECT_EQ(replaced.value()["outcome"], "replaced");
    const received kept = co_await client.ask("POST", "/v1/jobs?tube=t&key=k", keyed("3", "hello"));
    EXPECT_EQ(kept.value()["outcome"], "kept");
    const received absent =
        co_await client.ask("PUT", "/v1/tubes/t/jobs/l", keyed("4", "hello", "If-None-Match: *\r\n"));
    EXPECT_EQ(absent.status, 201);

    // What has happened since makes no difference: it is the answer of that time.
    for (const char* const key : {"k", "l"}) {
      const received cancelled = co_await client.ask("DELETE", fmt::format("/v1/tubes/t/jobs/{}", key));
      EXPECT_EQ(cancelled.status, 200);
    }
    co_await expect_repeat(client, put, "PUT", "/v1/tubes/t/jobs/k", keyed("1", "hello"));
    co_await expect_repeat(client, replaced, "PUT", "/v1/tubes/t/jobs/k", keyed("2", "hello"));
    co_await expect_repeat(client, kept, "POST", "/v1/jobs?tube=t&key=k", keyed("3", "hello"));
    co_await expect_repeat(client, absent, "PUT", "/v1/tubes/t/jobs/l", keyed("4", "hello", "If-None-Match: *\r\n"));
    const int count = co_await count_of_jobs(client);
    EXPECT_EQ(count, 0);
    co_await client.leave();
  });
}

TEST(IdempotencyKey, IsTheSameHoweverTheRequestIsWritten) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const received first = co_await client.ask("POST", "/v1/tubes/t/jobs",
                                               keyed_json("k", R"({"body":{"a":1,"b":2},"delay":"90s","priority":3})"));
    EXPECT_EQ(first.status, 201) << first.body;
    const std::string trace = "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n";
    extras other = keyed_json("\"k\"", R"({ "tube":"t","priority":"3","delay":"1m30s","body":{"b":2,"a":1} })");
    other.fields += trace;
    co_await expect_repeat(client, first, "POST", "/v1/jobs", std::move(other));
    co_await expect_repeat(client, first, "POST", "/v1/jobs?tube=t&delay=90000ms",
                           keyed("k", R"({"a":1,"b":2})",
                                 "Content-Type: application/json\r\nFoliot-Body: raw\r\n"
                                 "Foliot-Priority: 3\r\n"));
    co_await client.leave();
  });
}

TEST(IdempotencyKey, RefusesAnotherRequest) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const received first = co_await client.ask("POST", "/v1/jobs?tube=t", keyed("k", "hello"));
    EXPECT_EQ(first.status, 201);
    for (const char* const other : {"&delay=1s", "&priority=1", "&ttr=1s", "&key=a", "&existing=refuse&key=a"}) {
      const received got = co_await client.ask("POST", fmt::format("/v1/jobs?tube=t{}", other), keyed("k", "hello"));
      EXPECT_EQ(got.wrong(), "422 header idempotency-key") << other << got.body;
      EXPECT_EQ(got.value()["outcome"], "other_request");
      EXPECT_FALSE(is_replayed(got));
    }
    const received body = co_await client.ask("POST", "/v1/jobs?tube=t", keyed("k", "hallo"));
    EXPECT_EQ(body.status, 422);
    const received type =
        co_await client.ask("POST", "/v1/jobs?tube=t", keyed("k", "hello", "Content-Type: text/plain\r\n"));
    EXPECT_EQ(type.status, 422);
    const int count = co_await count_of_jobs(client);
    EXPECT_EQ(count, 1);
    co_await expect_repeat(client, first, "POST", "/v1/jobs?tube=t", keyed("k", "hello"));
    co_await client.leave();
  });
}

TEST(IdempotencyKey, TellsConditionsApart) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const std::string target = "/v1/tubes/t/jobs/k";
    const auto if_match = [](std::string_view tags) {
      return keyed("i", "hello", fmt::format("If-Match: {}\r\n", tags));
    };
    const received there = co_await client.ask("PUT", target, extras("", "x"));
    EXPECT_EQ(there.status, 201);
    const received first = co_await client.ask("PUT", target, if_match("*"));
    EXPECT_EQ(first.value()["outcome"], "replaced") << first.body;
    for (const char* const tags : {"W/\"1\"", "\"x\"", "\"0\"", "\"9223372036854775808\"", "\"1\""}) {
      const received other = co_await client.ask("PUT", target, if_match(tags));
      EXPECT_EQ(other.wrong(), "422 header idempotency-key") << tags << other.body;
    }
    const received without = co_await client.ask("PUT", target, keyed("i", "hello"));
    EXPECT_EQ(without.wrong(), "422 header idempotency-key");
    co_await expect_repeat(client, first, "PUT", target, if_match("*"));
    co_await client.leave();
  });
}

TEST(IdempotencyKey, ARefusalIsNotRemembered) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const received taken = co_await client.ask("POST", "/v1/jobs?tube=t&key=k", extras("", "x"));
    EXPECT_EQ(taken.status, 201);
    const std::string target = "/v1/jobs?tube=t&key=k&existing=refuse";
    const received exists = co_await client.ask("POST", target, keyed("i", "hello"));
    EXPECT_EQ(exists.value()["outcome"], "exists");
    const received malformed = co_await client.ask("POST", target + "&delay=soon", keyed("i", "hello"));
    EXPECT_EQ(malformed.status, 400);
    const received cancelled = co_await client.ask("DELETE", "/v1/job?tube=t&key=k");
    EXPECT_EQ(cancelled.status, 200);
    const received first = co_await client.ask("POST", target, keyed("i", "hello"));
    EXPECT_EQ(first.status, 201) << first.body;
    co_await expect_repeat(client, first, "POST", target, keyed("i", "hello"));
    co_await client.leave();
  });
}

TEST(IdempotencyKey, IsRememberedForADay) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const received first = co_await client.ask("POST", "/v1/jobs?tube=t", keyed("k", "hello"));
    co_await client.leave();
    co_await runtime::sleep(24h - 1s);
    http_client later(in);
    co_await expect_repeat(later, first, "POST", "/v1/jobs?tube=t", keyed("k", "hello"));
    co_await later.leave();
    co_await runtime::sleep(1s);
    http_client last(in);
    const received fresh = co_await last.ask("POST", "/v1/jobs?tube=t", keyed("k", "hello"));
    EXPECT_EQ(fresh.status, 201);
    EXPECT_FALSE(is_replayed(fresh));
    EXPECT_NE(fresh.body, first.body);
    co_await last.leave();
  });
}

TEST(IdempotencyKey, IsRefusedWhereItMeansNothing) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    for (const api::named_route& each : api::all_routes()) {
      if (each.takes_idempotency_key) continue;
      std::string target(each.pattern);
      for (std::size_t at = 0; (at = target.find('{')) != std::string::npos;) {
        target.replace(at, target.find('}') - at + 1, "1");
      }
      const received got = co_await client.ask(std::string(each.method), target, keyed("k"));
      EXPECT_EQ(got.wrong(), "400 header idempotency-key") << each.method << " " << target;
    }
    for (const char* const value : {"", "a b", "\"a", "\"\""}) {
      const received got = co_await client.ask("POST", "/v1/jobs?tube=t", keyed(value, "x"));
      EXPECT_EQ(got.wrong(), "400 header idempotency-key") << value;
      const received batch = co_await client.ask("POST", "/v1/batch", keyed_json(value, R"({"jobs":[{"tube":"t"}]})"));
      EXPECT_EQ(batch.wrong(), "400 header idempotency-key") << value;
    }
    const int count = co_await count_of_jobs(client);
    EXPECT_EQ(count, 0);
    const received twice = co_await client.ask("POST", "/v1/jobs?tube=t", keyed("a", "x", "Idempotency-Key: a\r\n"));
    EXPECT_EQ(twice.wrong(), "400 header idempotency-key");
    co_await client.leave();
  });
}

/// The answer of the store is lost: whether the job was put is not known, and the repeat finds out.
TEST(IdempotencyKey, ARepeatIsSafeWhereTheOutcomeIsUnknown) {
  with_server(
      [](http_server& in) -> task<> {
        http_client client(in);
        in.store.lose_answers();
        const received unknown = co_await client.ask("POST", "/v1/jobs?tube=t", keyed("k", "hello"));
        in.store.accept();
        EXPECT_EQ(unknown.wrong(), "500 unknown");
        EXPECT_TRUE(unknown.body.contains("send it again with the same Idempotency-Key")) << unknown.body;
        const received again = co_await client.ask("POST", "/v1/jobs?tube=t", keyed("k", "hello"));
        EXPECT_EQ(again.status, 201) << again.body;
        EXPECT_TRUE(is_replayed(again));
        in.store.refuse();
        const received refused = co_await client.ask("POST", "/v1/jobs?tube=t", keyed("l", "hello"));
        in.store.accept();
        EXPECT_EQ(refused.status, 503);
        EXPECT_FALSE(refused.body.contains("Idempotency-Key")) << refused.body;
        in.store.lose_answers();
        const received keyless = co_await client.ask("POST", "/v1/jobs?tube=t", extras("", "hello"));
        in.store.accept();
        EXPECT_FALSE(keyless.body.contains("Idempotency-Key")) << keyless.body;
        const int count = co_await count_of_jobs(client);
        EXPECT_EQ(count, 2);
        co_await client.leave();
      },
      nullptr, nullptr, {}, foliot::test::shared::yes);
}

/// What enter() throws.
problem refusal_of(keyed_places& under_way, const idempotency_key& key) {
  try {
    static_cast<void>(enter(under_way, key));
  } catch (const wrong_input& refused) {
    return refused.why();
  }
  return {200, ""};
}

/// Over HTTP it is seen where requests take long: below, with reserves, and in
/// tests/programs/serve/idempotency_test.py.
TEST(IdempotencyKey, ATwinOfAnUnfinishedRequestIsSentAway) {
  const auto of = [](std::string text, std::string_view tube) {
    request head;
    head.method = "POST";
    head.fields = {{"idempotency-key", std::move(text)}};
    return idempotency_key::of(head, *rights::everything(), {"jobs", tube}).value();
  };
  keyed_places under_way{1};
  {
    const keyed_places::place first = enter(under_way, of("k", "t"));
    const problem busy = refusal_of(under_way, of("\"k\"", "t"));
    EXPECT_EQ(busy.status, 409);
    EXPECT_EQ(busy.outcome, problem_outcome::under_way);
    const response told = respond(busy);
    EXPECT_EQ(told.fields, (std::vector<field>{{"Retry-After", "1"}}));
    EXPECT_EQ(refusal_of(under_way, of("l", "t")).status, 200);
    EXPECT_EQ(refusal_of(under_way, of("k", "u")).status, 200);
  }
  EXPECT_EQ(refusal_of(under_way, of("k", "t")).status, 200) << "the first one has ended";
}

// ---------------------------------------------------------------- batches

TEST(IdempotencyKey, ABatchIsAnsweredAsTheFirstTime) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    for (const std::string query : {"", "?atomic=true"}) {
      const std::string target = "/v1/batch" + query;
      const std::string body = fmt::format(
          R"({{"jobs":[{{"tube":"a","text":"x"}},{{"put":{{"tube":"b","key":"{}","existing":"replace"}}}}]}})",
          query.size());
      const std::string key = "key" + std::to_string(query.size());
      const received first = co_await client.ask("POST", target, keyed_json(key, body));
      EXPECT_EQ(first.status, 200) << first.body;
      EXPECT_FALSE(is_replayed(first));
      const received again = co_await client.ask("POST", target, keyed_json(key, body));
      EXPECT_EQ(again.status, 200) << again.body;
      EXPECT_TRUE(is_replayed(again));
      json expected = first.value();
      for (json& each : expected["results"]) each["replayed"] = true;
      EXPECT_EQ(again.value(), expected);
      EXPECT_EQ(again.value()["results"].size(), 2u);
    }
    const int count = co_await count_of_jobs(client);
    EXPECT_EQ(count, 4);
    co_await client.leave();
  });
}

TEST(IdempotencyKey, ARepeatedBatchExecutesOnlyWhatIsMissing) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const received taken = co_await client.ask("POST", "/v1/jobs?tube=t&key=k");
    EXPECT_EQ(taken.status, 201);
    const std::string body =
        R"({"jobs":[{"tube":"t","key":"k","existing":"refuse"},{"tube":"t","text":"x"},{"tube":"t","delay":"soon"}]})";
    const auto ask = [&]() -> task<received> { return client.ask("POST", "/v1/batch", keyed_json("i", body)); };
    const auto told = [](const received& got) {
      std::string text = std::to_string(got.status);
      const json value = got.value();
      for (const json& each : value["results"]) {
        text += fmt::format(" {}{}", each.value("status", 0), each.contains("replayed") ? "r" : "");
      }
      return text;
    };
    const received first = co_await ask();
    EXPECT_EQ(told(first), "207 409 201 400");
    EXPECT_FALSE(is_replayed(first));
    const received second = co_await ask();
    EXPECT_EQ(told(second), "207 409 201r 400");
    EXPECT_TRUE(is_replayed(second)) << "nothing was done that was not done before";
    const received cancelled = co_await client.ask("DELETE", "/v1/job?tube=t&key=k");
    EXPECT_EQ(cancelled.status, 200);
    const received third = co_await ask();
    EXPECT_EQ(told(third), "207 201 201r 400");
    EXPECT_FALSE(is_replayed(third));
    EXPECT_EQ(third.value()["results"][1]["id"], first.value()["results"][1]["id"]);
    const received fourth = co_await ask();
    EXPECT_EQ(told(fourth), "207 201r 201r 400");
    EXPECT_TRUE(is_replayed(fourth));
    const int count = co_await count_of_jobs(client);
    EXPECT_EQ(count, 2);
    co_await client.leave();
  });
}

/// Nothing of it is done, also where it has more entries than the first one.
TEST(IdempotencyKey, AnotherBatchIsRefusedAsAWhole) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const std::string body = R"({"jobs":[{"tube":"t","text":"x"},{"tube":"t","text":"y"}]})";
    const received each = co_await client.ask("POST", "/v1/batch", keyed_json("each", body));
    EXPECT_EQ(each.status, 200);
    const received all = co_await client.ask("POST", "/v1/batch?atomic=true", keyed_json("all", body));
    EXPECT_EQ(all.status, 200);
    for (const char* const key : {"each", "all"}) {
      for (const char* const query : {"", "?atomic=true"}) {
        const received longer = co_await client.ask(
            "POST", fmt::format("/v1/batch{}", query),
            keyed_json(key, R"({"jobs":[{"tube":"t","text":"x"},{"tube":"t","text":"y"},{"tube":"t"}]})"));
        EXPECT_EQ(longer.wrong(), "422 header idempotency-key") << key << query;
        EXPECT_EQ(longer.value()["outcome"], "other_request");
      }
    }
    const received other_way = co_await client.ask("POST", "/v1/batch?atomic=true", keyed_json("each", body));
    EXPECT_EQ(other_way.status, 422);
    const received back = co_await client.ask("POST", "/v1/batch", keyed_json("all", body));
    EXPECT_EQ(back.status, 422);
    const int count = co_await count_of_jobs(client);
    EXPECT_EQ(count, 4);
    co_await client.leave();
  });
}

TEST(IdempotencyKey, ABatchWithOneHasOnlyPuts) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    for (const char* const entry :
         {R"({"cancel":{"id":"9"}})", R"({"kick":{"tube":"t"}})", R"({"finish":{"reservation":"1-1-1"}})"}) {
      const received got = co_await client.ask(
          "POST", "/v1/batch", keyed_json("k", fmt::format(R"({{"jobs":[{{"tube":"t"}},{}]}})", entry)));
      EXPECT_EQ(got.status, 400) << entry;
      EXPECT_TRUE(got.wrong().starts_with("400 pointer #/jobs/1/")) << got.wrong();
    }
    const int count = co_await count_of_jobs(client);
    EXPECT_EQ(count, 0);
    co_await client.leave();
  });
}

TEST(IdempotencyKey, ABatchTellsThatARepeatIsSafe) {
  with_server(
      [](http_server& in) -> task<> {
        http_client client(in);
        const std::string body = R"({"jobs":[{"tube":"t"}]})";
        in.store.lose_answers();
        const received each = co_await client.ask("POST", "/v1/batch", keyed_json("k", body));
        const received all = co_await client.ask("POST", "/v1/batch?atomic=true", keyed_json("l", body));
        in.store.accept();
        EXPECT_EQ(each.status, 207);
        EXPECT_EQ(all.status, 500);
        for (const received& got : {each, all}) {
          EXPECT_TRUE(got.body.contains("send it again with the same Idempotency-Key")) << got.body;
        }
        const received again = co_await client.ask("POST", "/v1/batch", keyed_json("k", body));
        EXPECT_TRUE(is_replayed(again)) << again.body;
        const received all_again = co_await client.ask("POST", "/v1/batch?atomic=true", keyed_json("l", body));
        EXPECT_TRUE(is_replayed(all_again)) << all_again.body;
        const int count = co_await count_of_jobs(client);
        EXPECT_EQ(count, 2);
        co_await client.leave();
      },
      nullptr, nullptr, {}, foliot::test::shared::yes);
}

// ---------------------------------------------------------------- reserves

task<> put_jobs(http_client& by, int count) {
  for (int i = 0; i < count; ++i) {
    const received put = co_await by.ask("POST", "/v1/jobs?tube=t&ttr=1m");
    EXPECT_EQ(put.status, 201) << put.body;
  }
}

/// The reservation tokens of an answer.
std::vector<std::string> tokens_in(const received& got) {
  EXPECT_EQ(got.status, 200) << got.body;
  std::vector<std::string> all;
  const json value = got.value();
  for (const json& each : value["jobs"]) all.push_back(each.value("reservation", ""));
  return all;
}

TEST(IdempotencyKey, AReserveGetsTheSameReservationsThatHaveNotEnded) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    co_await put_jobs(client, 5);
    const std::string target = "/v1/reserve?tube=t&count=3";
    const received first = co_await client.ask("POST", target, keyed("k"));
    EXPECT_FALSE(is_replayed(first));
    const std::vector<std::string> tokens = tokens_in(first);
    EXPECT_EQ(tokens.size(), 3u);
    http_client other(in);
    const received again = co_await other.ask("POST", target, keyed("k"));
    EXPECT_TRUE(is_replayed(again));
    EXPECT_EQ(tokens_in(again), tokens);
    const received finished = co_await other.ask("POST", fmt::format("/v1/reservations/{}/finish", tokens.at(1)));
    EXPECT_EQ(finished.status, 200);
    const received rest = co_await client.ask("POST", target, keyed("k"));
    EXPECT_EQ(tokens_in(rest), (std::vector<std::string>{tokens.at(0), tokens.at(2)}));
    const received shorter = co_await client.ask("POST", target + "&timeout=1s", keyed("k"));
    EXPECT_TRUE(is_replayed(shorter)) << "how long it waits is no part of it";
    for (const char* const asked : {"/v1/reserve?tube=t&count=2", "/v1/reserve?tube=u&count=3"}) {
      const received another = co_await client.ask("POST", asked, keyed("k"));
      EXPECT_EQ(another.wrong(), "422 header idempotency-key") << asked;
    }
    const received fresh = co_await client.ask("POST", target, keyed("l"));
    EXPECT_EQ(tokens_in(fresh).size(), 2u) << "the others are another request's";

    co_await runtime::sleep(61s);  // their TTR is over
    const received ended = co_await client.ask("POST", target, keyed("k"));
    EXPECT_EQ(ended.wrong(), "409 header idempotency-key");
    EXPECT_EQ(ended.value()["outcome"], "reservations_ended");
    const received anew = co_await client.ask("POST", target, keyed("m"));
    EXPECT_EQ(tokens_in(anew).size(), 3u);
    co_await client.leave();
    co_await other.leave();
  });
}

TEST(IdempotencyKey, AReserveIsRememberedForAnHour) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    for (int i = 0; i < 2; ++i) {
      const received put = co_await client.ask("POST", "/v1/jobs?tube=t&ttr=5h");
      EXPECT_EQ(put.status, 201);
    }
    const received first = co_await client.ask("POST", "/v1/reserve?tube=t", keyed("k"));
    const std::vector<std::string> tokens = tokens_in(first);
    co_await client.leave();
    co_await runtime::sleep(1h - 1s);
    http_client later(in);
    const received again = co_await later.ask("POST", "/v1/reserve?tube=t", keyed("k"));
    EXPECT_EQ(tokens_in(again), tokens);
    co_await later.leave();
    co_await runtime::sleep(1s);
    http_client last(in);
    const received other = co_await last.ask("POST", "/v1/reserve?tube=t", keyed("k"));
    EXPECT_FALSE(is_replayed(other));
    EXPECT_NE(tokens_in(other), tokens);
    co_await last.leave();
  });
}

TEST(IdempotencyKey, AReserveThatWaitsGetsAllThatIsThereThen) {
  with_server([](http_server& in) -> task<> {
    http_client worker(in);
    http_client client(in);
    const std::string target = "/v1/reserve?tube=t&count=3";
    const instant begin = runtime::now();
    const received none = co_await worker.ask("POST", target + "&timeout=5s", keyed("k"));
    EXPECT_EQ(runtime::now() - begin, duration(5s));
    EXPECT_TRUE(tokens_in(none).empty());
    EXPECT_FALSE(is_replayed(none)) << "what got no job is not remembered";
    co_await worker.send("POST", target, keyed("k"));
    co_await runtime::sleep(1s);
    const received twin = co_await client.ask("POST", target, keyed("k"));
    EXPECT_EQ(twin.wrong(), "409 header idempotency-key");
    const received put = co_await client.ask_json("POST", "/v1/batch", R"({"jobs":[{"tube":"t"},{"tube":"t"}]})");
    EXPECT_EQ(put.status, 200);
    const received first = co_await worker.read();
    EXPECT_EQ(tokens_in(first).size(), 2u);
    const received again = co_await client.ask("POST", target, keyed("k"));
    EXPECT_EQ(tokens_in(again), tokens_in(first));
    co_await worker.leave();
    co_await client.leave();
  });
}

TEST(IdempotencyKey, AClientThatHasGoneWhileItWaitedReservesAgain) {
  with_server([](http_server& in) -> task<> {
    http_client gone(in);
    const std::string target = "/v1/reserve?tube=t";
    co_await gone.send("POST", target, keyed("k"));
    co_await runtime::sleep(1s);
    EXPECT_EQ(in.jobs.counters().waiting, 1u);
    co_await gone.leave();
    http_client client(in);
    co_await put_jobs(client, 1);
    const received first = co_await client.ask("POST", target, keyed("k"));
    EXPECT_EQ(tokens_in(first).size(), 1u) << "its key is free, and nothing was remembered";
    EXPECT_FALSE(is_replayed(first));
    co_await client.leave();
  });
}

/// Asks for jobs, and goes away before it has read the answer, which does not fit into the buffers between.
task<> reserve_and_leave(http_server& in, std::string target, extras more) {
  http_client gone(in);
  co_await gone.send("POST", std::move(target), std::move(more));
  co_await runtime::sleep(1s);
  co_await gone.leave();
  co_await runtime::sleep(1ms);  // on virtual time: the broker has executed its next batch
}

TEST(IdempotencyKey, ReservationsThatWereGivenBackHaveEnded) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const received put = co_await client.ask("POST", "/v1/jobs?tube=t", extras("", std::string(9000, 'x')));
    EXPECT_EQ(put.status, 201);
    co_await reserve_and_leave(in, "/v1/reserve?tube=t", keyed("k"));
    const received ended = co_await client.ask("POST", "/v1/reserve?tube=t", keyed("k"));
    EXPECT_EQ(ended.value().value("outcome", ""), "reservations_ended") << ended.body;
    const received anew = co_await client.ask("POST", "/v1/reserve?tube=t", keyed("l"));
    EXPECT_EQ(tokens_in(anew).size(), 1u);
    const json job = anew.value()["jobs"][0];
    EXPECT_EQ(job["timeouts"], 0);
    EXPECT_EQ(job["releases"], 0);
    co_await client.leave();
  });
}

/// Before that nobody knows whether its client takes the jobs.
TEST(IdempotencyKey, AReserveIsUnderWayUntilItsAnswerHasLeft) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const std::string target = "/v1/reserve?tube=t";
    const received put = co_await client.ask("POST", "/v1/jobs?tube=t", extras("", std::string(9000, 'x')));
    EXPECT_EQ(put.status, 201);
    http_client slow(in);
    co_await slow.send("POST", target, keyed("k"));
    co_await runtime::sleep(1s);  // the answer does not fit into the buffers between
    const received busy = co_await client.ask("POST", target, keyed("k"));
    EXPECT_EQ(busy.wrong(), "409 header idempotency-key");
    EXPECT_EQ(busy.value().value("outcome", ""), "under_way");
    const received first = co_await slow.read();
    const std::vector<std::string> tokens = tokens_in(first);
    const received again = co_await client.ask("POST", target, keyed("k"));
    EXPECT_TRUE(is_replayed(again));
    EXPECT_EQ(tokens_in(again), tokens);
    const received none = co_await client.ask("POST", target + "&timeout=0", keyed("l"));
    EXPECT_TRUE(tokens_in(none).empty());
    const received none_again = co_await slow.ask("POST", target + "&timeout=0", keyed("l"));
    EXPECT_EQ(none_again.status, 200) << "an answer without jobs leaves no request under way";
    co_await slow.leave();
    co_await client.leave();
  });
}

/// Its client has read the answer before the server notes that it has left.
TEST(IdempotencyKey, ARepeatWaitsForTheMomentInWhichTheAnswerLeaves) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const std::string target = "/v1/reserve?tube=t";
    const received put = co_await client.ask("POST", "/v1/jobs?tube=t", extras("", std::string(9000, 'x')));
    EXPECT_EQ(put.status, 201);
    http_client slow(in);
    co_await slow.send("POST", target, keyed("k"));
    co_await runtime::sleep(1s);  // the answer does not fit into the buffers between
    co_await client.send("POST", target, keyed("k"));
    co_await runtime::sleep(10ms);
    const received first = co_await slow.read();
    const received again = co_await client.read();
    EXPECT_EQ(again.status, 200) << again.body;
    EXPECT_TRUE(is_replayed(again));
    EXPECT_EQ(tokens_in(again), tokens_in(first));
    co_await slow.leave();
    co_await client.leave();
  });
}

/// The first one may have had its answer, and work on the job.
TEST(IdempotencyKey, ARepeatThatIsNotReadGivesNothingBack) {
  with_server([](http_server& in) -> task<> {
    http_client worker(in);
    const received put = co_await worker.ask("POST", "/v1/jobs?tube=t", extras("", std::string(9000, 'x')));
    EXPECT_EQ(put.status, 201);
    const received first = co_await worker.ask("POST", "/v1/reserve?tube=t", keyed("k"));
    const std::vector<std::string> tokens = tokens_in(first);
    co_await reserve_and_leave(in, "/v1/reserve?tube=t", keyed("k"));
    const received finished = co_await worker.ask("POST", fmt::format("/v1/reservations/{}/finish", tokens.at(0)));
    EXPECT_EQ(finished.status, 200) << finished.body;
    co_await worker.leave();
  });
}

}  // namespace
}  // namespace foliot::program::http
