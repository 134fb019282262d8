// The page of metrics over HTTP: what it tells of tubes, who may see what of it, and what it costs with many tubes.
#include "server/http/requests.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "jobs/kit/temporary_folder.hpp"
#include "server/access/access_token.hpp"
#include "server/access/server_tubes.hpp"
#include "server/access/token_file.hpp"
#include "server/http/api_client.hpp"

namespace foliot::program::http {
namespace {

using namespace std::chrono_literals;

/// The value of a series as the page has it; empty: it has no such series.
std::string value_of(const received& page, const std::string& series) {
  const std::size_t at = ("\n" + page.body).find("\n" + series + " ");
  if (at == std::string::npos) return {};
  const std::size_t begin = at + series.size() + 1;
  return page.body.substr(begin, page.body.find('\n', begin) - begin);
}
std::string of_tube(const std::string& name, const std::string& tube) {
  return fmt::format("foliot_{}{{tube=\"{}\"}}", name, tube);
}
/// The tubes that have a series of this name.
std::set<std::string> tubes_in(const received& page, const std::string& name) {
  std::set<std::string> found;
  const std::string begin = "\nfoliot_" + name + "{tube=\"";
  for (std::size_t at = page.body.find(begin); at != std::string::npos; at = page.body.find(begin, at + 1)) {
    const std::size_t from = at + begin.size();
    found.insert(page.body.substr(from, page.body.find('"', from) - from));
  }
  return found;
}

task<> put_into(http_server& in, std::string tube, int count, duration delay = 0ns) {
  for (int i = 0; i < count; ++i) {
    jobs::put one;
    one.tube = tube;
    one.body = "x";
    one.due = std::chrono::ceil<jobs::milliseconds>(delay.to_chrono());
    auto putting = in.jobs.execute(std::move(one));
    static_cast<void>(co_await putting);
  }
}

TEST(MetricsRequests, TellOfTheJobs) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    co_await put_into(in, "mail", 3);
    co_await put_into(in, "mail", 2, 60s);
    co_await put_into(in, "bill", 1, 30s);
    co_await runtime::sleep(5s);
    static_cast<void>(co_await client.ask("POST", "/v1/reserve?tube=mail"));
    const received page = co_await client.ask("GET", "/metrics");
    EXPECT_EQ(page.status, 200);
    EXPECT_TRUE(page.head.contains("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n")) << page.head;
    EXPECT_EQ(value_of(page, of_tube("jobs_ready", "mail")), "2");
    EXPECT_EQ(value_of(page, of_tube("jobs_delayed", "mail")), "2");
    EXPECT_EQ(value_of(page, of_tube("jobs_reserved", "mail")), "1");
    EXPECT_EQ(value_of(page, of_tube("jobs_delayed", "bill")), "1");
    EXPECT_EQ(value_of(page, of_tube("jobs_ready", "")), "0") << "there are no others";
    EXPECT_EQ(value_of(page, of_tube("ready_overdue_seconds", "mail")), "5");
    EXPECT_EQ(value_of(page, of_tube("ready_overdue_seconds", "bill")), "") << "none is ready";
    EXPECT_EQ(value_of(page, "foliot_next_due_seconds"), "25");
    EXPECT_EQ(value_of(page, "foliot_delayed_overdue_seconds"), "0");
    EXPECT_EQ(value_of(page, "foliot_jobs_put_total"), "6");
    EXPECT_EQ(value_of(page, "foliot_job_lateness_seconds_sum"), "5");
    EXPECT_EQ(value_of(page, "foliot_store_available"), "1");
    co_await client.leave();
  });
}

TEST(MetricsRequests, AJobThatIsDueLaterIsNotLate) {
  with_server([](http_server& in) -> task<> {
    co_await put_into(in, "mail", 1, 10h);
    co_await runtime::sleep(9h);
    http_client client(in);
    const received before = co_await client.ask("GET", "/metrics");
    EXPECT_EQ(value_of(before, of_tube("jobs_delayed", "mail")), "1");
    EXPECT_EQ(value_of(before, of_tube("ready_overdue_seconds", "mail")), "");
    co_await client.leave();
    co_await runtime::sleep(1h + 7s);
    http_client other(in);
    const received after = co_await other.ask("GET", "/metrics");
    EXPECT_EQ(value_of(after, of_tube("ready_overdue_seconds", "mail")), "7") << "from its due time on";
    co_await other.leave();
  });
}

