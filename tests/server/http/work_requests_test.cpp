// The requests of workers: reservations that belong to their token and not to a connection, long polls, and clients
// that go away; and the requests of clients that only look.
#include <chrono>
#include <cstddef>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <gtest/gtest.h>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/operations.hpp>
#include <foliot/runtime/sleep.hpp>

#include "server/http/api_client.hpp"

namespace foliot::program::http {
namespace {

using namespace std::chrono_literals;

task<> put(http_client& by, std::string target, std::string body) {
  const received done = co_await by.ask("POST", std::move(target), extras("", std::move(body)));
  EXPECT_LT(done.status, 300) << done.body;
}

task<nlohmann::json> reserve(http_client& by, std::string body) {
  const received got = co_await by.ask_json("POST", "/v1/reserve", std::move(body));
  EXPECT_EQ(got.status, 200) << got.body;
  auto all = got.value();
  co_return all["jobs"];
}

std::string at(const nlohmann::json& job, std::string_view what) {
  return "/v1/reservations/" + job["reservation"].get<std::string>() + "/" + std::string(what);
}

TEST(WorkRequests, AReservationOutlivesItsConnection) {
  with_server([](http_server& in) -> task<> {
    http_client other(in);
    http_client worker(in);
    co_await put(other, "/v1/jobs?tube=mail", "hello");
    const auto jobs = co_await reserve(worker, R"({"tube":"mail"})");
    EXPECT_EQ(jobs.size(), 1u);
    EXPECT_EQ(jobs[0]["text"], "hello");
    EXPECT_EQ(jobs[0]["state"], "reserved");
    co_await worker.leave();
    co_await runtime::sleep(30s);
    const received held = co_await other.ask("GET", "/v1/jobs/1");
    EXPECT_EQ(held.value()["state"], "reserved");
    const received touched = co_await other.ask("POST", at(jobs[0], "touch"));
    EXPECT_EQ(touched.value()["outcome"], "touched");
    EXPECT_TRUE(touched.value().contains("reserved_until"));
    const received ended = co_await other.ask("POST", at(jobs[0], "finish"));
    EXPECT_EQ(ended.value()["outcome"], "finished");
    const received again = co_await other.ask("POST", at(jobs[0], "finish"));
    EXPECT_EQ(again.wrong(), "409 not_held");
    co_await other.leave();
  });
}

TEST(WorkRequests, AReservationEndsWithItsTtr) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    co_await put(client, "/v1/jobs?tube=mail&ttr=10s", "hello");
    const auto first = co_await reserve(client, R"({"tube":"mail"})");
    const auto second = co_await reserve(client, R"({"tube":"mail"})");
    EXPECT_EQ(second.size(), 1u) << "the long poll has waited for the end of the TTR";
    EXPECT_EQ(second[0]["timeouts"], 1);
    EXPECT_NE(second[0]["reservation"], first[0]["reservation"]);
    const received late = co_await client.ask("POST", at(first[0], "finish"));
    EXPECT_EQ(late.wrong(), "409 not_held");
    co_await client.leave();
  });
}

TEST(WorkRequests, ALongPollWaits) {
  with_server([](http_server& in) -> task<> {
    http_client producer(in);
    http_client worker(in);
    co_await worker.send("POST", "/v1/reserve?tube=mail");
    co_await runtime::sleep(10s);
    EXPECT_EQ(in.jobs.counters().waiting, 1u);
    co_await put(producer, "/v1/jobs?tube=mail", "late");
    const received got = co_await worker.read();
    EXPECT_EQ(got.value()["jobs"][0]["text"], "late");
    const instant begin = runtime::now();
    const auto none = co_await reserve(worker, R"({"tubes":["mail","other"],"timeout":"7s"})");
    EXPECT_TRUE(none.empty());
    EXPECT_EQ(runtime::now() - begin, duration(7s));
    const auto at_once = co_await reserve(worker, R"({"tube":"mail","timeout":"0s"})");
    EXPECT_TRUE(at_once.empty());
    const received ended = co_await worker.ask("POST", at(got.value()["jobs"][0], "finish"));
    EXPECT_EQ(ended.status, 200);
    co_await worker.leave();
    co_await producer.leave();
    EXPECT_EQ(in.jobs.counters().reservations, 0u);
  });
}

