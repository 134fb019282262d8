// The requests about single jobs: put in all forms, show, cancel, reschedule, fire now; and what wrong input gets.
#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "server/http/api_client.hpp"

namespace foliot::program::http {
namespace {

using namespace std::chrono_literals;

TEST(JobRequests, PutShowAndCancel) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const received put = co_await client.ask_json("POST", "/v1/tubes/mail/jobs", R"({"text":"hello","delay":"5s"})");
    EXPECT_EQ(put.status, 201) << put.body;
    EXPECT_EQ(put.body, "{\"id\":\"1\",\"outcome\":\"inserted\"}\n");
    EXPECT_TRUE(put.head.contains("Location: /v1/jobs/1\r\n")) << put.head;
    const received seen = co_await client.ask("GET", "/v1/jobs/1");
    EXPECT_EQ(seen.status, 200);
    const auto job = seen.value();
    EXPECT_EQ(job["id"], "1");
    EXPECT_EQ(job["tube"], "mail");
    EXPECT_EQ(job["state"], "delayed");
    EXPECT_EQ(job["text"], "hello");
    EXPECT_EQ(job["content_type"], "text/plain; charset=utf-8");
    EXPECT_EQ(job["ttr"], "1m") << job;
    EXPECT_FALSE(job.contains("key"));
    const received light = co_await client.ask("GET", "/v1/jobs/1?with_body=false");
    EXPECT_FALSE(light.value().contains("text"));
    const received ended = co_await client.ask("DELETE", "/v1/jobs/1");
    EXPECT_EQ(ended.body, "{\"id\":\"1\",\"outcome\":\"cancelled\"}\n");
    const received again = co_await client.ask("DELETE", "/v1/jobs/1");
    EXPECT_EQ(again.wrong(), "404 gone");
    const received gone = co_await client.ask("GET", "/v1/jobs/1");
    EXPECT_EQ(gone.wrong(), "404 gone");
    co_await client.leave();
  });
}

extras if_match(const std::string& tag, const std::string& body = {}) {
  return extras("If-Match: " + tag + "\r\n", body);
}

/// The ETag of a job, which its JSON repeats as the version.
task<std::string> tag_of(http_client& client, std::string target) {
  const received seen = co_await client.ask("GET", target);
  EXPECT_EQ(seen.status, 200) << seen.body;
  std::string tag = "\"" + seen.value().value("version", "") + "\"";
  EXPECT_TRUE(seen.head.contains("ETag: " + tag + "\r\n")) << seen.head << tag;
  co_return tag;
}

TEST(JobRequests, AChangeHappensToTheVersionThatWasSeen) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const std::string at = "/v1/tubes/mail/jobs/a";
    const received put = co_await client.ask("PUT", at + "?delay=1h", extras("", "one"));
    EXPECT_EQ(put.status, 201);
    const std::string first = co_await tag_of(client, at);
    const received moved = co_await client.ask("POST", at + "/reschedule?delay=2h", if_match(first));
    EXPECT_EQ(moved.status, 200) << moved.body;
    const std::string second = co_await tag_of(client, at);
    EXPECT_NE(first, second);
    for (const auto& [method, rest] : std::vector<std::pair<const char*, const char*>>{
             {"DELETE", ""}, {"POST", "/reschedule?delay=3h"}, {"POST", "/fire"}, {"PUT", ""}}) {
      const received late = co_await client.ask(method, at + rest, if_match(first));
      EXPECT_EQ(late.status, 412) << method << rest << late.body;
      EXPECT_EQ(late.value().value("outcome", ""), "other_version");
      EXPECT_TRUE(late.head.contains("ETag: " + second + "\r\n")) << late.head;
    }
    const received kicked = co_await client.ask("POST", "/v1/jobs/1/kick", if_match(first));
    EXPECT_EQ(kicked.status, 412) << kicked.body;
    const std::string same = co_await tag_of(client, at);
    EXPECT_EQ(same, second) << "nothing has changed";
    const received fired = co_await client.ask("POST", at + "/fire", if_match(second));
    EXPECT_EQ(fired.status, 200) << fired.body;
    const std::string third = co_await tag_of(client, at);
    const received replaced = co_await client.ask("PUT", at, if_match(third, "two"));
    EXPECT_EQ(replaced.value().value("outcome", ""), "replaced");
    const std::string fourth = co_await tag_of(client, at);
    const received ended = co_await client.ask("DELETE", at, if_match(fourth));
    EXPECT_EQ(ended.status, 200) << ended.body;
    const received gone = co_await client.ask("DELETE", at, if_match(third));
    EXPECT_EQ(gone.wrong(), "404 gone");
    const received nobody = co_await client.ask("PUT", at, if_match(third, "three"));
    EXPECT_EQ(nobody.status, 412) << "there is no job to replace";
    EXPECT_FALSE(nobody.head.contains("ETag")) << nobody.head;
    co_await client.leave();
  });
}