TEST(MetricsRequests, TheSeriesOfATubeEndWithItsJobs) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    co_await put_into(in, "mail", 1);
    const received before = co_await client.ask("GET", "/metrics");
    EXPECT_TRUE(before.body.contains("\"mail\""));
    static_cast<void>(co_await client.ask("DELETE", "/v1/jobs/1"));
    const received after = co_await client.ask("GET", "/metrics");
    EXPECT_FALSE(after.body.contains("mail")) << after.body;
    co_await client.leave();
  });
}

/// So many tubes that a look reads a part of them; the busiest ones lie at the end.
TEST(MetricsRequests, OfManyTubesTheBusiestAreShownAndTheRestIsOneSeries) {
  with_server([](http_server& in) -> task<> {
    constexpr int tubes = 7000;
    in.speaks_to.measure({}, {.shown = 3});
    for (int i = 0; i < tubes; ++i) co_await put_into(in, fmt::format("tube{:05}", i), 1);
    co_await runtime::sleep(100s);
    for (const int i : {6997, 6998, 6999}) co_await put_into(in, fmt::format("tube{:05}", i), 5);
    http_client client(in);
    received page;
    for (int looks = 0; looks < 3; ++looks) {
      const jobs::broker_counters before = in.jobs.counters();
      page = co_await client.ask("GET", "/metrics");
      EXPECT_LT(page.body.size(), 32'000U);
      EXPECT_LT(in.jobs.counters().operations - before.operations, 600U) << "no operation for each tube";
      unsigned long long all = 0;
      for (const std::string& each : tubes_in(page, "jobs_ready")) {
        all += std::stoull(value_of(page, of_tube("jobs_ready", each)));
      }
      EXPECT_EQ(all, tubes + 15U) << "the series add up at each look";
    }
    EXPECT_EQ(tubes_in(page, "jobs_ready"), (std::set<std::string>{"", "tube06997", "tube06998", "tube06999"}));
    EXPECT_EQ(value_of(page, of_tube("ready_overdue_seconds", "")), "100");
    co_await client.leave();
  });
}

/// A tube whose only job nobody takes is found among many, and stays found.
TEST(MetricsRequests, TheOldestJobIsFoundAndRemembered) {
  with_server([](http_server& in) -> task<> {
    in.speaks_to.measure({}, {.shown = 1});
    co_await put_into(in, "m-forgotten", 1);
    co_await runtime::sleep(1000s);
    for (int i = 0; i < 1300; ++i) co_await put_into(in, fmt::format("tube{:05}", i), 1);
    co_await put_into(in, "large", 9);
    http_client client(in);
    bool was_found = false;
    for (int looks = 0; looks < 6; ++looks) {
      const received page = co_await client.ask("GET", "/metrics");
      const bool is_found = value_of(page, of_tube("ready_overdue_seconds", "")) == "1000";
      EXPECT_TRUE(is_found || !was_found) << "look " << looks;
      was_found = was_found || is_found;
    }
    EXPECT_TRUE(was_found);
    co_await client.leave();
  });
}

// A look reads the counts of 5,000 tubes, and the next jobs of 500 of these. This tube is among the first 500 of no
// look.
TEST(MetricsRequests, EachOfManyTubesIsLookedAtSomeTime) {
  with_server([](http_server& in) -> task<> {
    in.speaks_to.measure({}, {.shown = 0});
    co_await put_into(in, "tube00700", 1);
    co_await runtime::sleep(1000s);
    for (int i = 0; i < 10'000; ++i) {
      if (i != 700) co_await put_into(in, fmt::format("tube{:05}", i), 1);
    }
    http_client client(in);
    bool was_found = false;
    for (int looks = 0; looks < 40 && !was_found; ++looks) {
      const received page = co_await client.ask("GET", "/metrics");
      was_found = value_of(page, of_tube("ready_overdue_seconds", "")) == "1000";
    }
    EXPECT_TRUE(was_found);
    co_await client.leave();
  });
}

/// The first ready jobs that the next look reads, if the store takes so long for each.
task<> count_heads(http_server& in, virtual_clock& clock, duration each_takes, std::size_t& heads) {
  for (int i = 0; i < 1000; ++i) co_await put_into(in, fmt::format("tube{:05}", i), 1);
  http_client client(in);
  in.store.before = [&](std::span<jobs::operation> batch) {
    for (const jobs::operation& each : batch) {
      const auto* const listed = std::get_if<jobs::list_jobs>(&each);
      if (listed == nullptr || is_of_server(listed->tube)) continue;  // the schedules are counted besides
      ++heads;
      clock.stall(each_takes);
    }
  };
  const received page = co_await client.ask("GET", "/metrics");
  EXPECT_EQ(value_of(page, of_tube("jobs_ready", "")), "980") << "the counts are whole in any case";
  EXPECT_FALSE(value_of(page, of_tube("ready_overdue_seconds", "tube00000")).empty());
  in.store.before = nullptr;
  co_await client.leave();
}

TEST(MetricsRequests, ALookReadsFewerJobsWhereTheyTakeLong) {
  const auto heads_read = [](duration each_takes) {
    std::size_t heads = 0;
    virtual_clock clock;
    http_server one(clock);
    auto body = [&](http_server& in) -> task<> {
      auto counting = count_heads(in, clock, each_takes, heads);
      co_await counting;
    };
    foliot::test::on_virtual_time(clock, run_server(one, body));
    return heads;
  };
  EXPECT_GE(heads_read(0ns), 500U);
  EXPECT_EQ(heads_read(50us), 20U + 8 * 25U)
      << "1 ms for the tubes that are shown, and 1.25 ms for 25 others until 10 ms are over";
  EXPECT_EQ(heads_read(1s), 20U + 25U) << "those of the tubes that are shown, and some others, are read in any case";
}

/// Looks at a store that takes longer for each first ready job than a look has time, until the oldest one is found.
task<> find_the_last(http_server& in, virtual_clock& clock, bool& was_found) {
  in.speaks_to.measure({}, {.shown = 1});
  co_await put_into(in, "z-forgotten", 1);
  co_await runtime::sleep(1000s);
  for (int i = 0; i < 200; ++i) co_await put_into(in, fmt::format("tube{:05}", i), 1);
  http_client client(in);
  in.store.before = [&clock](std::span<jobs::operation> batch) {
    for (const jobs::operation& each : batch) {
      if (std::holds_alternative<jobs::list_jobs>(each)) clock.stall(11ms);
    }
  };
  for (int looks = 0; looks < 40 && !was_found; ++looks) {
    const received page = co_await client.ask("GET", "/metrics");
    const std::string overdue = value_of(page, of_tube("ready_overdue_seconds", ""));
    was_found = !overdue.empty() && std::stod(overdue) >= 1000;
  }
  in.store.before = nullptr;
  co_await client.leave();
}

TEST(MetricsRequests, TheLastOfFewTubesIsLookedAtSomeTimeWhereTheyTakeLong) {
  bool was_found = false;
  virtual_clock clock;
  http_server one(clock);
  auto body = [&](http_server& in) -> task<> {
    auto finding = find_the_last(in, clock, was_found);
    co_await finding;
  };
  foliot::test::on_virtual_time(clock, run_server(one, body));
  EXPECT_TRUE(was_found);
}

TEST(MetricsRequests, PatternsChooseTheTubes) {
  with_server([](http_server& in) -> task<> {
    in.speaks_to.measure({}, {.shown = 20, .patterns = {"mail.*", "*.urgent"}});
    for (const std::string tube : {"mail.in", "mail", "bill.urgent", "other"}) co_await put_into(in, tube, 1);
    http_client client(in);
    const received page = co_await client.ask("GET", "/metrics");
    EXPECT_EQ(tubes_in(page, "jobs_ready"), (std::set<std::string>{"", "bill.urgent", "mail.in"}));
    EXPECT_EQ(value_of(page, of_tube("jobs_ready", "")), "2");
    co_await client.leave();
  });
}

TEST(MetricsRequests, APausedTubeShowsIt) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    co_await put_into(in, "mail", 1);
    static_cast<void>(co_await client.ask("POST", "/v1/tubes/mail/pause?length=60s"));
    co_await runtime::sleep(10s);
    const received page = co_await client.ask("GET", "/metrics");
    EXPECT_EQ(value_of(page, of_tube("paused_seconds_left", "mail")), "50");
    co_await client.leave();
  });
}