TEST(WorkRequests, ManyAtOnce) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    for (int i = 0; i < 5; ++i) co_await put(client, "/v1/jobs?tube=mail", "job");
    const auto some = co_await reserve(client, R"({"tube":"mail","count":3})");
    EXPECT_EQ(some.size(), 3u);
    const auto rest = co_await reserve(client, R"({"tube":"mail","count":"100"})");
    EXPECT_EQ(rest.size(), 2u);
    co_await client.leave();
  });
}

TEST(WorkRequests, AClientThatLeavesWhileItWaitsTakesNoJob) {
  with_server([](http_server& in) -> task<> {
    http_client producer(in);
    http_client worker(in);
    co_await worker.send("POST", "/v1/reserve?tube=mail");
    co_await runtime::sleep(1s);
    co_await worker.leave();
    EXPECT_EQ(in.jobs.counters().waiting, 0u);
    co_await put(producer, "/v1/jobs?tube=mail", "hello");
    const received seen = co_await producer.ask("GET", "/v1/jobs/1");
    EXPECT_EQ(seen.value()["state"], "ready");
    co_await producer.leave();
  });
}

/// The client holds the job for which it has waited, so it must get its token.
TEST(WorkRequests, AJobThatHasComeIsAnsweredIfNoMoreCan) {
  using unavailable = foliot::test::spy_store::unavailable;
  for (const unavailable known : {unavailable::not_executed, unavailable::in_doubt}) {
    const auto live = [known](http_server& in) -> task<> {
      http_client producer(in);
      http_client worker(in);
      co_await worker.send("POST", "/v1/reserve?tube=mail&count=10");
      co_await runtime::sleep(1s);
      bool is_refused = false;
      in.store.refuse(known, [&is_refused](const jobs::operation& each) {
        const auto* const more = std::get_if<jobs::claim>(&each);
        if (more == nullptr || more->count != 9) return false;
        is_refused = true;
        return true;
      });
      co_await put(producer, "/v1/jobs?tube=mail", "hello");
      const received got = co_await worker.read();
      in.store.accept();
      EXPECT_TRUE(is_refused);
      EXPECT_EQ(got.status, 200) << got.body;
      const auto jobs = got.value().value("jobs", nlohmann::json::array());
      EXPECT_EQ(jobs.size(), 1u);
      if (!jobs.empty()) {
        const received ended = co_await producer.ask("POST", at(jobs[0], "finish"));
        EXPECT_EQ(ended.status, 200) << ended.body;
      }
      co_await worker.leave();
      co_await producer.leave();
    };
    with_server(live, nullptr, nullptr, {}, foliot::test::shared::yes);
  }
}

/// The store is so slow that the reservation for which the client has waited is over when it is asked for more jobs.
TEST(WorkRequests, AnAnswerHasAJobOnce) {
  virtual_clock clock;
  http_server one(clock);
  const auto live = [&clock](http_server& in) -> task<> {
    http_client producer(in);
    http_client worker(in);
    co_await worker.send("POST", "/v1/reserve?tube=mail&count=10");
    co_await runtime::sleep(1s);
    in.store.before = [&clock](std::span<jobs::operation> batch) {
      for (const jobs::operation& each : batch) {
        const auto* const more = std::get_if<jobs::claim>(&each);
        if (more != nullptr && more->count == 9) clock.stall(10ms);
      }
    };
    co_await put(producer, "/v1/jobs?tube=mail&ttr=5ms", "hello");
    const received got = co_await worker.read();
    const auto jobs = got.value().value("jobs", nlohmann::json::array());
    EXPECT_EQ(jobs.size(), 1u) << got.body;
    const received ended = co_await producer.ask("POST", at(jobs[0], "finish"));
    EXPECT_EQ(ended.status, 200) << ended.body;
    co_await worker.leave();
    co_await producer.leave();
  };
  foliot::test::on_virtual_time(clock, run_server(one, live));
}