TEST(JobRequests, AKeyIsTakenOnce) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const std::string at = "/v1/tubes/orders/jobs/17";
    const auto outcome = [](const received& of) {
      return of.value().value("outcome", "") + " " + of.value().value("id", "");
    };
    const received first = co_await client.ask_json("PUT", at, R"({"body":{"n":1},"delay":"1h"})");
    EXPECT_EQ(outcome(first), "inserted 1");
    const received second = co_await client.ask_json("PUT", at, R"({"body":{"n":2},"delay":"1h"})");
    EXPECT_EQ(second.status, 200);
    EXPECT_EQ(outcome(second), "replaced 2");
    const received kept = co_await client.ask_json("POST", "/v1/jobs", R"({"tube":"orders","key":"17","text":""})");
    EXPECT_EQ(outcome(kept), "kept 2");
    const received there = co_await client.ask_json("PUT", at, R"({"existing":"refuse"})");
    EXPECT_EQ(there.wrong(), "409 exists");
    const received absent =
        co_await client.ask("PUT", at, extras("Content-Type: text/plain\r\nIf-None-Match: *\r\n", "x"));
    EXPECT_EQ(absent.wrong(), "412 header if-none-match");
    const received seen = co_await client.ask("GET", at);
    EXPECT_EQ(seen.value()["body"]["n"], 2);
    EXPECT_EQ(seen.value()["key"], "17");
    co_await client.leave();
  });
}

TEST(JobRequests, NamesTravelInThePathTheQueryAndTheBody) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    static_cast<void>(co_await client.ask_json("PUT", "/v1/tubes/a%2Fb/jobs/c%2Fd%20%C3%A9", R"({"delay":"1h"})"));
    const received by_query = co_await client.ask("GET", "/v1/job?tube=a/b&key=c/d+%C3%A9");
    EXPECT_EQ(by_query.value()["id"], "1");
    const received by_body = co_await client.ask_json("POST", "/v1/job/fire", R"({"tube":"a/b","key":"c/d é"})");
    EXPECT_EQ(by_body.body, "{\"id\":\"1\",\"outcome\":\"ready\"}\n");
    const received twice = co_await client.ask("GET", "/v1/tubes/a%2Fb/jobs/x?tube=other");
    EXPECT_EQ(twice.status, 400);
    const received both = co_await client.ask("GET", "/v1/job?id=1&tube=a/b&key=c");
    EXPECT_EQ(both.wrong(), "400 parameter id");
    co_await client.leave();
  });
}

TEST(JobRequests, BodiesComeBackAsTheyWere) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const auto shown = [](http_client& by, std::string id) -> task<nlohmann::json> {
      const received seen = co_await by.ask("GET", "/v1/jobs/" + id);
      co_return seen.value();
    };
    static_cast<void>(co_await client.ask_json("POST", "/v1/jobs?tube=t", R"({"body":[1,{"a":"é"},null]})"));
    const auto as_json = co_await shown(client, "1");
    EXPECT_EQ(as_json["body"].dump(), R"([1,{"a":"é"},null])");
    static_cast<void>(co_await client.ask_json("POST", "/v1/jobs?tube=t", R"({"base64":"AP8="})"));
    const auto as_bytes = co_await shown(client, "2");
    EXPECT_EQ(as_bytes["base64"], "AP8=");
    EXPECT_EQ(as_bytes["content_type"], "application/octet-stream");
    const extras raw("Content-Type: image/x\r\nFoliot-Priority: 7\r\nFoliot-Delay: 2s\r\nFoliot-Header-Trace: a b\r\n",
                     std::string("\x01\xff raw", 6));
    static_cast<void>(co_await client.ask("POST", "/v1/jobs?tube=t", raw));
    const auto as_raw = co_await shown(client, "3");
    EXPECT_EQ(as_raw["base64"], "Af8gcmF3");
    EXPECT_EQ(as_raw["content_type"], "image/x");
    EXPECT_EQ(as_raw["priority"], 7);
    EXPECT_EQ(as_raw["headers"]["trace"], "a b");
    EXPECT_EQ(as_raw["state"], "delayed");
    const extras raw_json("Content-Type: application/json\r\nFoliot-Body: raw\r\n", "{\"n\":12345678901234567890}");
    static_cast<void>(co_await client.ask("POST", "/v1/jobs?tube=t", raw_json));
    const auto as_text = co_await shown(client, "4");
    EXPECT_EQ(as_text["text"], "{\"n\":12345678901234567890}") << "a number that would be rounded";
    co_await client.leave();
  });
}

TEST(JobRequests, MoveInTime) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    static_cast<void>(co_await client.ask_json("POST", "/v1/jobs?tube=t", R"({"due":"2100-01-01T00:00:00.5+01:00"})"));
    const received seen = co_await client.ask("GET", "/v1/jobs/1");
    EXPECT_EQ(seen.value()["due"], "2099-12-31T23:00:00.500Z");
    const received moved = co_await client.ask_json("POST", "/v1/jobs/1/reschedule", R"({"delay":"1h30m"})");
    EXPECT_EQ(moved.body, "{\"id\":\"1\",\"outcome\":\"rescheduled\"}\n");
    const received missing = co_await client.ask("POST", "/v1/jobs/1/reschedule");
    EXPECT_EQ(missing.wrong(), "400 pointer #/due");
    const received fired = co_await client.ask("POST", "/v1/jobs/1/fire");
    EXPECT_EQ(fired.status, 200);
    const received ready = co_await client.ask("GET", "/v1/jobs/1");
    EXPECT_EQ(ready.value()["state"], "ready");
    co_await client.leave();
  });
}