TEST(MetricsRequests, AStoreThatDoesNotAnswerIsTold) {
  with_server(
      [](http_server& in) -> task<> {
        http_client client(in);
        co_await put_into(in, "mail", 1);
        in.store.refuse(jobs::store_unavailable::kind::not_executed);
        const received page = co_await client.ask("GET", "/metrics");
        EXPECT_EQ(page.status, 200);
        EXPECT_EQ(value_of(page, "foliot_store_available"), "0");
        EXPECT_EQ(value_of(page, "foliot_jobs_put_total"), "1") << "what the server itself knows";
        EXPECT_FALSE(page.body.contains("mail"));
        in.store.accept();
        co_await runtime::sleep(1s);
        co_await put_into(in, "mail", 1);
        const received again = co_await client.ask("GET", "/metrics");
        EXPECT_EQ(value_of(again, of_tube("jobs_ready", "mail")), "2");
        co_await client.leave();
      },
      nullptr, nullptr, {}, foliot::test::shared::yes);
}

TEST(MetricsRequests, TakeNothingButTheirPath) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const received query = co_await client.ask("GET", "/metrics?tube=mail");
    EXPECT_EQ(query.status, 400);
    const received post = co_await client.ask("POST", "/metrics");
    EXPECT_EQ(post.status, 405);
    co_await client.send("HEAD", "/metrics");
    const received head = co_await client.read(false);
    EXPECT_EQ(head.status, 200);
    co_await client.leave();
  });
}

