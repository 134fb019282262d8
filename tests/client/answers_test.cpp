// What replies mean, for each operation: every word of the protocol is an answer, an error that says so, or wrong.
#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/client/commands.hpp>

namespace foliot::client {
namespace {

using namespace std::chrono_literals;
using kind = client_error::kind;

server_reply reply_of(std::string bytes) {
  reply_reader reader;
  reader.add(bytes);
  return reader.next({65'536, 65'536}).value();
}

template <class Operation>
result_of<Operation> answer(const Operation& what, std::vector<std::string> bytes, bool is_foliot = true) {
  std::vector<server_reply> replies;
  for (std::string& each : bytes) replies.push_back(reply_of(std::move(each)));
  return answer_in(what, replies, is_foliot);
}

/// What the operation comes to: "answer", or the error.
template <class Operation>
std::string verdict(const Operation& what, std::string bytes, bool is_foliot = true) {
  const auto got = answer(what, {std::move(bytes)}, is_foliot);
  if (got) return "answer";
  EXPECT_FALSE(got.error().text.empty());
  std::string said;
  switch (got.error().what) {
    case kind::bad_answer: said = "bad"; break;
    case kind::forbidden: said = "forbidden"; break;
    case kind::no_space: said = "no space"; break;
    case kind::draining: said = "draining"; break;
    case kind::too_large: said = "too large"; break;
    case kind::unavailable: said = "unavailable"; break;
    case kind::unknown_command: said = "unknown"; break;
    case kind::not_signed_in: said = "not signed in"; break;
    default: said = "?"; break;
  }
  return got.error().is_in_doubt ? said + " in doubt" : said;
}

const jobs::put plain{.tube = "t", .body = "x"};
const jobs::put keyed{.tube = "t", .key = "k", .body = "x"};

TEST(ClientAnswers, ToAPut) {
  jobs::put replacing = keyed;
  replacing.existing = jobs::on_existing::replace;
  jobs::put refusing = keyed;
  refusing.existing = jobs::on_existing::refuse;
  struct row {
    std::string reply;
    std::string to_plain, to_keeping, to_replacing, to_refusing;
  };
  const std::string wrong = "bad in doubt";
  for (const row& each :
       {row{"INSERTED 1", "answer", "answer", "answer", "answer"}, row{"INSERTED 0", wrong, wrong, wrong, wrong},
        row{"INSERTED 18446744073709551615", wrong, wrong, wrong, wrong}, row{"KEPT 1", wrong, "answer", wrong, wrong},
        row{"REPLACED 1", wrong, wrong, "answer", wrong}, row{"IS_RESERVED 1", wrong, wrong, "answer", wrong},
        row{"EXISTS 1", wrong, wrong, wrong, "answer"}, row{"OUT_OF_MEMORY", "answer", "answer", "answer", "answer"},
        row{"DRAINING", "draining", "draining", "draining", "draining"},
        row{"JOB_TOO_BIG", "too large", "too large", "too large", "too large"},
        row{"FORBIDDEN", "forbidden", "forbidden", "forbidden", "forbidden"},
        row{"BURIED 3", "no space in doubt", "no space in doubt", "no space in doubt", "no space in doubt"},
        row{"DELETED", wrong, wrong, wrong, wrong}, row{"BAD_FORMAT", "bad", "bad", "bad", "bad"},
        row{"USING t", wrong, wrong, wrong, wrong}}) {
    SCOPED_TRACE(each.reply);
    EXPECT_EQ(verdict(plain, each.reply + "\r\n"), each.to_plain);
    EXPECT_EQ(verdict(keyed, each.reply + "\r\n"), each.to_keeping);
    EXPECT_EQ(verdict(replacing, each.reply + "\r\n"), each.to_replacing);
    EXPECT_EQ(verdict(refusing, each.reply + "\r\n"), each.to_refusing);
  }
  EXPECT_EQ(answer(plain, {"OUT_OF_MEMORY\r\n"})->what, jobs::put_answer::kind::no_space);
  EXPECT_EQ(answer(keyed, {"KEPT 5\r\n"})->id, 5u);
}

TEST(ClientAnswers, AnInternalErrorLeavesOnlyBeanstalkdInDoubt) {
  EXPECT_EQ(verdict(plain, "INTERNAL_ERROR\r\n", true), "unavailable");
  EXPECT_EQ(verdict(plain, "INTERNAL_ERROR\r\n", false), "unavailable in doubt");
  EXPECT_EQ(verdict(jobs::count_all{}, "INTERNAL_ERROR\r\n", false), "unavailable");
}

TEST(ClientAnswers, ToAReserve) {
  const reserve what{{"t"}};
  EXPECT_EQ(answer(what, {"TIMED_OUT\r\n"})->what, reserve_answer::kind::timed_out);
  EXPECT_EQ(answer(what, {"DEADLINE_SOON\r\n"})->what, reserve_answer::kind::deadline_soon);
  const auto got = answer(what, {"RESERVED 7 4\r\na\r\nb\r\n"});
  EXPECT_EQ(got->job.value().token.id, 7u);
  EXPECT_EQ(got->job->body, "a\r\nb");
  EXPECT_EQ(verdict(what, "RESERVED 0 1\r\nx\r\n"), "bad");
  const auto large = answer(what, {"RESERVED 1 65537\r\n" + std::string(65'537, 'x') + "\r\n"});
  EXPECT_EQ(large.value().what, reserve_answer::kind::too_large);
  EXPECT_FALSE(large->job);
  EXPECT_EQ(large->unread.value().token.id, 1u);
  EXPECT_EQ(large->unread->size, 65'537u);
  EXPECT_EQ(verdict(what, "FOUND 1 1\r\nx\r\n"), "bad");
  EXPECT_EQ(verdict(what, "OUT_OF_MEMORY\r\n"), "no space");
  EXPECT_EQ(verdict(what, "FORBIDDEN\r\n"), "forbidden");
  EXPECT_EQ(verdict(what, "UNKNOWN_COMMAND\r\n"), "unknown");
}

TEST(ClientAnswers, ToTheHolderOfAJob) {
  const jobs::reservation token{.id = 7, .opening = 1};
  const auto check = [](const auto& what, std::string_view right) {
    for (const std::string word : {"DELETED", "TOUCHED", "RELEASED", "BURIED"}) {
      const std::string said = verdict(what, word + "\r\n");
      const bool is_release_buried = right == "RELEASED" && word == "BURIED";
      EXPECT_EQ(said, word == right ? "answer" : is_release_buried ? "no space in doubt" : "bad in doubt") << word;
    }
    EXPECT_EQ(answer(what, {"NOT_FOUND\r\n"})->what, jobs::holder_answer::kind::not_held);
    EXPECT_EQ(answer(what, {"OUT_OF_MEMORY\r\n"})->what, jobs::holder_answer::kind::no_space);
  };
  check(jobs::finish{token}, "DELETED");
  check(jobs::touch{token}, "TOUCHED");
  check(jobs::release{token, 1}, "RELEASED");
  check(jobs::bury{token, 1}, "BURIED");
}

TEST(ClientAnswers, ToAChange) {
  using enum jobs::change_answer::kind;
  const auto check = [](const auto& by_id, const auto& by_key, const std::string& right) {
    EXPECT_EQ(answer(by_id, {right + " 7\r\n"})->what, done);
    EXPECT_EQ(answer(by_key, {right + " 9\r\n"})->id, 9u);
    EXPECT_EQ(answer(by_id, {"IS_RESERVED 7\r\n"})->what, reserved);
    EXPECT_EQ(answer(by_id, {"GONE\r\n"})->what, gone);
    EXPECT_EQ(answer(by_id, {"OUT_OF_MEMORY\r\n"})->what, no_space);
    EXPECT_EQ(verdict(by_id, right + " 8\r\n"), "bad in doubt") << "another job";
    EXPECT_EQ(verdict(by_key, right + " 0\r\n"), "bad in doubt");
    for (const std::string other : {"CANCELLED", "RESCHEDULED", "FIRED", "KEPT"}) {
      if (other == right) continue;
      EXPECT_EQ(verdict(by_id, other + " 7\r\n"), "bad in doubt") << other;
    }
  };
  const jobs::job_key key{"t", "k"};
  check(jobs::cancel{jobs::job_id{7}}, jobs::cancel{key}, "CANCELLED");
  check(jobs::reschedule{jobs::job_id{7}, 1s}, jobs::reschedule{key, 1s}, "RESCHEDULED");
  check(jobs::fire_now{jobs::job_id{7}}, jobs::fire_now{key}, "FIRED");
}

TEST(ClientAnswers, ToAKickAndToCounts) {
  EXPECT_EQ(answer(jobs::kick{"t", 5}, {"KICKED 3\r\n"})->changed, 3u);
  EXPECT_EQ(verdict(jobs::kick{"t", 5}, "KICKED 6\r\n"), "bad in doubt");
  EXPECT_EQ(verdict(jobs::kick{"t", 5}, "NOT_FOUND\r\n"), "bad in doubt");
  const std::string counts =
      "---\ncurrent-jobs-urgent: 1\ncurrent-jobs-ready: 2\ncurrent-jobs-reserved: 3\ncurrent-jobs-delayed: 4\n"
      "current-jobs-buried: 5\n";
  const auto ok = [](const std::string& text) { return "OK " + std::to_string(text.size()) + "\r\n" + text + "\r\n"; };
  const auto got = answer(jobs::count_tube{"t"}, {ok(counts)});
  EXPECT_EQ(got.value().counts, (jobs::job_counts{1, 2, 3, 4, 5}));
  EXPECT_EQ(answer(jobs::count_tube{"t"}, {"NOT_FOUND\r\n"})->counts, jobs::job_counts());
  EXPECT_EQ(verdict(jobs::count_all{}, "NOT_FOUND\r\n"), "bad");
  EXPECT_EQ(verdict(jobs::count_all{}, ok("---\ncurrent-jobs-urgent: 1\n")), "unavailable");
}

TEST(ClientAnswers, ToAListOfWhatIsDue) {
  const auto list = [](const std::string& entries) {
    const std::string text = "---\n" + entries;
    return answer(jobs::list_due{}, {"OK " + std::to_string(text.size()) + "\r\n" + text + "\r\n"});
  };
  const auto got = list(
      "- {id: 7, tube: \"re\\\"m\\\\i\\n\\x01\", state: delayed, due-ms: 1893456000000}\n"
      "- {id: 8, tube: \"x\", state: ready, due-ms: 1}\n"
      "- {id: 9, tube: \"mail\", state: delayed, due-ms: 1893456000001}\n");
  ASSERT_TRUE(got) << got.error().text;
  ASSERT_EQ(got->jobs.size(), 2u) << "a job in another state is skipped";
  EXPECT_EQ(got->jobs[0].tube, "re\"m\\i\n\x01");
  EXPECT_EQ(got->jobs[0].due, jobs::utc_time(1'893'456'000'000ms));
  EXPECT_EQ(got->jobs[1].id, 9u);
  EXPECT_TRUE(list("")->jobs.empty());
  const std::string right = "- {id: 7, tube: \"mail\", state: delayed, due-ms: 1893456000000}\n";
  ASSERT_TRUE(list(right));
  for (std::size_t cut = 3; cut + 1 < right.size(); ++cut)
    EXPECT_FALSE(list(right.substr(0, cut) + "\n")) << right.substr(0, cut);
  for (const std::string wrong :
       {"- {id: 0, tube: \"a\", state: delayed, due-ms: 1}\n", "- {id: 7, tube: \"a\", state: delayed, due-ms: -1}\n",
        "- {id: 7, tube: \"a\", state: delayed, due-ms: 9999999999999999}\n",
        "- {id: 7, tube: \"\\x0\", state: delayed, due-ms: 1}\n", "- {id: 7, tube: a, state: delayed, due-ms: 1}\n"}) {
    EXPECT_FALSE(list(wrong)) << wrong;
  }
  std::string many;
  for (int i = 0; i < 101; ++i) many += right;
  EXPECT_FALSE(list(many)) << "more than were asked for";
}

TEST(ClientAnswers, ToAPeek) {
  const std::string text =
      "---\nid: 7\ntube: \"t\"\nstate: ready\npri: 1\nage: 1\ndelay: 0\nttr: 10\ntime-left: 0\nfile: 0\n"
      "reserves: 1\ntimeouts: 2\nreleases: 3\nburies: 4\nkicks: 5\n";
  const std::string statistics = "OK " + std::to_string(text.size()) + "\r\n" + text + "\r\n";
  const jobs::peek what{jobs::job_id{7}};
  const auto got = answer(what, {statistics, "FOUND 7 2\r\nhi\r\n"});
  EXPECT_EQ(got.value().body, "hi");
  EXPECT_EQ(got->job.value().tube, "t");
  EXPECT_FALSE(answer(what, {"NOT_FOUND\r\n", "NOT_FOUND\r\n"})->job);
  EXPECT_FALSE(answer(what, {statistics, "NOT_FOUND\r\n"})->job);
  EXPECT_FALSE(answer(what, {statistics, "FOUND 8 2\r\nhi\r\n"}));
  const auto large = answer(what, {statistics, "FOUND 7 65537\r\n" + std::string(65'537, 'x') + "\r\n"});
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().what, kind::too_large);
  EXPECT_TRUE(large.error().text.contains("job 7 has 65537 bytes")) << large.error().text;
  EXPECT_FALSE(answer(what, {"OK 4\r\n---\n\r\n", "FOUND 7 2\r\nhi\r\n"}));
  EXPECT_FALSE(answer(jobs::peek{jobs::job_id{8}, false}, {statistics}));
}

}  // namespace
}  // namespace foliot::client