TEST(JobRequests, ALengthOfZeroHasAnyUnit) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    for (const char* const zero : {"0", "0s", "0ms", "0.0s", "0h0m"}) {
      const received put = co_await client.ask("POST", fmt::format("/v1/jobs?tube=t&delay={}", zero));
      EXPECT_EQ(put.status, 201) << zero;
      const received none = co_await client.ask("POST", fmt::format("/v1/reserve?tube=none&timeout={}", zero));
      EXPECT_EQ(none.body, "{\"jobs\":[]}\n") << zero;
    }
    for (const char* const wrong : {"", "0x", "ms", "0.", "0.5", "-0s", "00"}) {
      const received put = co_await client.ask("POST", fmt::format("/v1/jobs?tube=t&delay={}", wrong));
      EXPECT_EQ(put.wrong(), "400 parameter delay") << wrong;
    }
    co_await client.leave();
  });
}

TEST(JobRequests, WrongInputIsNamed) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const std::pair<std::string, std::string> cases[] = {
        {R"({"text":1})", "400 pointer #/text"},
        {R"({"delay":5})", "400 pointer #/delay"},
        {R"({"delay":"5"})", "400 pointer #/delay"},
        {R"({"delay":"-5s"})", "400 pointer #/delay"},
        {R"({"due":"tomorrow"})", "400 pointer #/due"},
        {R"({"due":"2100-01-01T00:00:00Z","delay":"1s"})", "400 pointer #/due"},
        {R"({"priority":-1})", "400 pointer #/priority"},
        {R"({"priority":4294967296})", "400 pointer #/priority"},
        {R"({"priority":1.5})", "400 pointer #/priority"},
        {R"({"colour":"red"})", "400 pointer #/colour"},
        {R"({"existing":"maybe"})", "400 pointer #/existing"},
        {R"({"text":"a","base64":"AA=="})", "400 pointer #/body"},
        {R"({"base64":"A"})", "400 pointer #/base64"},
        {R"({"key":"a\u0000b"})", "400 pointer #/key"},
        {R"({"headers":{"Upper":"a"}})", "400 pointer #/headers/Upper"},
        {R"({"headers":{"a":"b\r\nc: d"}})", "400 pointer #/headers/a"},
        {R"({"headers":{"a":1}})", "400 pointer #/headers/a"},
        {R"({"headers":{"a/b~":1}})", "400 pointer #/headers/a~1b~0"},
        {R"({"headers":[]})", "400 pointer #/headers"},
        {R"({"a/b":1})", "400 pointer #/a~1b"},
        {R"({"é \"%":1})", "400 pointer #/%C3%A9%20%22%25"},
        {R"({"content_type":"a\nb"})", "400 pointer #/content_type"},
        {R"({"a":1,"a":2})", "400 pointer #/a"},
        {R"([])", "400 pointer #"},
        {R"({)", "400 pointer #"},
    };
    for (const auto& [body, wrong] : cases) {
      const received got = co_await client.ask_json("POST", "/v1/jobs?tube=t", body);
      EXPECT_EQ(got.wrong(), wrong) << body << "\n" << got.body;
    }
    const received no_tube = co_await client.ask_json("POST", "/v1/jobs", R"({"text":"a"})");
    EXPECT_EQ(no_tube.wrong(), "400 pointer #/tube");
    const received bad_tube = co_await client.ask_json("POST", "/v1/jobs?tube=a%0Ab", R"({"text":"a"})");
    EXPECT_EQ(bad_tube.wrong(), "400 parameter tube");
    const received no_name = co_await client.ask("POST", "/v1/jobs?tube=t&colour=red", extras("", "x"));
    EXPECT_EQ(no_name.wrong(), "400 parameter colour");
    const received bad_id = co_await client.ask("GET", "/v1/jobs/0");
    EXPECT_EQ(bad_id.wrong(), "400 path id");
    const received large = co_await client.ask("POST", "/v1/jobs?tube=t", extras("", std::string(10'001, 'x')));
    EXPECT_EQ(large.wrong(), "413 pointer #");
    const received large_text =
        co_await client.ask_json("POST", "/v1/jobs?tube=t", "{\"text\":\"" + std::string(10'001, 'x') + "\"}");
    EXPECT_EQ(large_text.wrong(), "413 pointer #/text");
    const received form = co_await client.ask("POST", "/v1/job/fire", extras("Content-Type: text/plain\r\n", "x"));
    EXPECT_EQ(form.wrong(), "415 header content-type");
    const received method = co_await client.ask("PATCH", "/v1/jobs/1");
    EXPECT_EQ(method.status, 405);
    EXPECT_TRUE(method.head.contains("Allow: GET, HEAD, DELETE\r\n")) << method.head;
    const received all = co_await client.ask("GET", "/v1/statistics");
    EXPECT_EQ(all.value()["jobs"]["ready"], 0) << "nothing was put";
    co_await client.leave();
  });
}

/// Each range that a store has is checked where the value has a name, and a place.
TEST(JobRequests, ARangeIsNamedByItsValue) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const std::string name(201, 'x');
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"POST /v1/jobs?tube=t&key=" + name, "key"},
        {"POST /v1/jobs?tube=t&ttr=0s", "ttr"},
        {"POST /v1/jobs?tube=t&ttr=4294967296s", "ttr"},
        {"POST /v1/jobs?tube=t&delay=4294967296s", "delay"},
        {"POST /v1/jobs?tube=t&due=1969-12-31T23:59:59.999Z", "due"},
        {"POST /v1/jobs?tube=t&due=2262-04-11T23:47:16.855Z", "due"},
        {"POST /v1/jobs/1/reschedule?due=9999-12-31T23:59:59Z", "due"},
        {"POST /v1/jobs/1/reschedule?delay=4294967296s", "delay"},
        {"POST /v1/reservations/1-1-1/release?delay=4294967296s", "delay"},
        {"POST /v1/tube/pause?tube=t&length=4294967296s", "length"},
        {"GET /v1/job?tube=t&key=" + name, "key"},
        {"GET /v1/job?key=k&tube=" + name, "tube"},
        {"GET /v1/job?key=k&tube=", "tube"},
        {"DELETE /v1/job?tube=t&key=" + name, "key"},
        {"GET /v1/tube?tube=" + name, "tube"},
        {"GET /v1/tubes?prefix=" + name, "prefix"},
        {"GET /v1/tubes?cursor=" + name, "cursor"},
        {"GET /v1/due?prefix=" + name, "prefix"},
        {"GET /v1/due?cursor=9223372036855-1", "cursor"},
        {"GET /v1/jobs?tube=" + name, "tube"},
        {"GET /v1/reservations?prefix=" + name, "prefix"},
        {"POST /v1/actions?do=cancel&prefix=" + name, "prefix"},
        {"POST /v1/actions?do=reschedule&tube=t&due=1969-12-31T23:59:59Z", "due"},
        {"GET /v1/due?prefix=%f", "prefix"},
    };
    for (const auto& [request, wrong] : cases) {
      const std::size_t blank = request.find(' ');
      const received got = co_await client.ask(request.substr(0, blank), request.substr(blank + 1));
      EXPECT_EQ(got.wrong(), "400 parameter " + wrong) << request << "\n" << got.body;
    }
    const received zero = co_await client.ask_json("DELETE", "/v1/job", R"({"tube":"t","key":"a\u0000b"})");
    EXPECT_EQ(zero.wrong(), "400 pointer #/key");
    const received entry = co_await client.ask_json("POST", "/v1/batch",
                                                    R"({"jobs":[{"put":{"tube":"t","due":"2300-01-01T00:00:00Z"}}]})");
    EXPECT_EQ(entry.value()["results"][0]["errors"][0]["pointer"], "#/jobs/0/put/due") << entry.body;
    for (const char* const right : {"due=2262-04-11T23:47:16.854Z", "due=1970-01-01T00:00:00Z", "delay=4294967295s",
                                    "ttr=4294967295s", "ttr=1ms"}) {
      const received put = co_await client.ask("POST", std::string("/v1/jobs?tube=t&") + right);
      EXPECT_EQ(put.status, 201) << right << put.body;
    }
    co_await client.leave();
  });
}