/// The broker watches no more than one of the two tubes. The next reserve of the connection gets no job of that one.
TEST(WorkRequests, AReserveThatIsRefusedWatchesNothing) {
  with_server([](http_server& in) -> task<> {
    http_client producer(in);
    http_client worker(in);
    {
      std::deque<jobs::client> others;
      for (std::size_t i = 0; i + 1 < http_server::limits().tubes; ++i) {
        if (i % 100 == 0) others.emplace_back(in.jobs);
        others.back().watch("other" + std::to_string(i));
      }
      const received refused = co_await worker.ask_json("POST", "/v1/reserve", R"({"tubes":["first","second"]})");
      EXPECT_EQ(refused.status, 503) << refused.body;
    }
    co_await worker.send("POST", "/v1/reserve?tube=third&timeout=20s");
    co_await runtime::sleep(1s);
    const received first = co_await producer.ask("GET", "/v1/tubes/first");
    EXPECT_EQ(first.value()["watching"], 0);
    co_await put(producer, "/v1/jobs?tube=first", "hello");
    const received got = co_await worker.read();
    EXPECT_TRUE(got.value()["jobs"].empty()) << got.body;
    co_await worker.leave();
    co_await producer.leave();
  });
}

/// All jobs become ready at once: the wait brings one, and the claim behind it what the bound of bytes leaves.
TEST(WorkRequests, OneAnswerHasOneBoundOfBytes) {
  with_server([](http_server& in) -> task<> {
    http_client producer(in);
    http_client worker(in);
    for (int i = 0; i < 120; ++i) {
      co_await put(producer, "/v1/jobs?tube=mail&delay=10s&ttr=1h", std::string(10'000, 'x'));
    }
    const auto jobs = co_await reserve(worker, R"({"tube":"mail","count":1000})");
    std::size_t bytes = 0;
    for (const auto& each : jobs) bytes += each["text"].get<std::string>().size();
    EXPECT_GE(bytes, std::size_t{1} << 20);
    EXPECT_LE(bytes, (std::size_t{1} << 20) + 10'000) << "at most 1 MiB and one body more";
    co_await worker.leave();
    co_await producer.leave();
  });
}

/// The client does not read, so the answer cannot be sent; then it goes away.
TEST(WorkRequests, AnAnswerThatIsNotSentGivesItsJobsBack) {
  with_server([](http_server& in) -> task<> {
    http_client producer(in);
    http_client worker(in);
    co_await put(producer, "/v1/jobs?tube=mail", std::string(9000, 'x'));
    co_await worker.send("POST", "/v1/reserve?tube=mail");
    co_await runtime::sleep(1s);
    const received held = co_await producer.ask("GET", "/v1/jobs/1?with_body=false");
    EXPECT_EQ(held.value()["state"], "reserved");
    co_await worker.leave();
    co_await runtime::sleep(1ms);  // on virtual time: the broker has executed its next batch
    const received back = co_await producer.ask("GET", "/v1/jobs/1?with_body=false");
    EXPECT_EQ(back.value()["state"], "ready");
    EXPECT_EQ(back.value()["timeouts"], 0) << "no failed try is counted";
    EXPECT_EQ(back.value()["releases"], 0);
    co_await producer.leave();
  });
}

TEST(WorkRequests, ReleaseBuryKickAndPause) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    co_await put(client, "/v1/jobs?tube=mail", "hello");
    const auto first = co_await reserve(client, R"({"tube":"mail"})");
    const received released =
        co_await client.ask_json("POST", at(first[0], "release"), R"({"delay":"5s","priority":9})");
    EXPECT_EQ(released.value()["outcome"], "released");
    const auto second = co_await reserve(client, R"({"tube":"mail"})");
    EXPECT_EQ(second[0]["priority"], 9);
    EXPECT_EQ(second[0]["releases"], 1);
    const received buried = co_await client.ask("POST", at(second[0], "bury"));
    EXPECT_EQ(buried.value()["outcome"], "buried");
    const received kicked = co_await client.ask("POST", "/v1/tubes/mail/kick?count=10");
    EXPECT_EQ(kicked.body, "{\"kicked\":1}\n");
    const received not_buried = co_await client.ask("POST", "/v1/jobs/1/kick");
    EXPECT_EQ(not_buried.wrong(), "409 refused");
    const received paused = co_await client.ask_json("POST", "/v1/tubes/mail/pause", R"({"length":"1m"})");
    EXPECT_EQ(paused.value()["outcome"], "paused");
    const auto none = co_await reserve(client, R"({"tube":"mail","timeout":"5s"})");
    EXPECT_TRUE(none.empty());
    const received tube = co_await client.ask("GET", "/v1/tubes/mail");
    EXPECT_TRUE(tube.value().contains("paused_until")) << tube.body;
    co_await client.leave();
  });
}

