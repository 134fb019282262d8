// Policies of tubes over HTTP, and what jobs have of them: what is made, told and refused. On virtual time.
#include "server/http/policy_requests.hpp"

#include <chrono>
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/job_tries.hpp>

#include "schedules_server.hpp"
#include "server/access/server_tubes.hpp"
#include "server/policies/policy_record.hpp"

namespace foliot::program::http {
namespace {

using namespace std::chrono_literals;

constexpr const char* of_mail = "/v1/policies/mail";

std::string etag_of(const received& got) {
  const std::size_t at = got.head.find("ETag: ");
  if (at == std::string::npos) return {};
  const std::string rest = got.head.substr(at + 6);
  return rest.substr(0, rest.find('\r'));
}

TEST(PolicyRequests, IsMadeChangedShownAndRemoved) {
  with_server([](http_server& in) -> task<> {
    const received none = co_await ask(in, "GET", of_mail);
    EXPECT_EQ(none.wrong(), "404 gone");
    const received made = co_await ask(in, "PUT", of_mail, R"({"tries":5,"delay":"10s"})");
    EXPECT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(made.value()["outcome"], "made");
    EXPECT_EQ(etag_of(made), fmt::format("\"{}\"", made.value()["version"].get<std::string>()));
    const auto table = in.policies.known();
    EXPECT_NE(table, nullptr) << "in force when the answer comes";
    if (table == nullptr) co_return;
    EXPECT_EQ(table->at("mail").tries, 5u);

    const received same = co_await ask(in, "PUT", of_mail, R"({"delay":10,"tries":5,"burst":1})");
    EXPECT_EQ(same.status, 400) << "burst without a rate";
    const received again = co_await ask(in, "PUT", of_mail, R"({"delay":10,"tries":5})");
    EXPECT_EQ(again.status, 200);
    EXPECT_EQ(again.value()["outcome"], "unchanged");
    EXPECT_EQ(etag_of(again), etag_of(made));

    const received shown = co_await ask(in, "GET", of_mail);
    EXPECT_EQ(shown.value()["policy"].dump(), R"({"delay":"10s","tries":5})") << shown.body;
    EXPECT_EQ(etag_of(shown), etag_of(made));

    const received changed = co_await ask(in, "PUT", "/v1/policy?tube=mail", R"({"tries":6})");
    EXPECT_EQ(changed.status, 200);
    EXPECT_EQ(changed.value()["outcome"], "changed");
    EXPECT_NE(etag_of(changed), etag_of(made));
    EXPECT_EQ(in.policies.known()->at("mail").tries, 6u);

    const received removed = co_await ask(in, "DELETE", of_mail);
    EXPECT_EQ(removed.value()["outcome"], "deleted") << removed.body;
    EXPECT_EQ(in.policies.known(), nullptr);
    const received missing = co_await ask(in, "DELETE", of_mail);
    EXPECT_EQ(missing.wrong(), "404 gone");
  });
}

TEST(PolicyRequests, ChangesOnlyTheVersionThatIsExpected) {
  with_server([](http_server& in) -> task<> {
    const received absent = co_await ask(in, "PUT", of_mail, "{}", "If-Match: *\r\n");
    EXPECT_EQ(absent.wrong(), "412 header if-match");
    const received named = co_await ask(in, "PUT", of_mail, "{}", "If-Match: \"7\"\r\n");
    EXPECT_EQ(named.wrong(), "412 header if-match");
    const received made = co_await ask(in, "PUT", of_mail, R"({"tries":1})", "If-None-Match: *\r\n");
    EXPECT_EQ(made.status, 201) << made.body;
    const received exists = co_await ask(in, "PUT", of_mail, R"({"tries":2})", "If-None-Match: *\r\n");
    EXPECT_EQ(exists.wrong(), "412 header if-none-match");
    EXPECT_EQ(etag_of(exists), etag_of(made));
    const std::string first = "If-Match: " + etag_of(made) + "\r\n";
    const received second = co_await ask(in, "PUT", of_mail, R"({"tries":2})", first);
    EXPECT_EQ(second.status, 200) << second.body;
    const received late = co_await ask(in, "PUT", of_mail, R"({"tries":3})", first);
    EXPECT_EQ(late.wrong(), "412 header if-match");
    EXPECT_EQ(etag_of(late), etag_of(second));
    const received kept = co_await ask(in, "DELETE", of_mail, "", first);
    EXPECT_EQ(kept.wrong(), "412 header if-match");
    const received any = co_await ask(in, "PUT", of_mail, R"({"tries":4})", "If-Match: *\r\n");
    EXPECT_EQ(any.status, 200);
    const received removed = co_await ask(in, "DELETE", of_mail, "", "If-Match: " + etag_of(any) + "\r\n");
    EXPECT_EQ(removed.status, 200) << removed.body;
    const received both = co_await ask(in, "PUT", of_mail, "{}", "If-Match: *\r\nIf-None-Match: *\r\n");
    EXPECT_EQ(both.status, 400);
  });
}

TEST(PolicyRequests, NameWhatIsWrong) {
  with_server([](http_server& in) -> task<> {
    const std::vector<std::pair<std::string, std::string>> cases = {
        {R"({"tries":"many"})", "400 pointer #/tries"},
        {R"({"delay":["1s","x"]})", "400 pointer #/delay/1"},
        {R"({"delay":{"factor":0}})", "400 pointer #/delay/factor"},
        {R"({"dead_letters":"mail"})", "400 pointer #/dead_letters"},
        {R"({"tires":5})", "400 pointer #/tires"},
    };
    for (const auto& [body, wrong] : cases) {
      const received got = co_await ask(in, "PUT", of_mail, body);
      EXPECT_EQ(got.wrong(), wrong) << body << got.body;
    }
    const received of_server = co_await ask(in, "PUT", "/v1/policies/-foliot.actions", "{}");
    EXPECT_EQ(of_server.status, 400) << of_server.body;
    const received slash = co_await ask(in, "PUT", "/v1/policies/a%2Fb", R"({"tries":1})");
    EXPECT_EQ(slash.status, 201) << slash.body;
    const received shown = co_await ask(in, "GET", "/v1/policy?tube=a/b");
    EXPECT_EQ(shown.value()["policy"]["tries"], 1) << shown.body;
    const received empty = co_await ask(in, "PUT", of_mail);
    EXPECT_EQ(empty.status, 400);
  });
}

/// Jobs would be tried without end.
TEST(PolicyRequests, RefuseDeadLettersThatComeBack) {
  with_server([](http_server& in) -> task<> {
    const received first = co_await ask(in, "PUT", "/v1/policies/a", R"({"tries":1,"dead_letters":"b"})");
    EXPECT_EQ(first.status, 201) << first.body;
    const received second = co_await ask(in, "PUT", "/v1/policies/b", R"({"tries":1,"dead_letters":"c"})");
    EXPECT_EQ(second.status, 201) << second.body;
    const received circle = co_await ask(in, "PUT", "/v1/policies/c", R"({"tries":1,"dead_letters":"a"})");
    EXPECT_EQ(circle.wrong(), "400 pointer #/dead_letters") << circle.body;
    const received other = co_await ask(in, "PUT", "/v1/policies/c", R"({"tries":1,"dead_letters":"d"})");
    EXPECT_EQ(other.status, 201) << other.body;
  });
}

/// It was put: only its version is not known.
TEST(PolicyRequests, TellThatAPolicyWasPutThoughTheStoreDoesNotAnswerBehindIt) {
  const auto body = [](http_server& in) -> task<> {
    bool was_put = false;
    in.store.before = [&](std::span<jobs::operation> batch) {
      if (was_put) throw jobs::store_unavailable(jobs::store_unavailable::kind::not_executed, "the line is dead");
      for (const jobs::operation& each : batch) was_put = was_put || std::holds_alternative<jobs::put>(each);
    };
    const received made = co_await ask(in, "PUT", of_mail, R"({"tries":5})");
    in.store.accept();
    EXPECT_EQ(made.status, 201) << made.body;
    const auto shown = co_await look(in, of_mail);
    EXPECT_EQ(shown["policy"]["tries"], 5) << shown;
  };
  with_server(body, nullptr, nullptr, {}, foliot::test::shared::yes);
}

TEST(PolicyRequests, ListsPages) {
  with_server([](http_server& in) -> task<> {
    std::set<std::string> wanted;
    for (int i = 0; i < 25; ++i) {
      const std::string tube = fmt::format("{}.{}", i % 2 == 0 ? "even" : "odd", i);
      const std::string target = "/v1/policies/" + tube;
      const std::string policy = fmt::format("{{\"tries\":{}}}", i + 1);
      const received made = co_await ask(in, "PUT", target, policy);
      EXPECT_EQ(made.status, 201) << made.body;
      if (i % 2 == 0) wanted.insert(tube);
    }
    for (const int count : {1, 4, 100}) {
      std::multiset<std::string> seen;
      std::string cursor;
      int pages = 0;
      do {
        std::string target = fmt::format("/v1/policies?prefix=even.&count={}", count);
        if (!cursor.empty()) target += "&cursor=" + cursor;
        const auto page = co_await look(in, target);
        EXPECT_LE(page["policies"].size(), static_cast<std::size_t>(count));
        for (const auto& each : page["policies"]) {
          seen.insert(each["tube"].get<std::string>());
          EXPECT_GE(each["policy"]["tries"], 1);
        }
        cursor = page.value("next", "");
      } while (!cursor.empty() && ++pages < 100);
      EXPECT_EQ(seen, std::multiset<std::string>(wanted.begin(), wanted.end())) << count;
    }
    const received wrong = co_await ask(in, "GET", "/v1/policies?cursor=x");
    EXPECT_EQ(wrong.wrong(), "400 parameter cursor");
  });
}

TEST(PolicyRequests, ShowsARecordThatCannotBeRead) {
  with_server([](http_server& in) -> task<> {
    const received made = co_await ask(in, "PUT", of_mail, R"({"tries":5})");
    EXPECT_EQ(made.status, 201);
    jobs::put other = put_of_policy("mail", {});
    other.body = R"({"of_a_later_version":1})";
    other.existing = jobs::on_existing::replace;
    static_cast<void>(jobs::execute_one(in.memory, std::move(other)));
    co_await in.policies.read();
    const auto shown = co_await look(in, of_mail);
    EXPECT_TRUE(shown["fault"].get<std::string>().contains("of_a_later_version")) << shown;
    EXPECT_EQ(shown["policy"]["tries"], 5) << "the one that stays in force";
    EXPECT_EQ(in.warnings.size(), 1u);
    const received anew = co_await ask(in, "PUT", of_mail, R"({"tries":6})");
    EXPECT_EQ(anew.status, 200) << anew.body;
    const auto again = co_await look(in, of_mail);
    EXPECT_FALSE(again.contains("fault")) << again;
  });
}

TEST(PolicyRequests, ListsTellWhatHasFailedIfAsked) {
  with_server([](http_server& in) -> task<> {
    jobs::job_tries tries;
    tries.note({.how = jobs::failed_try::kind::buried, .why = "it is full", .worker = "w"});
    jobs::put first;
    first.tube = "mail";
    first.body = "a";
    EXPECT_TRUE(first.fields.set(jobs::tag_of_group, "customer 7"));
    EXPECT_TRUE(tries.write(first.history));
    static_cast<void>(jobs::execute_one(in.memory, std::move(first)));
    const received second = co_await ask(in, "POST", "/v1/jobs?tube=mail", R"({"text":"b","delay":"1h"})");
    EXPECT_EQ(second.status, 201) << second.body;
    const auto whole = co_await look(in, "/v1/jobs/1");
    if (!whole.contains("tries")) {
      ADD_FAILURE() << whole;
      co_return;
    }
    EXPECT_EQ(whole["tries"]["last"][0]["why"], "it is full") << whole;
    for (const std::string target : {"/v1/jobs?with_tries=true", "/v1/jobs?tube=mail&state=ready&with_tries=true",
                                     "/v1/tubes/mail/jobs?with_tries=true&count=100"}) {
      const auto page = co_await look(in, target);
      EXPECT_EQ(page["jobs"][0]["tries"], whole["tries"]) << target << page;
      EXPECT_EQ(page["jobs"][0]["group"], "customer 7") << target << page;
      for (std::size_t i = 1; i < page["jobs"].size(); ++i) EXPECT_FALSE(page["jobs"][i].contains("tries")) << page;
    }
    const auto without = co_await look(in, "/v1/jobs?tube=mail&state=ready");
    EXPECT_FALSE(without["jobs"][0].contains("tries")) << without;
    const received many = co_await ask(in, "GET", "/v1/jobs?with_tries=true&count=101");
    EXPECT_EQ(many.status, 400) << many.body;
    const received reserved = co_await ask(in, "GET", "/v1/reservations?with_tries=true");
    EXPECT_EQ(reserved.value()["jobs"].size(), 0u) << reserved.body;
  });
}

TEST(PolicyRequests, AJobHasAGroupAndAnExpiry) {
  with_server([](http_server& in) -> task<> {
    const received put =
        co_await ask(in, "POST", "/v1/jobs?tube=mail", R"({"text":"a","group":"customer 7","expires_in":"1h"})");
    EXPECT_EQ(put.status, 201) << put.body;
    const auto shown = co_await look(in, "/v1/jobs/" + put.value()["id"].get<std::string>());
    EXPECT_EQ(shown["group"], "customer 7") << shown;
    EXPECT_TRUE(shown.contains("expires")) << shown;
    EXPECT_FALSE(shown.contains("tries")) << "it has had none";
    const received exact = co_await ask(in, "POST", "/v1/jobs?tube=mail&expires=2100-01-01T00:00:00.007Z");
    const auto seen = co_await look(in, "/v1/jobs/" + exact.value()["id"].get<std::string>());
    EXPECT_EQ(seen["expires"], "2100-01-01T00:00:00.007Z");
    const std::vector<std::pair<std::string, std::string>> wrong = {
        {R"({"group":""})", "400 pointer #/group"},
        {R"({"group":"a\tb"})", "400 pointer #/group"},
        {fmt::format(R"({{"group":"{}"}})", std::string(201, 'a')), "400 pointer #/group"},
        {R"({"expires":"soon"})", "400 pointer #/expires"},
        {R"({"expires":"1970-01-01T00:00:00Z"})", "400 pointer #/expires"},
        {R"({"expires_in":"0s"})", "400 pointer #/expires_in"},
        {R"({"expires_in":"1h","delay":"1h"})", "400 pointer #/expires_in"},
        {R"({"expires_in":"1h","expires":"2100-01-01T00:00:00Z"})", "400 pointer #/expires"},
    };
    for (const auto& [body, told] : wrong) {
      const received got = co_await ask(in, "POST", "/v1/jobs?tube=mail", body);
      EXPECT_EQ(got.wrong(), told) << body << got.body;
    }
  });
}

/// A repeat names the same length, and so another time.
TEST(PolicyRequests, AnExpiryInALengthOfTimeIsThatOfTheFirstRequest) {
  with_server([](http_server& in) -> task<> {
    const std::string key = "Idempotency-Key: k-1\r\n";
    const received put = co_await ask(in, "POST", "/v1/jobs?tube=mail&expires_in=1h", "", key);
    EXPECT_EQ(put.status, 201) << put.body;
    co_await runtime::sleep(5s);
    const received again = co_await ask(in, "POST", "/v1/jobs?tube=mail&expires_in=1h", "", key);
    EXPECT_TRUE(is_replayed(again)) << again.body;
    for (const std::string other : {"expires_in=2h", "expires_in=1h&group=a", "delay=0s"}) {
      const received refused = co_await ask(in, "POST", "/v1/jobs?tube=mail&" + other, "", key);
      EXPECT_EQ(refused.status, 422) << other << refused.body;
    }
  });
}

/// Where the store acts by policies, it takes these from the history of the operation; here it does not.
TEST(PolicyRequests, AWorkerSaysWhyItGivesAJobBack) {
  with_server([](http_server& in) -> task<> {
    const received put = co_await ask(in, "POST", "/v1/jobs?tube=mail", R"({"text":"a"})");
    EXPECT_EQ(put.status, 201);
    http_client client(in);
    const auto reserve = [&]() -> task<std::string> {
      const received got = co_await client.ask("POST", "/v1/reserve?tube=mail&timeout=0s");
      co_return got.value()["jobs"].at(0)["reservation"].get<std::string>();
    };
    const auto history = [&] {
      const auto seen = jobs::execute_one(in.memory, jobs::peek{jobs::job_id{1}, false});
      const auto why = seen.job->history.find(jobs::tag_of_reason);
      const auto who = seen.job->history.find(jobs::tag_of_worker);
      return fmt::format("{} by {}", why.value_or("nothing"), who.value_or("nobody"));
    };
    const std::string first = co_await reserve();
    const received plain = co_await client.ask("POST", "/v1/reservations/" + first + "/release");
    EXPECT_EQ(plain.status, 200) << plain.body;
    EXPECT_EQ(history(), "nothing by nobody") << "without policies nothing changes";
    const std::string second = co_await reserve();
    const received told = co_await client.ask_json("POST", "/v1/reservations/" + second + "/release",
                                                   R"({"reason":"the mailbox is full"})");
    EXPECT_EQ(told.status, 200) << told.body;
    EXPECT_EQ(history(), "the mailbox is full by 127.0.0.1");
    const std::string third = co_await reserve();
    const std::string batch = R"({"jobs":[{"bury":{"reservation":")" + third + R"(","reason":"no such mailbox"}}]})";
    const received buried = co_await client.ask_json("POST", "/v1/batch", batch);
    EXPECT_EQ(buried.status, 200) << buried.body;
    EXPECT_EQ(history(), "no such mailbox by 127.0.0.1");
    co_await client.leave();
  });
}

/// 300 bytes are kept, and no half of a character.
TEST(PolicyRequests, CutsALongReason) {
  with_server([](http_server& in) -> task<> {
    const received put = co_await ask(in, "POST", "/v1/jobs?tube=mail", R"({"text":"a"})");
    EXPECT_EQ(put.status, 201);
    http_client client(in);
    const received got = co_await client.ask("POST", "/v1/reserve?tube=mail&timeout=0s");
    const std::string token = got.value()["jobs"].at(0)["reservation"].get<std::string>();
    std::string reason(299, 'a');
    reason += "\u00e9t\u00e9";
    const std::string told = fmt::format(R"({{"reason":"{}"}})", reason);
    const received done = co_await client.ask_json("POST", "/v1/reservations/" + token + "/bury", told);
    EXPECT_EQ(done.status, 200) << done.body;
    const auto seen = jobs::execute_one(in.memory, jobs::peek{jobs::job_id{1}, false});
    EXPECT_EQ(seen.job->history.find(jobs::tag_of_reason), std::string(299, 'a'));
    co_await client.leave();
  });
}

}  // namespace
}  // namespace foliot::program::http