/// A tag that no job has is a condition that is not met, and no mistake: RFC 9110 compares strongly, and has lists.
TEST(JobRequests, ATagThatNoJobHasMatchesNone) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const std::string at = "/v1/tubes/mail/jobs/a";
    static_cast<void>(co_await client.ask("PUT", at + "?delay=1h", extras("", "one")));
    const std::string tag = co_await tag_of(client, at);
    const std::string with_zero = "\"0" + tag.substr(1);
    for (const std::string& other :
         {"W/" + tag, with_zero, std::string("\"\""), std::string("\"x\""), std::string("\"-1\""),
          std::string("\"9223372036854775808\""), std::string("\"99999999999999999999\""), "\"a,b\", W/" + tag}) {
      const received late = co_await client.ask("DELETE", at, if_match(other));
      EXPECT_EQ(late.status, 412) << other << late.body;
      EXPECT_TRUE(late.head.contains("ETag: " + tag + "\r\n")) << late.head;
      const received put = co_await client.ask("PUT", at, if_match(other, "two"));
      EXPECT_EQ(put.status, 412) << other << put.body;
    }
    const received one_of = co_await client.ask("POST", at + "/fire", if_match("\"x\" , " + tag + ",W/\"1\""));
    EXPECT_EQ(one_of.status, 200) << one_of.body;
    co_await client.leave();
  });
}

TEST(JobRequests, AStarExpectsThatTheJobIsThere) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const std::string at = "/v1/tubes/mail/jobs/a";
    const received nobody = co_await client.ask("PUT", at, if_match("*", "one"));
    EXPECT_EQ(nobody.wrong(), "412 header if-match");
    const received absent = co_await client.ask("GET", at);
    EXPECT_EQ(absent.wrong(), "404 gone") << "nothing was put";
    static_cast<void>(co_await client.ask("PUT", at, extras("", "one")));
    const received replaced = co_await client.ask("PUT", at, if_match("*", "two"));
    EXPECT_EQ(replaced.body, "{\"id\":\"2\",\"outcome\":\"replaced\"}\n");
    const received seen = co_await client.ask("GET", at);
    EXPECT_EQ(seen.value()["text"], "two");
    const received moved = co_await client.ask("POST", at + "/reschedule?delay=1h", if_match("*"));
    EXPECT_EQ(moved.status, 200) << moved.body;
    const received ended = co_await client.ask("DELETE", at, if_match("*"));
    EXPECT_EQ(ended.status, 200) << ended.body;
    const received gone = co_await client.ask("DELETE", at, if_match("*"));
    EXPECT_EQ(gone.wrong(), "404 gone");
    co_await client.leave();
  });
}