TEST(WorkRequests, WrongInputIsNamed) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const std::pair<std::string, std::string> cases[] = {
        {R"({})", "400 pointer #/tube"},
        {R"({"tube":"a b"})", "400 pointer #/tube"},
        {R"({"tubes":[]})", "400 pointer #/tubes"},
        {R"({"tubes":["a",7]})", "400 pointer #/tubes/1"},
        {R"({"tube":"a","tubes":["b"]})", "400 pointer #/tube"},
        {R"({"tube":"a","count":0})", "400 pointer #/count"},
        {R"({"tube":"a","timeout":"2h"})", "400 pointer #/timeout"},
    };
    for (const auto& [body, wrong] : cases) {
      const received got = co_await client.ask_json("POST", "/v1/reserve", body);
      EXPECT_EQ(got.wrong(), wrong) << body << "\n" << got.body;
    }
    const received token = co_await client.ask("POST", "/v1/reservations/17-05-2/finish");
    EXPECT_EQ(token.wrong(), "400 path reservation");
    const received unknown = co_await client.ask("POST", "/v1/reservations/17-5-2/finish");
    EXPECT_EQ(unknown.wrong(), "409 not_held");
    co_await client.leave();
  });
}

TEST(LookRequests, SayWhyAJobWaits) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    http_client worker(in);
    const auto why = [&client](std::string path) -> task<std::string> {
      const received got = co_await client.ask("GET", path);
      EXPECT_EQ(got.status, 200) << got.body;
      const auto all = got.value();
      std::string text = all.value("waits", "");
      if (all.contains("until")) text += " until";
      if (all.contains("ahead_at_most")) text += " " + all["ahead_at_most"].dump();
      co_return text;
    };
    co_await put(client, "/v1/jobs?tube=mail&key=k&delay=1h", "hello");
    const std::string later = co_await why("/v1/tubes/mail/jobs/k/why");
    EXPECT_EQ(later, "due_later until");
    static_cast<void>(co_await client.ask("POST", "/v1/jobs/1/fire"));
    const std::string alone = co_await why("/v1/job/why?id=1");
    EXPECT_EQ(alone, "nobody_watches 0");
    static_cast<void>(co_await client.ask("POST", "/v1/tubes/mail/pause?length=1m"));
    const std::string paused = co_await why("/v1/jobs/1/why");
    EXPECT_EQ(paused, "paused until 0");
    co_await put(client, "/v1/jobs?tube=mail", "second");
    co_await worker.send("POST", "/v1/reserve?tube=mail&timeout=50s");
    co_await runtime::sleep(1s);
    const std::string still = co_await why("/v1/jobs/2/why");
    EXPECT_EQ(still, "paused until 1");
    const received none = co_await worker.read();
    EXPECT_TRUE(none.value()["jobs"].empty());
    co_await runtime::sleep(20s);
    const auto first = co_await reserve(worker, R"({"tube":"mail"})");
    const std::string held = co_await why("/v1/jobs/1/why");
    EXPECT_EQ(held, "reserved until");
    static_cast<void>(co_await client.ask("POST", at(first[0], "bury")));
    const std::string buried = co_await why("/v1/jobs/1/why");
    EXPECT_EQ(buried, "buried");
    co_await put(client, "/v1/jobs?tube=other&priority=1024", "third");
    co_await put(client, "/v1/jobs?tube=other&priority=1023", "fourth");
    const std::string not_urgent = co_await why("/v1/jobs/3/why");
    EXPECT_EQ(not_urgent, "nobody_watches 1");
    const std::string urgent = co_await why("/v1/jobs/4/why");
    EXPECT_EQ(urgent, "nobody_watches 0") << "it comes before all that are not urgent";
    const received gone = co_await client.ask("GET", "/v1/jobs/7/why");
    EXPECT_EQ(gone.wrong(), "404 gone");
    co_await worker.leave();
    co_await client.leave();
  });
}

