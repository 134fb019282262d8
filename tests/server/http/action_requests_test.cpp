// Changes by filter over HTTP: what is counted, what is changed, and what is told of it. On virtual time.
#include "server/http/requests.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "actions_server.hpp"
#include "server/access/server_tubes.hpp"
#include "server/actions/action_records.hpp"
#include "server/actions/action_turn.hpp"

namespace foliot::program::http {
namespace {

using namespace std::chrono_literals;

TEST(ActionRequests, CountsFirstAndChangesWhenItIsRun) {
  with_actions([](http_server& in, http_client& client) -> task<> {
    store_job(in, "mail", "a", "", 1h);
    store_job(in, "mail", "b", "", 1h);
    store_job(in, "mail");
    store_job(in, "bill", "a", "", 1h);
    const auto what = co_await counted(client, R"({"do":"cancel","tube":"mail","state":"delayed"})");
    EXPECT_EQ(what["counted"], 2);
    EXPECT_EQ(what["do"], "cancel");
    EXPECT_EQ(what["filter"], nlohmann::json::parse(R"({"tube":"mail","state":"delayed"})"));
    EXPECT_EQ(counts_of(in, "mail").delayed, 2u) << "a count changes nothing";
    const received run = co_await started(client, what);
    EXPECT_EQ(run.status, 200) << run.body;
    const auto done = co_await ended(client, what["id"]);
    EXPECT_EQ(done["state"], "done");
    EXPECT_EQ(done["outcomes"],
              nlohmann::json::parse(R"({"done":2,"gone":0,"reserved":0,"refused":0,"changed":0,"unknown":0})"));
    EXPECT_EQ(done["differences"], nlohmann::json::parse(R"({"matched":2,"jobs":[]})"));
    EXPECT_EQ(counts_of(in, "mail").all(), 1u);
    EXPECT_EQ(counts_of(in, "bill").all(), 1u);
  });
}

TEST(ActionRequests, DoesWhatItIsFor) {
  with_actions([](http_server& in, http_client& client) -> task<> {
    for (const char* const tube : {"fire", "kick", "later", "at"}) store_job(in, tube, "k", "", 1h);
    const auto fired = co_await carried_out(client, R"({"do":"fire","tube":"fire"})");
    EXPECT_EQ(fired["outcomes"]["done"], 1);
    EXPECT_EQ(counts_of(in, "fire").ready, 1u);
    const auto kicked = co_await carried_out(client, R"({"do":"kick","tube":"kick"})");
    EXPECT_EQ(kicked["outcomes"]["done"], 1);
    EXPECT_EQ(counts_of(in, "kick").ready, 1u);
    const auto again = co_await carried_out(client, R"({"do":"kick","tube":"kick"})");
    EXPECT_EQ(again["outcomes"]["refused"], 1) << "a ready job is not kicked";
    EXPECT_EQ(again["differences"]["jobs"][0]["outcome"], "refused");
    const auto later = co_await carried_out(client, R"({"do":"reschedule","tube":"later","delay":"3h"})");
    EXPECT_EQ(later["outcomes"]["done"], 1);
    const auto at = co_await carried_out(client, R"({"do":"reschedule","tube":"at","due":"2100-01-01T00:00:00Z"})");
    EXPECT_EQ(at["due"], "2100-01-01T00:00:00.000Z");
    const received job = co_await client.ask("GET", "/v1/tubes/at/jobs/k");
    EXPECT_EQ(job.value()["due"], "2100-01-01T00:00:00.000Z");
    const auto due = [&](const char* tube) {
      return jobs::execute_one(in.memory, jobs::peek{jobs::job_key{tube, "k"}}).job->due;
    };
    const auto left = due("later") - jobs::execute_one(in.memory, jobs::list_jobs{}).now;
    EXPECT_LE(left, 3h);
    EXPECT_GT(left, 2h);
  });
}

/// Each condition alone, and some together.
TEST(ActionRequests, AFilterFitsWhatMeetsAllConditions) {
  with_actions([](http_server& in, http_client& client) -> task<> {
    store_job(in, "mail", "user-1", "hello world", 1h);  // delayed
    store_job(in, "mail", "user-2", "hello");            // ready
    store_job(in, "mail", "order-1", "world", 1h);       // delayed
    store_job(in, "mail", "", std::string("\0\xFF world", 8));
    store_job(in, "mailbox", "user-3", "hello world");
    store_job(in, "bill", "user-1", "", 1h);
    const jobs::job_id buried = store_job(in, "bill", "order-2", "x");
    const auto held = jobs::execute_one(in.memory, jobs::claim_job{buried});
    jobs::execute_one(in.memory, jobs::bury{held.jobs.at(0).token});
    const std::vector<std::pair<std::string, int>> filters = {
        {R"("tube":"mail")", 4},
        {R"("prefix":"mail")", 5},
        {R"("prefix":"")", 7},
        {R"("prefix":"-foliot")", 0},
        {R"("tube":"nothing")", 0},
        {R"("prefix":"","state":"delayed")", 3},
        {R"("prefix":"","state":"buried")", 1},
        {R"("tube":"mail","state":"ready")", 2},
        {R"("prefix":"","key_prefix":"user-")", 4},
        {R"("prefix":"","key_prefix":"user-1")", 2},
        {R"("prefix":"","text":"world")", 4},
        {R"("tube":"mail","text":"hello world")", 1},
        {R"("prefix":"","text":"World")", 0},
        {R"("tube":"mail","state":"delayed","key_prefix":"user","text":"hello")", 1},
        {R"("tube":"mail","state":"delayed","key_prefix":"order","text":"hello")", 0},
    };
    for (const auto& [filter, count] : filters) {
      const auto what = co_await counted(client, R"({"do":"cancel",)" + filter + "}");
      EXPECT_EQ(what["counted"], count) << filter;
      const received forgotten = co_await client.ask("DELETE", "/v1/actions/" + what["id"].get<std::string>());
      EXPECT_EQ(forgotten.status, 200) << forgotten.body;
    }
  });
}

/// What is behind the bound of a search is not found, and the count tells how many bodies it concerns.
TEST(ActionRequests, ATextIsSearchedWithinABound) {
  job_filter filter;
  filter.text = "needle";
  EXPECT_TRUE(filter.matches_body(std::string(searched_of_body - 6, 'x') + "needle"));
  EXPECT_FALSE(filter.matches_body(std::string(searched_of_body - 5, 'x') + "needle"));
}

TEST(ActionRequests, WhatComesAfterTheCountIsNotTouched) {
  with_actions([](http_server& in, http_client& client) -> task<> {
    store_job(in, "mail", "old");
    const auto what = co_await counted(client, R"({"do":"cancel","tube":"mail"})");
    store_job(in, "mail", "new");
    jobs::put replacing{.tube = "mail", .key = "old", .body = "again"};
    replacing.existing = jobs::on_existing::replace;
    jobs::execute_one(in.memory, std::move(replacing));
    const received run = co_await started(client, what);
    EXPECT_EQ(run.status, 200);
    const auto done = co_await ended(client, what["id"]);
    EXPECT_EQ(done["outcomes"]["done"], 0) << "the one that replaces a job is another one";
    EXPECT_EQ(done["differences"]["fewer"], 1);
    EXPECT_EQ(counts_of(in, "mail").all(), 2u);
  });
}

TEST(ActionRequests, TellsWhatHasChangedSinceTheCount) {
  with_actions([](http_server& in, http_client& client) -> task<> {
    for (const char* const key : {"stays", "cancelled", "reserved", "fired", "other"})
      store_job(in, "mail", key, "", 1h);
    store_job(in, "mail", "ready");
    const auto of_all = co_await counted(client, R"({"do":"cancel","tube":"mail"})");
    const auto delayed = co_await counted(client, R"({"do":"cancel","tube":"mail","state":"delayed"})");
    EXPECT_EQ(of_all["counted"], 6);
    EXPECT_EQ(delayed["counted"], 5);
    const auto named = [](const char* key) { return jobs::job_name(jobs::job_key{"mail", key}); };
    jobs::execute_one(in.memory, jobs::cancel{named("cancelled")});
    jobs::execute_one(in.memory, jobs::fire_now{named("fired")});
    const jobs::job_id held = jobs::execute_one(in.memory, jobs::peek{named("reserved")}).job->id;
    const auto reserved = jobs::execute_one(in.memory, jobs::claim_job{held});
    EXPECT_EQ(reserved.jobs.size(), 1u);
    co_await started(client, delayed);
    const auto done = co_await ended(client, delayed["id"]);
    EXPECT_EQ(done["outcomes"]["done"], 2) << done;
    EXPECT_EQ(done["differences"]["matched"], 2);
    EXPECT_EQ(done["differences"]["fewer"], 3);
    co_await started(client, of_all);
    const auto rest = co_await ended(client, of_all["id"]);
    EXPECT_EQ(rest["outcomes"]["done"], 2) << rest;
    EXPECT_EQ(rest["outcomes"]["reserved"], 1);
    EXPECT_EQ(rest["differences"]["jobs"],
              nlohmann::json::array({{{"id", std::to_string(held)}, {"outcome", "reserved"}}}));
    EXPECT_EQ(rest["differences"]["fewer"], 3);
  });
}

/// Between the look of a turn and the change, another client changes the jobs.
TEST(ActionRequests, AJobThatChangesWithinATurnIsLookedAtAgain) {
  with_actions([](http_server& in, http_client& client) -> task<> {
    const jobs::job_id later = store_job(in, "mail", "later", "", 1h);
    const jobs::job_id fired = store_job(in, "mail", "fired", "", 1h);
    const jobs::job_id gone = store_job(in, "mail", "gone", "", 1h);
    const jobs::job_id taken = store_job(in, "mail", "taken", "", 1h);
    const auto what = co_await counted(client, R"({"do":"cancel","tube":"mail","state":"delayed"})");
    bool has_changed = false;
    in.store.before = [&](std::span<jobs::operation> batch) {
      const bool is_it = std::ranges::any_of(batch, [&](const jobs::operation& each) {
        const auto* const one = std::get_if<jobs::cancel>(&each);
        return one != nullptr && one->expected != 0;
      });
      if (!is_it || std::exchange(has_changed, true)) return;
      jobs::execute_one(in.memory, jobs::reschedule{later, jobs::milliseconds(2h)});
      jobs::execute_one(in.memory, jobs::fire_now{fired});
      jobs::execute_one(in.memory, jobs::cancel{gone});
      jobs::execute_one(in.memory, jobs::claim_job{taken});
    };
    co_await started(client, what);
    const auto done = co_await ended(client, what["id"]);
    EXPECT_TRUE(has_changed);
    EXPECT_EQ(done["outcomes"]["done"], 1) << "delayed as before, to another time";
    EXPECT_EQ(done["outcomes"]["changed"], 1) << done;
    EXPECT_EQ(done["outcomes"]["gone"], 1);
    EXPECT_EQ(done["outcomes"]["reserved"], 1);
    EXPECT_EQ(done["differences"]["matched"], 4);
    EXPECT_EQ(counts_of(in, "mail").ready, 1u) << "what does not fit any more stays";
    in.store.before = nullptr;
  });
}

TEST(ActionRequests, IsRunWithTheNumberThatItHasCounted) {
  with_actions([](http_server& in, http_client& client) -> task<> {
    store_job(in, "mail");
    const auto what = co_await counted(client, R"({"do":"cancel","tube":"mail"})");
    const std::string path = "/v1/actions/" + what["id"].get<std::string>();
    const auto wrong = [&](std::string method, std::string rest, std::string body) -> task<std::string> {
      const received got = co_await client.ask_json(std::move(method), path + rest, std::move(body));
      co_return got.wrong();
    };
    const std::string other = co_await wrong("POST", "/run", R"({"counted":2})");
    EXPECT_EQ(other, "409 pointer #/counted");
    const std::string none = co_await wrong("POST", "/run", "");
    EXPECT_EQ(none, "400 pointer #/counted");
    EXPECT_EQ(counts_of(in, "mail").all(), 1u);
    co_await started(client, what);
    const auto done = co_await ended(client, what["id"]);
    EXPECT_EQ(done["state"], "done");
    const std::string twice = co_await wrong("POST", "/run", R"({"counted":1})");
    EXPECT_EQ(twice, "409 wrong_state");
  });
}

TEST(ActionRequests, IsStopped) {
  with_actions([](http_server& in, http_client& client) -> task<> {
    constexpr std::size_t all = 6000;
    for (std::size_t i = 0; i < all; ++i) store_job(in, "mail");
    const auto what = co_await counted(client, R"({"do":"cancel","tube":"mail"})");
    const std::string path = "/v1/actions/" + what["id"].get<std::string>();
    co_await started(client, what);
    while (counts_of(in, "mail").all() == all) co_await runtime::yield();
    const received early = co_await client.ask("DELETE", path);
    EXPECT_EQ(early.wrong(), "409 wrong_state");
    const received stopping = co_await client.ask("POST", path + "/stop");
    EXPECT_EQ(stopping.status, 200) << stopping.body;
    const auto stopped = co_await ended(client, what["id"]);
    EXPECT_EQ(stopped["state"], "stopped");
    EXPECT_EQ(stopped["reason"], "a client has asked for it");
    const std::size_t left = counts_of(in, "mail").all();
    EXPECT_GT(left, 0u);
    EXPECT_EQ(stopped["outcomes"]["done"], all - left);
    co_await runtime::sleep(1h);
    EXPECT_EQ(counts_of(in, "mail").all(), left);
    EXPECT_EQ(counts_of(in, std::string(tube_of_stops)).all(), 0u) << "the wish is forgotten";
    http_client later(in);  // the connection of before was silent for too long
    const received again = co_await later.ask("POST", path + "/stop");
    EXPECT_EQ(again.value()["ended"], stopped["ended"]) << "what has ended stays as it is";
    const received forgotten = co_await later.ask("DELETE", path);
    EXPECT_EQ(forgotten.value()["outcome"], "forgotten");
    const received gone = co_await later.ask("GET", path);
    EXPECT_EQ(gone.wrong(), "404 gone");
    co_await later.leave();
  });
}

TEST(ActionRequests, IsStoppedBeforeItRuns) {
  with_actions([](http_server& in, http_client& client) -> task<> {
    store_job(in, "mail");
    const auto what = co_await counted(client, R"({"do":"cancel","tube":"mail"})");
    const received stopped = co_await client.ask("POST", "/v1/actions/" + what["id"].get<std::string>() + "/stop");
    EXPECT_EQ(stopped.value()["state"], "stopped");
    const received run = co_await started(client, what);
    EXPECT_EQ(run.wrong(), "409 wrong_state");
    EXPECT_EQ(counts_of(in, "mail").all(), 1u);
  });
}

TEST(ActionRequests, IsKeptForAWhile) {
  with_actions([](http_server& in, http_client& client) -> task<> {
    store_job(in, "mail");
    const auto unused = co_await counted(client, R"({"do":"cancel","tube":"bill"})");
    const auto done = co_await carried_out(client, R"({"do":"cancel","tube":"mail"})");
    const auto listed = [&]() -> task<std::size_t> {
      http_client one(in);  // a connection that is silent for long is closed
      const received all = co_await one.ask("GET", "/v1/actions");
      co_await one.leave();
      co_return all.value()["actions"].size();
    };
    const std::size_t at_first = co_await listed();
    EXPECT_EQ(at_first, 2u);
    co_await runtime::sleep(59min);
    const std::size_t before = co_await listed();
    EXPECT_EQ(before, 2u);
    co_await runtime::sleep(2min);
    const std::size_t behind = co_await listed();
    EXPECT_EQ(behind, 1u) << "one that nobody has run is forgotten after an hour";
    co_await runtime::sleep(22h + 58min);
    const std::size_t last = co_await listed();
    EXPECT_EQ(last, 1u);
    co_await runtime::sleep(3min);
    const std::size_t none = co_await listed();
    EXPECT_EQ(none, 0u) << "one that has ended, after a day";
  });
}

TEST(ActionRequests, AreBoundedInNumber) {
  with_actions([](http_server&, http_client& client) -> task<> {
    for (std::size_t i = 0; i < action_records::most_of_owner; ++i) {
      const auto what = co_await counted(client, R"({"do":"cancel","tube":"mail"})");
      EXPECT_EQ(what["counted"], 0);
    }
    const received more = co_await client.ask_json("POST", "/v1/actions", R"({"do":"cancel","tube":"mail"})");
    EXPECT_EQ(more.wrong(), "409 too_many");
  });
}

/// No batch of another client waits for more than a bounded piece, however many jobs an action has.
TEST(ActionRequests, TurnsAreBounded) {
  with_actions([](http_server& in, http_client& client) -> task<> {
    constexpr std::size_t all = 10'000;
    for (std::size_t i = 0; i < all; ++i) store_job(in, "mail", "", "text");
    std::size_t largest = 0;
    std::size_t pages = 0;
    in.store.before = [&](std::span<jobs::operation> batch) {
      largest = std::max(largest, batch.size());
      for (const jobs::operation& each : batch) {
        const auto* const page = std::get_if<jobs::list_jobs>(&each);
        if (page == nullptr || page->tube != "mail") continue;
        ++pages;
        EXPECT_LE(page->count, action_turn::most_of_count_turn);
      }
    };
    const auto what = co_await counted(client, R"({"do":"cancel","tube":"mail"})");
    EXPECT_EQ(what["counted"], all);
    EXPECT_LE(largest, tubes_of_server.size() + 2) << "a claim, the counts, and a request";
    EXPECT_LE(pages, all / action_turn::most_of_count_turn + 1);
    pages = 0;
    co_await started(client, what);
    const auto done = co_await ended(client, what["id"]);
    EXPECT_EQ(done["outcomes"]["done"], all);
    EXPECT_LE(largest, action_turn::most_of_run_turn + 3) << "a turn of an action, and a request";
    EXPECT_LE(pages, all / action_turn::most_of_run_turn + 1);
    in.store.before = nullptr;
  });
}

TEST(ActionRequests, TakeTurns) {
  with_actions([](http_server& in, http_client& client) -> task<> {
    for (int i = 0; i < 3000; ++i) store_job(in, "mail");
    store_job(in, "bill");
    const auto large = co_await counted(client, R"({"do":"fire","tube":"mail"})");
    const auto small = co_await counted(client, R"({"do":"fire","tube":"bill"})");
    http_client other(in);
    co_await started(client, large);
    co_await started(other, small);
    const auto done = co_await ended(client, small["id"]);
    EXPECT_EQ(done["state"], "done");
    const auto last = co_await ended(client, large["id"]);
    EXPECT_LE(done["ended"].get<std::string>(), last["ended"].get<std::string>());
    EXPECT_EQ(last["outcomes"]["done"], 3000);
    co_await other.leave();
  });
}

/// The store refuses the changes for a while, for want of room or because it does not answer.
TEST(ActionRequests, WaitsWhileTheStoreDoesNotAnswer) {
  with_actions(
      [](http_server& in, http_client& client) -> task<> {
        for (int i = 0; i < 250; ++i) store_job(in, "mail");
        const auto what = co_await counted(client, R"({"do":"cancel","tube":"mail"})");
        co_await started(client, what);
        in.store.refuse(foliot::test::spy_store::unavailable::not_executed);
        co_await runtime::sleep(10s);
        in.store.accept();
        const auto done = co_await ended(client, what["id"]);
        EXPECT_EQ(done["state"], "done");
        EXPECT_EQ(done["differences"]["matched"], 250) << done;
        EXPECT_EQ(done["outcomes"]["done"], 250) << done;
        EXPECT_EQ(counts_of(in, "mail").all(), 0u);
      },
      foliot::test::shared::yes);
}

TEST(ActionRequests, WaitsWhileThereIsNoRoom) {
  with_actions([](http_server& in, http_client& client) -> task<> {
    for (int i = 0; i < 250; ++i) store_job(in, "mail", "", "", 1h);
    const auto what = co_await counted(client, R"({"do":"fire","tube":"mail"})");
    co_await started(client, what);
    bool is_full = true;
    std::size_t refused = 0;
    in.store.after = [&](jobs::execution& done) {
      if (!is_full) return;
      for (jobs::answer& each : done.answers) {
        auto* const changed = std::get_if<jobs::change_answer>(&each);
        // As a store that had no room would have answered; what it did is seen at the next look.
        if (changed != nullptr && changed->what == jobs::change_answer::kind::done && ++refused <= 30) {
          changed->what = jobs::change_answer::kind::no_space;
        }
      }
    };
    co_await runtime::sleep(10s);
    is_full = false;
    const auto done = co_await ended(client, what["id"]);
    in.store.accept();
    EXPECT_EQ(done["state"], "done");
    EXPECT_EQ(done["differences"]["matched"], 250) << done;
    EXPECT_EQ(done["outcomes"]["done"], 250) << done;
  });
}

/// What is wrong with a request, with the place of the wrong value.
TEST(ActionRequests, BadInputIsNamed) {
  with_actions([](http_server& in, http_client& client) -> task<> {
    const std::vector<std::pair<std::string, std::string>> wrong = {
        {R"({"tube":"mail"})", "400 pointer #/do"},
        {R"({"do":"delete","tube":"mail"})", "400 pointer #/do"},
        {R"({"do":"cancel"})", "400 pointer #/tube"},
        {R"({"do":"cancel","tube":""})", "400 pointer #/tube"},
        {R"({"do":"cancel","tube":7})", "400 pointer #/tube"},
        {R"({"do":"cancel","tube":"a","prefix":"a"})", "400 pointer #/prefix"},
        {R"({"do":"cancel","prefix":")" + std::string(201, 'a') + R"("})", "400 pointer #/prefix"},
        {R"({"do":"cancel","prefix":"a\u0000"})", "400 pointer #/prefix"},
        {R"({"do":"cancel","tube":"a\u0000"})", "400 pointer #/tube"},
        {R"({"do":"cancel","tube":")" + std::string(201, 'a') + R"("})", "400 pointer #/tube"},
        {R"({"do":"cancel","tube":"a","state":"reserved"})", "400 pointer #/state"},
        {R"({"do":"kick","tube":"a","state":"ready"})", "400 pointer #/state"},
        {R"({"do":"cancel","tube":"a","key_prefix":")" + std::string(201, 'a') + R"("})", "400 pointer #/key_prefix"},
        {R"({"do":"cancel","tube":"a","text":""})", "400 pointer #/text"},
        {R"({"do":"cancel","tube":"a","text":")" + std::string(1001, 'a') + R"("})", "400 pointer #/text"},
        {R"({"do":"cancel","tube":"a","due":"2100-01-01T00:00:00Z"})", "400 pointer #/due"},
        {R"({"do":"fire","tube":"a","delay":"1s"})", "400 pointer #/delay"},
        {R"({"do":"reschedule","tube":"a"})", "400 pointer #/due"},
        {R"({"do":"reschedule","tube":"a","delay":"1s","due":"2100-01-01T00:00:00Z"})", "400 pointer #/due"},
        {R"({"do":"reschedule","tube":"a","delay":"9999999h"})", "400 pointer #/delay"},
        {R"({"do":"reschedule","tube":"a","due":"2300-01-01T00:00:00Z"})", "400 pointer #/due"},
        {R"({"do":"cancel","tube":"a","more":1})", "400 pointer #/more"},
        {R"({"do":"cancel","tube":"-foliot.actions"})", "403 no_tube"},
    };
    for (const auto& [body, problem] : wrong) {
      const received got = co_await client.ask_json("POST", "/v1/actions", body);
      EXPECT_EQ(got.wrong(), problem) << body << got.body;
    }
    store_job(in, "mail");
    for (const char* const id : {"1", "9", "0", "x", "-1", "99999999999999999999", "1x"}) {
      for (const auto& [method, rest] : std::vector<std::pair<std::string, std::string>>{
               {"GET", ""}, {"DELETE", ""}, {"POST", "/stop"}, {"POST", "/run?counted=0"}}) {
        const received got = co_await client.ask(method, fmt::format("/v1/actions/{}{}", id, rest));
        EXPECT_EQ(got.wrong(), "404 gone") << method << id << rest << " (1 is a job, and no action)";
      }
    }
    const received none = co_await client.ask("GET", "/v1/actions");
    EXPECT_EQ(none.value()["actions"].size(), 0u) << "nothing of that has made one";
  });
}

/// The records are jobs. No client sees them, or gets hold of one.
TEST(ActionRequests, RecordsAreNoJobsForClients) {
  with_actions([](http_server& in, http_client& client) -> task<> {
    const jobs::job_id job = store_job(in, "zzz", "", "", 2h);
    const auto what = co_await counted(client, R"({"do":"cancel","tube":"mail"})");
    const auto id = what["id"].get<std::string>();
    const std::string tube(tube_of_actions);
    EXPECT_EQ(counts_of(in, tube).delayed, 1u);
    const auto value = [&](std::string target) -> task<nlohmann::json> {
      const received got = co_await client.ask("GET", std::move(target));
      EXPECT_EQ(got.status, 200) << got.body;
      co_return got.value();
    };
    const auto tubes = co_await value("/v1/tubes");
    EXPECT_EQ(tubes["tubes"].size(), 1u);
    EXPECT_EQ(tubes["tubes"][0]["tube"], "zzz");
    const auto jobs = co_await value("/v1/jobs");
    EXPECT_EQ(jobs["jobs"].size(), 1u);
    const auto due = co_await value("/v1/due?count=1");
    EXPECT_EQ(due["jobs"][0]["id"], std::to_string(job)) << "the record is due before";
    const auto statistics = co_await value("/v1/statistics");
    EXPECT_EQ(statistics["jobs"]["delayed"], 1);
    const auto is_none = [&](std::string method, std::string target) -> task<> {
      const received there = co_await client.ask(method, "/v1/jobs/" + id + target);
      const received none = co_await client.ask(method, "/v1/jobs/999" + target);
      EXPECT_EQ(there.status, 404) << method << target << there.body;
      EXPECT_EQ(there.body, none.body) << method << target;
    };
    for (const auto& [method, rest] : std::vector<std::pair<std::string, std::string>>{{"GET", ""},
                                                                                       {"GET", "/why"},
                                                                                       {"DELETE", ""},
                                                                                       {"POST", "/reschedule?delay=1s"},
                                                                                       {"POST", "/fire"},
                                                                                       {"POST", "/kick"}}) {
      co_await is_none(method, rest);
    }
    const std::string batch = fmt::format(R"({{"jobs":[{{"cancel":{{"id":"{0}"}}}},{{"kick":{{"id":"{0}"}}}}]}})", id);
    const received entries = co_await client.ask_json("POST", "/v1/batch", batch);
    EXPECT_EQ(entries.value()["results"][0]["outcome"], "gone");
    EXPECT_EQ(entries.value()["results"][1]["outcome"], "gone");
    struct naming {
      std::string method;
      std::string target;
      std::string problem;
    };
    const std::vector<naming> all = {
        {"GET", "/v1/tubes/" + tube, "403 no_tube"},
        {"GET", "/v1/tubes/" + tube + "/jobs", "403 no_tube"},
        {"GET", "/v1/events?tube=" + tube, "403 no_tube"},
        {"DELETE", "/v1/tubes/" + tube + "/jobs/1", "403 no_tube"},
        {"POST", "/v1/reserve?timeout=0s&tube=" + tube, "400 parameter tube"},
        {"POST", "/v1/tubes/" + tube + "/kick", "400 path tube"},
        {"POST", "/v1/tubes/" + tube + "/pause?length=1h", "400 path tube"},
        {"POST", "/v1/tubes/" + tube + "/clear", "400 path tube"},
    };
    for (const naming& each : all) {
      const received got = co_await client.ask(each.method, each.target);
      EXPECT_EQ(got.wrong(), each.problem) << each.method << each.target;
    }
    const received put = co_await client.ask("POST", "/v1/jobs?tube=" + tube);
    EXPECT_EQ(put.wrong(), "400 parameter tube");
    const received still = co_await client.ask("GET", "/v1/actions/" + id);
    EXPECT_EQ(still.value()["state"], "counted");
  });
}

}  // namespace
}  // namespace foliot::program::http