/// Between the look at the version and the put that expects it, another client changes the job.
TEST(JobRequests, AStarPutsWhateverHappensToTheJobMeanwhile) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    http_client other(in);
    const std::string at = "/v1/tubes/mail/jobs/a";
    static_cast<void>(co_await client.ask("PUT", at + "?delay=1h", extras("", "one")));
    int puts = 0;
    in.store.before = [&puts](std::span<jobs::operation> batch) {
      for (jobs::operation& each : batch) {
        auto* const what = std::get_if<jobs::put>(&each);
        // The second try comes with the version of before a change: as if the job had changed behind the first one.
        if (what != nullptr && ++puts == 2) ++what->expected;
      }
    };
    const received replaced = co_await client.ask("PUT", at, if_match("*", "two"));
    in.store.before = nullptr;
    EXPECT_EQ(replaced.value().value("outcome", ""), "replaced") << replaced.body;
    EXPECT_EQ(puts, 3);
    co_await other.leave();
    co_await client.leave();
  });
}

/// The version of a job tells nothing about `*`: no number of other changes is a condition that is not met.
TEST(JobRequests, AStarIsMetHoweverOftenOthersChangeTheJob) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const std::string at = "/v1/tubes/mail/jobs/a";
    static_cast<void>(co_await client.ask("PUT", at + "?delay=1h", extras("", "one")));
    int others = 0;
    in.store.before = [&others](std::span<jobs::operation> batch) {
      for (jobs::operation& each : batch) {
        auto* const what = std::get_if<jobs::put>(&each);
        if (what != nullptr && others > 0) --others, ++what->expected;  // somebody was faster
      }
    };
    others = 100;
    const received replaced = co_await client.ask("PUT", at, if_match("*", "two"));
    EXPECT_EQ(replaced.value().value("outcome", ""), "replaced") << replaced.body;
    EXPECT_EQ(others, 0);
    others = 1'000'000;
    const received busy = co_await client.ask("PUT", at, if_match("*", "three"));
    EXPECT_EQ(busy.wrong(), "503 header if-match");
    EXPECT_TRUE(busy.head.contains("Retry-After: ")) << busy.head;
    in.store.before = nullptr;
    const received seen = co_await client.ask("GET", at);
    EXPECT_EQ(seen.value()["text"], "two");
    co_await client.leave();
  });
}

/// A body that is compressed would come to a worker as bytes that its content type does not tell of.
TEST(JobRequests, ACodedBodyIsRefused) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    for (const char* const type : {"text/plain", "application/json"}) {
      const std::string fields = fmt::format("Content-Type: {}\r\nContent-Encoding: gzip\r\n", type);
      const received coded = co_await client.ask("POST", "/v1/jobs?tube=t", extras(fields, "{}"));
      EXPECT_EQ(coded.wrong(), "415 header content-encoding") << type;
      EXPECT_TRUE(coded.head.contains("Accept-Encoding: identity\r\n")) << coded.head;
    }
    const received plain =
        co_await client.ask("POST", "/v1/jobs?tube=t", extras("Content-Encoding: identity\r\n", "x"));
    EXPECT_EQ(plain.body, "{\"id\":\"1\",\"outcome\":\"inserted\"}\n");
    const received blank = co_await client.ask(
        "POST", "/v1/jobs", extras("Content-Type: Application/JSON\t; charset=utf-8\r\n", R"({"tube":"t"})"));
    EXPECT_EQ(blank.status, 201) << blank.body;
    co_await client.leave();
  });
}

TEST(JobRequests, AnUnknownPathGetsTheOneThatIsProbablyMeant) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    constexpr std::string_view all_paths = "GET /openapi.json describes all paths";
    const std::vector<std::pair<std::string, std::string>> unknown = {{"/v1/nothing", ""},
                                                                      {"/page", ""},
                                                                      {"/v1", ""},
                                                                      {"/jobs/7?x=y", "/v1/jobs/7"},
                                                                      {"/v1/jobs/?tube=t", "/v1/jobs"},
                                                                      {"/tubes/a%2Fb/", "/v1/tubes/a%2Fb"},
                                                                      {"/ready/", "/ready"}};
    for (const auto& [target, meant] : unknown) {
      const received nothing = co_await client.ask("GET", target);
      EXPECT_EQ(nothing.wrong(), "404 ") << target << nothing.body;
      const std::string hint = meant.empty() ? "" : fmt::format("perhaps you mean {}; ", meant);
      EXPECT_EQ(nothing.value()["detail"], fmt::format("there is nothing at this path: {}{}", hint, all_paths));
    }
    co_await client.leave();
  });
}