/// Who has reserved a job, as `why` and the lists show it.
task<std::string> holder_of(http_client& by, std::string id, extras more = extras()) {
  const received why = co_await by.ask("GET", "/v1/jobs/" + id + "/why", more);
  const std::string here = why.value().value("held_by", "nobody");
  for (const std::string target : {"/v1/reservations", "/v1/jobs?state=reserved&tube=mail", "/v1/jobs"}) {
    const received listed = co_await by.ask("GET", target, more);
    for (const nlohmann::json& each : listed.value()["jobs"]) {
      const std::string listed_here = each["id"] == id ? each.value("held_by", "nobody") : here;
      EXPECT_EQ(listed_here, here) << target;
    }
  }
  co_return here;
}

TEST(LookRequests, SayWhoHasAJob) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    co_await put(client, "/v1/jobs?tube=mail", "hello");
    const std::string before = co_await holder_of(client, "1");
    EXPECT_EQ(before, "nobody");
    std::string token;
    {
      http_client worker(in, "192.0.2.7:4711");
      const auto got = co_await reserve(worker, R"({"tube":"mail"})");
      token = at(got[0], "release");
      co_await worker.leave();
    }
    const std::string held = co_await holder_of(client, "1");
    EXPECT_EQ(held, "192.0.2.7") << "its connection has gone, and it holds the job";
    static_cast<void>(co_await client.ask("POST", token));
    const std::string released = co_await holder_of(client, "1");
    EXPECT_EQ(released, "nobody");
    http_client other(in, "[2001:db8::1]:4711");
    const auto again = co_await reserve(other, R"({"tube":"mail"})");
    const std::string held_again = co_await holder_of(client, "1");
    EXPECT_EQ(held_again, "[2001:db8::1]");
    co_await other.leave();
    co_await client.leave();
  });
}

TEST(WorkRequests, ClearCancelsAllButWhatIsReserved) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    for (const char* const delay : {"0s", "0s", "1h"}) {
      co_await put(client, "/v1/jobs?tube=a/b&delay=" + std::string(delay), "job");
    }
    co_await put(client, "/v1/jobs?tube=other", "job");
    static_cast<void>(co_await reserve(client, R"({"tube":"a/b"})"));
    const received one = co_await client.ask_json("POST", "/v1/tube/clear", R"({"tube":"a/b","count":1})");
    EXPECT_EQ(one.body, "{\"cancelled\":1}\n");
    const received rest = co_await client.ask("POST", "/v1/tubes/a%2Fb/clear");
    EXPECT_EQ(rest.body, "{\"cancelled\":1}\n");
    const received seen = co_await client.ask("GET", "/v1/statistics");
    EXPECT_EQ(seen.value()["jobs"]["reserved"], 1);
    EXPECT_EQ(seen.value()["jobs"]["ready"], 1);
    EXPECT_EQ(seen.value()["jobs"]["delayed"], 0);
    co_await client.leave();
  });
}

TEST(LookRequests, ComeInPages) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    for (const char* const tube : {"b", "a", "c", "x"}) {
      co_await put(client, "/v1/jobs?delay=1h&tube=" + std::string(tube), "job");
    }
    const received first = co_await client.ask("GET", "/v1/tubes?count=2");
    EXPECT_EQ(first.value()["tubes"][0]["tube"], "a");
    EXPECT_EQ(first.value()["tubes"][1]["delayed"], 1);
    EXPECT_EQ(first.value()["next"], "b");
    const received second = co_await client.ask("GET", "/v1/tubes?count=2&cursor=b");
    EXPECT_EQ(second.value()["tubes"][1]["tube"], "x");
    EXPECT_EQ(second.value()["next"], "x") << "a full page";
    const received last = co_await client.ask("GET", "/v1/tubes?count=2&cursor=x");
    EXPECT_EQ(last.value()["tubes"].size(), 0u);
    EXPECT_FALSE(last.value().contains("next"));
    const received of_prefix = co_await client.ask("GET", "/v1/tubes?prefix=b");
    EXPECT_EQ(of_prefix.value()["tubes"].size(), 1u);

    const received due = co_await client.ask("GET", "/v1/due?count=3");
    EXPECT_EQ(due.value()["jobs"].size(), 3u);
    EXPECT_EQ(due.value()["jobs"][0]["tube"], "b");
    const received rest =
        co_await client.ask("GET", "/v1/due?count=3&cursor=" + due.value()["next"].get<std::string>());
    EXPECT_EQ(rest.value()["jobs"].size(), 1u);
    EXPECT_EQ(rest.value()["jobs"][0]["tube"], "x");
    EXPECT_FALSE(rest.value().contains("next"));
    const received of_a = co_await client.ask("GET", "/v1/due?prefix=a");
    EXPECT_EQ(of_a.value()["jobs"].size(), 1u);
    const received wrong = co_await client.ask("GET", "/v1/due?cursor=x");
    EXPECT_EQ(wrong.wrong(), "400 parameter cursor");
    const received all = co_await client.ask("GET", "/v1/statistics");
    EXPECT_EQ(all.value()["jobs"]["delayed"], 4);
    EXPECT_EQ(all.value()["server"]["clients"], 1);
    const received head = co_await client.ask("POST", "/v1/tubes");
    EXPECT_EQ(head.status, 405);
    co_await client.leave();
  });
}