/// A server with a file of access tokens.
class MetricsAccess : public testing::Test {
 protected:
  MetricsAccess() {
    std::ofstream(path_) << entry_of(all_, {""}, scope::look) << entry_of(narrow_, {"mail."}, scope::look)
                         << entry_of(blind_, {""}, scope::put);
    ::chmod(path_.c_str(), 0600);
  }
  static std::string entry_of(const std::string& token, std::vector<std::string> prefixes, scope may) {
    scope_set scopes;
    scopes.add(may);
    access_entry made;
    made.given = std::make_shared<const rights>(std::string(access_token::parse(token)->id()), "a test", scopes,
                                                std::move(prefixes), instant::never(), sha256_of(token));
    return text_of(made);
  }
  static extras shows(const std::string& token) { return extras("Authorization: Bearer " + token + "\r\n"); }

  foliot_test::temporary_folder folder_;
  const std::string path_ = folder_.path() + "/tokens";
  const std::string all_ = access_token::make();
  const std::string narrow_ = access_token::make();
  const std::string blind_ = access_token::make();
  const server_log log_{true};
};

TEST_F(MetricsAccess, NeedTheScopeLookAndTellWithinTheRights) {
  watched_tokens tokens(path_, log_);
  const auto body = [this](http_server& in) -> task<> {
    http_client client(in);
    co_await put_into(in, "mail.in", 2);
    co_await put_into(in, "bill", 3);
    const received none = co_await client.ask("GET", "/metrics");
    EXPECT_EQ(none.status, 401);
    const received blind = co_await client.ask("GET", "/metrics", shows(blind_));
    EXPECT_EQ(blind.wrong(), "403 no_scope");
    const received all = co_await client.ask("GET", "/metrics", shows(all_));
    EXPECT_EQ(tubes_in(all, "jobs_ready"), (std::set<std::string>{"", "bill", "mail.in"}));
    EXPECT_EQ(value_of(all, "foliot_tokens_file_is_good"), "1");
    const received narrow = co_await client.ask("GET", "/metrics", shows(narrow_));
    EXPECT_EQ(narrow.status, 200);
    EXPECT_EQ(tubes_in(narrow, "jobs_ready"), (std::set<std::string>{"", "mail.in"}));
    EXPECT_EQ(value_of(narrow, of_tube("jobs_ready", "mail.in")), "2");
    EXPECT_EQ(value_of(narrow, of_tube("jobs_ready", "")), "0") << "of its own tubes there is no other one";
    for (const std::string hidden : {"bill", "process_", "connections", "_total", "store_"}) {
      EXPECT_FALSE(narrow.body.contains(hidden)) << hidden;
    }
    co_await client.leave();
  };
  with_server(body, &tokens, &log_);
}

}  // namespace
}  // namespace foliot::program::http