/// A client that waits for 100 Continue learns by the head alone that there is nothing for its body.
TEST(JobRequests, NoBodyIsAskedForWhereThereIsNoRoute) {
  with_server([](http_server& in) -> task<> {
    const std::string waiting = "Expect: 100-continue\r\nContent-Length: 3\r\n";
    for (const auto& [request, status] : std::vector<std::pair<std::string, int>>{{"POST /v1/nothing", 404},
                                                                                  {"PUT /v1/jobs", 405},
                                                                                  {"POST /v1/jobs/%zz/fire", 400},
                                                                                  {"POST /v1/jobs?tube=t", 100}}) {
      http_client client(in);
      const std::size_t blank = request.find(' ');
      const received got = co_await client.ask(request.substr(0, blank), request.substr(blank + 1), extras(waiting));
      EXPECT_EQ(got.status, status) << request;
      if (status == 405) {
        EXPECT_TRUE(got.head.contains("Allow: ")) << got.head;
      }
      co_await client.leave();
    }
  });
}

TEST(JobRequests, WrongConditionsAreNamed) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    for (const char* const tag :
         {"", "1", "\"", "\"1", "\"1\"2", "\"1\",", "\"1 2\"", "w/\"1\"", "*, \"1\"", "\"1\", \"2\""}) {
      const received tagged = co_await client.ask("DELETE", "/v1/jobs/1", extras(fmt::format("If-Match: {}\r\n", tag)));
      EXPECT_EQ(tagged.wrong(), "400 header if-match") << tag;
    }
    for (const auto& [method, target] :
         std::vector<std::pair<const char*, const char*>>{{"GET", "/v1/jobs/1"},
                                                          {"POST", "/v1/jobs?tube=t&key=k"},
                                                          {"PUT", "/v1/job?tube=t&key=k&existing=keep"},
                                                          {"POST", "/v1/reserve?tube=t"},
                                                          {"POST", "/v1/tube/kick?tube=t"}}) {
      const received misplaced = co_await client.ask(method, target, extras("If-Match: \"1\"\r\n"));
      EXPECT_EQ(misplaced.wrong(), "400 header if-match") << method << " " << target;
    }
    static_cast<void>(co_await client.ask("PUT", "/v1/job?tube=held&key=k", extras("", "x")));
    for (const auto& [method, target] : std::vector<std::pair<const char*, const char*>>{
             {"DELETE", "/v1/jobs/1"}, {"POST", "/v1/jobs/1/fire"}, {"POST", "/v1/reserve?tube=held"}}) {
      const received ignored = co_await client.ask(method, target, extras("If-None-Match: *\r\n"));
      EXPECT_EQ(ignored.wrong(), "400 header if-none-match") << method << " " << target;
    }
    const received there = co_await client.ask("PUT", "/v1/job?tube=held&key=k", extras("If-None-Match: *\r\n", "y"));
    EXPECT_EQ(there.wrong(), "412 header if-none-match");
    EXPECT_EQ(there.value()["outcome"], "exists");
    const received looked = co_await client.ask("GET", "/v1/jobs/1", extras("If-None-Match: \"1\"\r\n"));
    EXPECT_EQ(looked.value()["text"], "x") << "a look is answered as a whole";
    static_cast<void>(co_await client.ask("DELETE", "/v1/jobs/1"));
    const received all = co_await client.ask("GET", "/v1/statistics");
    EXPECT_EQ(all.value()["jobs"]["ready"], 0) << "nothing was put";
    co_await client.leave();
  });
}

/// Names that only the body of a request may have, and fields that mean nothing to it.
TEST(JobRequests, NothingIsIgnored) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    for (const std::string name : {"body", "headers"}) {
      const received got = co_await client.ask("POST", "/v1/jobs?tube=t&" + name + "=hello");
      EXPECT_EQ(got.wrong(), "400 parameter " + name) << got.body;
      const received both = co_await client.ask_json("POST", "/v1/jobs?tube=t&" + name + "=hello", R"({"body":1})");
      EXPECT_EQ(both.wrong(), "400 parameter " + name) << both.body;
    }
    const received batch = co_await client.ask_json("POST", "/v1/batch?jobs=1", R"({"jobs":[{"tube":"t"}]})");
    EXPECT_EQ(batch.wrong(), "400 parameter jobs");
    const received tubes = co_await client.ask("POST", "/v1/reserve?tube=t&timeout=0s&tubes=u");
    EXPECT_EQ(tubes.wrong(), "400 parameter tubes");
    const std::pair<std::string, std::string> fields[] = {
        {"Foliot-Colour: red\r\n", "400 header foliot-colour"},
        {"Foliot-Delay: 1s\r\nFoliot-Delay: 2s\r\n", "400 header foliot-delay"},
        {"Foliot-Body: raw\r\nFoliot-Body: raw\r\n", "400 header foliot-body"},
        {"Foliot-Header-: a\r\n", "400 header foliot-header-"},
        {"Content-Type: application/json\r\nFoliot-Header-A: b\r\n", "400 header foliot-header-a"},
    };
    for (const auto& [field, wrong] : fields) {
      const received got = co_await client.ask("POST", "/v1/jobs?tube=t", extras(field, "{}"));
      EXPECT_EQ(got.wrong(), wrong) << field << got.body;
    }
    const received kick = co_await client.ask("POST", "/v1/tubes/t/kick", extras("Foliot-Header-A: b\r\n"));
    EXPECT_EQ(kick.wrong(), "400 header foliot-header-a");
    const received all = co_await client.ask("GET", "/v1/statistics");
    EXPECT_EQ(all.value()["jobs"]["ready"], 0) << "nothing was put";
    const received right = co_await client.ask(
        "POST", "/v1/jobs?tube=t", extras("Foliot-Body: raw\r\nFoliot-Header-A: b\r\nFoliot-Key: k\r\n", "{}"));
    EXPECT_EQ(right.status, 201) << right.body;
    co_await client.leave();
  });
}