/// The ids on a page, and the place of the next one.
task<std::string> ids_in(http_client& by, std::string target) {
  const received page = co_await by.ask("GET", std::move(target));
  EXPECT_EQ(page.status, 200) << page.body;
  const nlohmann::json listed = page.value();
  std::string all;
  for (const auto& each : listed["jobs"]) all += each["id"].get<std::string>() + " ";
  co_return all + listed.value("next", "");
}

TEST(ListRequests, ShowTheJobsOfATubeByState) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    co_await put(client, "/v1/jobs?delay=2h&tube=a%2Fb", "late");            // 1
    co_await put(client, "/v1/jobs?delay=1h&tube=a%2Fb", "soon");            // 2
    co_await put(client, "/v1/jobs?priority=9&tube=a%2Fb", "last");          // 3
    co_await put(client, "/v1/jobs?priority=2&ttr=1m&tube=a%2Fb", "first");  // 4
    co_await put(client, "/v1/jobs?tube=c", "other");                        // 5
    const auto expect = [&](std::string target, std::string_view ids) -> task<> {
      const std::string listed = co_await ids_in(client, target);
      EXPECT_EQ(listed, ids) << target;
    };
    co_await expect("/v1/tubes/a%2Fb/jobs?state=delayed", "2 1 ");
    co_await expect("/v1/jobs?tube=a/b&state=ready", "4 3 ");
    co_await expect("/v1/jobs?tube=a/b&state=ready&count=1", "4 2-4");
    co_await expect("/v1/jobs?tube=a/b&state=ready&count=1&cursor=2-4", "3 9-3");
    co_await expect("/v1/jobs?tube=a/b&state=ready&count=1&cursor=9-3", "");
    co_await expect("/v1/jobs", "1 2 3 4 5 ");
    co_await expect("/v1/jobs?prefix=c", "5 ");
    co_await expect("/v1/jobs?count=2&cursor=0-3", "4 5 0-5");
    co_await expect("/v1/tubes/a%2Fb/jobs", "1 2 3 4 ");
    const received reserved = co_await client.ask("POST", "/v1/reserve?tube=a/b");
    const auto token = reserved.value()["jobs"][0]["reservation"].get<std::string>();
    const received held = co_await client.ask("GET", "/v1/reservations");
    EXPECT_EQ(held.value()["jobs"].size(), 1u);
    EXPECT_EQ(held.value()["jobs"][0]["id"], "4");
    EXPECT_EQ(held.value()["jobs"][0]["reserves"], 1);
    EXPECT_TRUE(held.value()["jobs"][0].contains("reserved_until"));
    EXPECT_FALSE(held.body.contains(token)) << "who only looks cannot end the job";
    EXPECT_FALSE(held.value()["jobs"][0].contains("text")) << "lists have no bodies";
    co_await expect("/v1/reservations?tube=c", "");
    co_await expect("/v1/reservations?prefix=a", "4 ");
    co_await expect("/v1/jobs?state=reserved&cursor=0-4", "");
    co_await expect("/v1/tubes/none/jobs", "");
    for (const auto& [target, wrong] : std::vector<std::pair<std::string, std::string>>{
             {"/v1/jobs?state=ready", "400 parameter state"},
             {"/v1/jobs?state=waiting&tube=c", "400 parameter state"},
             {"/v1/jobs?tube=c&prefix=c", "400 parameter prefix"},
             {"/v1/jobs?cursor=x", "400 parameter cursor"},
             {"/v1/jobs?cursor=7", "400 parameter cursor"},
             {"/v1/jobs?cursor=9223372036854775808-1", "400 parameter cursor"},
             {"/v1/jobs?count=0", "400 parameter count"},
             {"/v1/jobs?tube=", "400 parameter tube"},
             {"/v1/reservations?state=ready", "400 parameter state"}}) {
      const received refused = co_await client.ask("GET", target);
      EXPECT_EQ(refused.wrong(), wrong) << target;
    }
    co_await client.leave();
  });
}

TEST(ListRequests, SeekJobsByKeyAndBody) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    co_await put(client, "/v1/jobs?tube=mail&key=user-1&delay=2h", "hello Ada");  // 1
    co_await put(client, "/v1/jobs?tube=mail&key=user-2&delay=1h", "hello Bob");  // 2
    co_await put(client, "/v1/jobs?tube=mail&key=order-1", "for Ada");            // 3
    co_await put(client, "/v1/jobs?tube=other&key=user-3", "bye Ada");            // 4
    co_await put(client, "/v1/jobs?tube=other", "no key");                        // 5
    const auto expect = [&](std::string target, std::string_view ids) -> task<> {
      const std::string listed = co_await ids_in(client, target);
      EXPECT_EQ(listed, ids) << target;
    };
    co_await expect("/v1/jobs?key_prefix=user-", "1 2 4 ");
    co_await expect("/v1/jobs?key_prefix=user-&prefix=ma", "1 2 ");
    co_await expect("/v1/tubes/mail/jobs?state=delayed&key_prefix=user-", "2 1 ");
    co_await expect("/v1/jobs?text=Ada", "1 3 4 ");
    co_await expect("/v1/jobs?text=Ada&key_prefix=user-", "1 4 ");
    co_await expect("/v1/jobs?text=Ada&count=1", "1 0-1");
    co_await expect("/v1/jobs?text=Ada&count=1&cursor=0-1", "3 0-3");
    co_await expect("/v1/jobs?text=Ada&count=1&cursor=0-3", "4 ");
    co_await expect("/v1/jobs?text=Eve", "");
    const std::string soonest = co_await ids_in(client, "/v1/tubes/mail/jobs?state=delayed&key_prefix=user-&count=1");
    EXPECT_TRUE(soonest.starts_with("2 ") && soonest.ends_with("-2")) << soonest;
    co_await expect("/v1/tubes/mail/jobs?state=delayed&key_prefix=user-&count=1&cursor=" + soonest.substr(2), "1 ");
    static_cast<void>(co_await reserve(client, R"({"tube":"other"})"));
    co_await expect("/v1/reservations?text=Ada", "4 ");
    co_await expect("/v1/reservations?key_prefix=order", "");
    for (const auto& [target, wrong] : std::vector<std::pair<std::string, std::string>>{
             {"/v1/jobs?text=", "400 parameter text"},
             {"/v1/jobs?text=" + std::string(1001, 'x'), "400 parameter text"},
             {"/v1/jobs?key_prefix=" + std::string(201, 'x'), "400 parameter key_prefix"},
             {"/v1/due?text=x", "400 parameter text"}}) {
      const received refused = co_await client.ask("GET", target);
      EXPECT_EQ(refused.wrong(), wrong) << target;
    }
    co_await client.leave();
  });
}

TEST(ListRequests, APageLooksAtABoundedNumberOfBodies) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    for (const int count : {1000, 99}) {
      std::string all = R"({"tube":"mail","text":"hay"})";
      for (int i = 1; i < count; ++i) all += R"(,{"tube":"mail","text":"hay"})";
      const received hay = co_await client.ask_json("POST", "/v1/batch", R"({"jobs":[)" + all + "]}");
      EXPECT_EQ(hay.status, 200) << hay.body.substr(0, 500);
    }
    co_await put(client, "/v1/jobs?tube=mail", "needle");
    const std::string none = co_await ids_in(client, "/v1/jobs?text=needle");
    EXPECT_EQ(none, "0-1000") << "others may follow";
    const std::string found = co_await ids_in(client, "/v1/jobs?text=needle&cursor=0-1000");
    EXPECT_EQ(found, "1100 ");
    const std::string last = co_await ids_in(client, "/v1/jobs?text=hay&count=2&cursor=0-1097");
    EXPECT_EQ(last, "1098 1099 ") << "the page has looked at all";
    co_await client.leave();
  });
}

}  // namespace
}  // namespace foliot::program::http