TEST(JobRequests, AKeyIsNotEmptyAndAReplacedJobHasOne) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const std::pair<std::string, std::string> cases[] = {
        {"PUT /v1/job?tube=t", "400 pointer #/key"},
        {"PUT /v1/job?tube=t&existing=keep", "400 pointer #/key"},
        {"PUT /v1/job?tube=t&key=", "400 parameter key"},
        {"POST /v1/jobs?tube=t&key=", "400 parameter key"},
        {"POST /v1/jobs?tube=t&existing=replace", "400 pointer #/key"},
        {"GET /v1/job?tube=t&key=", "400 parameter key"},
    };
    for (const auto& [asked, wrong] : cases) {
      const std::size_t blank = asked.find(' ');
      const received got = co_await client.ask(asked.substr(0, blank), asked.substr(blank + 1));
      EXPECT_EQ(got.wrong(), wrong) << asked << "\n" << got.body;
    }
    const received all = co_await client.ask("GET", "/v1/statistics");
    EXPECT_EQ(all.value()["jobs"]["ready"], 0) << "nothing was put";
    co_await client.leave();
  });
}

/// JSON whose numbers a value would round is shown as text.
TEST(JobRequests, NoShownBodyIsRounded) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const std::pair<std::string, bool> cases[] = {
        {"0.1", true},
        {"-12.50e3", true},
        {"1E2", true},
        {"0.0", true},
        {"-0.0e9", true},
        {"123456789012.125", true},
        {"100.000", true},
        {"379.1043752214064", true},
        {"1e23", true},
        {"0.12345678901234567891", false},
        {"1e-400", false},
        {"1.23456789012345e-320", false},
        {"[1,{\"a\":3.14159265358979323846}]", false},
    };
    int id = 0;
    for (const auto& [body, is_value] : cases) {
      const extras raw("Content-Type: application/json\r\nFoliot-Body: raw\r\n", body);
      static_cast<void>(co_await client.ask("POST", "/v1/jobs?tube=t", raw));
      const received seen = co_await client.ask("GET", "/v1/jobs/" + std::to_string(++id));
      EXPECT_EQ(seen.value().contains("body"), is_value) << seen.body;
      EXPECT_EQ(seen.value().value("text", ""), is_value ? "" : body);
    }
    co_await client.leave();
  });
}

TEST(JobRequests, ADrainedServerTakesNoJobs) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const received ready = co_await client.ask("GET", "/ready");
    EXPECT_EQ(ready.status, 200);
    in.speaks_to.drain();
    const received refused = co_await client.ask("POST", "/v1/jobs?tube=t", extras("", "x"));
    EXPECT_EQ(refused.status, 503);
    const received not_ready = co_await client.ask("GET", "/ready");
    EXPECT_EQ(not_ready.status, 503);
    const received alive = co_await client.ask("GET", "/health");
    EXPECT_EQ(alive.body, "{\"status\":\"ok\"}\n");
    co_await client.leave();
  });
}

TEST(JobRequests, ABatchHasItsOutcomesInOrder) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const received done = co_await client.ask_json(
        "POST", "/v1/batch", R"({"jobs":[{"tube":"a","text":"one"},{"tube":"b","key":"k","delay":"1h"}]})");
    EXPECT_EQ(done.status, 200) << done.body;
    EXPECT_EQ(
        done.body,
        R"({"results":[{"status":201,"id":"1","outcome":"inserted"},{"status":201,"id":"2","outcome":"inserted"}]})"
        "\n");
    const std::uint64_t batches = in.jobs.counters().batches;
    const received some = co_await client.ask_json(
        "POST", "/v1/batch",
        R"({"jobs":[{"tube":"b","key":"k","existing":"refuse"},{"tube":"b","delay":"soon"},{"tube":"b","key":"k"},7,)"
        R"({"tube":"b","body":[1]}]})");
    EXPECT_EQ(some.status, 207) << some.body;
    EXPECT_EQ(in.jobs.counters().batches - batches, 1u);
    const auto results = some.value()["results"];
    EXPECT_EQ(results.size(), 5u);
    EXPECT_EQ(results[0]["outcome"], "exists");
    EXPECT_EQ(results[0]["status"], 409);
    EXPECT_EQ(results[1]["errors"][0]["pointer"], "#/jobs/1/delay");
    EXPECT_EQ(results[2], nlohmann::json::parse(R"({"status":200,"id":"2","outcome":"kept"})"));
    EXPECT_EQ(results[3]["errors"][0]["pointer"], "#/jobs/3");
    EXPECT_EQ(results[4]["status"], 201);
    const received none = co_await client.ask_json("POST", "/v1/batch", R"({"jobs":[{}]})");
    EXPECT_EQ(none.status, 207);
    EXPECT_EQ(none.value()["results"][0]["errors"][0]["pointer"], "#/jobs/0/tube");
    co_await client.leave();
  });
}

TEST(JobRequests, AWrongBatchPutsNothing) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    std::string many = R"({"jobs":[{"tube":"t"})";
    for (int i = 0; i < 1000; ++i) many += R"(,{"tube":"t"})";
    many += "]}";
    const std::pair<std::string, std::string> cases[] = {
        {R"({})", "400 pointer #/jobs"},
        {R"({"jobs":[]})", "400 pointer #/jobs"},
        {R"({"jobs":{"tube":"t"}})", "400 pointer #/jobs"},
        {R"({"jobs":[{"tube":"t"}],"atomic":7})", "400 pointer #/atomic"},
        {R"({"jobs":[{"tube":"t"}],"tube":"t"})", "400 pointer #/tube"},
        {many, "400 pointer #/jobs"},
    };
    for (const auto& [body, wrong] : cases) {
      const received got = co_await client.ask_json("POST", "/v1/batch", body);
      EXPECT_EQ(got.wrong(), wrong) << got.body;
    }
    const received raw = co_await client.ask("POST", "/v1/batch", extras("", "x"));
    EXPECT_EQ(raw.wrong(), "415 header content-type");
    const received all = co_await client.ask("GET", "/v1/statistics");
    EXPECT_EQ(all.value()["jobs"]["ready"], 0);
    co_await client.leave();
  });
}

TEST(JobRequests, TheContextOfATraceTravelsWithTheJob) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const std::string parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const std::string fields = "TraceParent: " + parent + "\r\nTraceState: a=1\r\nTraceState: b=2\r\n";
    const std::string as_json = "Content-Type: application/json\r\n";
    const nlohmann::json both{{"traceparent", parent}, {"tracestate", "a=1,b=2"}};
    const auto headers_of = [&](int id) -> task<nlohmann::json> {
      const received seen = co_await client.ask("GET", fmt::format("/v1/jobs/{}", id));
      co_return seen.value().value("headers", nlohmann::json());
    };
    const auto put = [&](std::string of_request, std::string body) -> task<nlohmann::json> {
      const received done = co_await client.ask("POST", "/v1/jobs?tube=t", extras(of_request, std::move(body)));
      EXPECT_EQ(done.status, 201) << done.body;
      const nlohmann::json headers = co_await headers_of(std::stoi(done.value().value("id", "0")));
      co_return headers;
    };
    const nlohmann::json raw = co_await put(fields, "bytes");
    EXPECT_EQ(raw, both);
    const nlohmann::json in_json = co_await put(fields + as_json, R"({"text":"x","headers":{"other":"1"}})");
    EXPECT_EQ(in_json["traceparent"], parent);
    EXPECT_EQ(in_json["other"], "1");
    const nlohmann::json own = co_await put(fields + as_json, R"({"headers":{"traceparent":"mine"}})");
    EXPECT_EQ(own, (nlohmann::json{{"traceparent", "mine"}}));
    for (const std::string wrong : {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
                                    "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
                                    "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                                    "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                                    "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", "x", ""}) {
      const nlohmann::json none = co_await put("TraceParent: " + wrong + "\r\nTraceState: a=1\r\n", "bytes");
      EXPECT_EQ(none, nlohmann::json()) << wrong;
    }
    const nlohmann::json twice = co_await put(fields + "TraceParent: " + parent + "\r\n", "bytes");
    EXPECT_EQ(twice, nlohmann::json());
    const nlohmann::json long_state =
        co_await put("TraceParent: " + parent + "\r\nTraceState: a=" + std::string(511, '1') + "\r\n", "bytes");
    EXPECT_EQ(long_state, (nlohmann::json{{"traceparent", parent}}));
    const nlohmann::json full =
        co_await put(fields + as_json, R"({"headers":{"long":")" + std::string(8100, 'x') + R"("}})");
    EXPECT_EQ(full.size(), 1u) << "there is no room for the context";

    const received batch = co_await client.ask(
        "POST", "/v1/batch", extras(fields + as_json, R"({"jobs":[{"tube":"t"},{"put":{"tube":"t"}}]})"));
    EXPECT_EQ(batch.status, 200) << batch.body;
    const nlohmann::json results = batch.value()["results"];
    for (const auto& each : results) {
      const nlohmann::json of_entry = co_await headers_of(std::stoi(each.value("id", "0")));
      EXPECT_EQ(of_entry, both);
    }
    co_await client.leave();
  });
}

TEST(JobRequests, AFormsTypeIsNotKept) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const extras as_curl_sends_it("Content-Type: application/x-www-form-urlencoded\r\n", "hello");
    static_cast<void>(co_await client.ask("POST", "/v1/jobs?tube=t", as_curl_sends_it));
    const received seen = co_await client.ask("GET", "/v1/jobs/1");
    EXPECT_EQ(seen.value()["text"], "hello");
    EXPECT_FALSE(seen.value().contains("content_type")) << seen.body;
    co_await client.leave();
  });
}

TEST(JobRequests, APageOfAnotherSiteChangesNothing) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const received form = co_await client.ask("POST", "/v1/jobs?tube=t", extras("Origin: http://evil.example\r\n"));
    EXPECT_EQ(form.wrong(), "403 header origin");
    const received all = co_await client.ask("GET", "/v1/statistics");
    EXPECT_EQ(all.value()["jobs"]["ready"], 0);
    co_await client.leave();
  });
}

}  // namespace
}  // namespace foliot::program::http
