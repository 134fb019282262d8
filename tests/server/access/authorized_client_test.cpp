// Every operation of the table with every scope, in tubes that the rights include and in others, with jobs that are
// there and with none. The cases come from the table: a new operation needs an example here, and no case.
#include "server/access/authorized_client.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/jobs/calls.hpp>
#include <foliot/runtime/run.hpp>

#include "jobs/kit/broker_world.hpp"
#include "jobs/kit/jobs.hpp"
#include "server/access/server_tubes.hpp"

namespace foliot::program {
namespace {

using namespace std::chrono_literals;

using words = std::vector<std::string>;
using refusal = std::optional<access_refused::reason>;

/// The jobs of a test: in the tube `mail` one that is ready, one that is due later, and one that a worker has.
struct stored_jobs {
  explicit stored_jobs(jobs::job_store& in) {
    jobs::put what{.tube = "mail", .body = "text", .ttr = 1h};
    held = jobs::execute_one(in, what).id;
    token = foliot_test::claim_one(in, "mail").token;
    what.key = "key";
    ready = jobs::execute_one(in, what).id;
    what.key.clear();
    what.due = jobs::milliseconds(1h);
    delayed = jobs::execute_one(in, what).id;
    what.tube = std::string(tube_of_actions);
    static_cast<void>(jobs::execute_one(in, what));
    what.due = jobs::milliseconds(0);
    of_server = jobs::execute_one(in, what).id;
  }

  jobs::job_id held = 0;
  jobs::job_id ready = 0;
  jobs::job_id delayed = 0;
  jobs::job_id of_server = 0;  // in a tube of the server itself, in which there is a delayed one, too
  jobs::reservation token;
};

constexpr jobs::job_id nowhere = 999;

/// An operation about the tube `mail` and this job of it, with the members that the table says it has.
template <class Operation>
Operation example(const stored_jobs& stored, jobs::job_name ready, jobs::reservation token) {
  Operation what{};
  constexpr bool is_of_all = jobs::facts_of<Operation>().target == jobs::operation_target::by_store;
  if constexpr (requires { what.tube; } && !is_of_all) what.tube = "mail";
  if constexpr (requires { what.tubes; }) what.tubes = {"mail"};
  if constexpr (requires { what.puts; }) what.puts = {{.tube = "mail", .body = "a"}, {.tube = "mail", .body = "b"}};
  if constexpr (requires { what.name; }) what.name = ready;
  if constexpr (requires { what.token; }) what.token = token;
  if constexpr (requires { what.id; }) what.id = std::get<jobs::job_id>(ready);
  if constexpr (std::is_same_v<Operation, jobs::kick_job>) {
    if (what.id == stored.ready) what.id = stored.delayed;
  }
  if constexpr (requires { what.ttr; }) what.ttr = 1min;
  if constexpr (std::is_same_v<Operation, jobs::list_tubes>) what.count = 10;
  return what;
}

/// What came of an operation.
template <class Operation>
struct outcome {
  refusal refused;
  std::optional<jobs::answer_of<Operation>> answer;
  bool has_reached_the_store = false;  // the operation itself, not a look before it
};

template <class Operation>
task<> try_one(authorized_client& client, Operation what, outcome<Operation>& into) {
  try {
    auto executing = client.execute(std::move(what));
    into.answer = co_await executing;
  } catch (const access_refused& why) {
    into.refused = why.why();
  }
}

/// A peek without the body may be a look for the tube of a job: it does not count.
template <class Operation>
bool is_that(const jobs::operation& each) {
  if constexpr (std::is_same_v<Operation, jobs::peek>) {
    const auto* const look = std::get_if<jobs::peek>(&each);
    return look != nullptr && look->with_body;
  } else {
    return std::holds_alternative<Operation>(each);
  }
}

/// Lets a client with these rights try an operation in a store with the jobs above. `make` gets them.
template <class Operation>
outcome<Operation> outcome_of(std::shared_ptr<const rights> given,
                              const std::function<Operation(const stored_jobs&)>& make, authority* by = nullptr,
                              const server_jobs* known = nullptr) {
  outcome<Operation> came;
  runtime::run_options options;
  options.processors = 1;
  runtime::run(
      [&]() -> task<> {
        test::broker_world on;
        const stored_jobs stored(on.memory);
        on.store.before = [&](std::span<jobs::operation> batch) {
          for (const jobs::operation& each : batch) came.has_reached_the_store |= is_that<Operation>(each);
        };
        const rights_holder holder(by, given, [] {});
        authorized_client client(on.jobs, holder, known);
        co_await try_one(client, make(stored), came);
      },
      options);
  return came;
}

std::shared_ptr<const rights> rights_of(scope_set scopes, words prefixes) {
  return std::make_shared<const rights>("4f7k2m9q", "a test", scopes, std::move(prefixes), instant::never());
}

scope_set only(scope one) {
  scope_set set;
  set.add(one);
  return set;
}

scope_set all_but(scope one) {
  scope_set set;
  for (const named_scope& each : all_scopes) {
    if (each.what != one) set.add(each.what);
  }
  return set;
}

template <class Operation>
Operation right_example(const stored_jobs& stored) {
  return example<Operation>(stored, stored.ready, stored.token);
}
template <class Operation>
Operation example_of_no_job(const stored_jobs& stored) {
  jobs::reservation other = stored.token;
  other.id = nowhere;
  return example<Operation>(stored, nowhere, other);
}

/// A test for each operation.
template <class Operation>
class EachOperation : public testing::Test {};

/// Whether an operation is refused to clients that may not see all tubes.
template <class Operation>
constexpr bool needs_all_tubes =
    std::is_same_v<Operation, jobs::count_all> || std::is_same_v<Operation, jobs::list_nodes>;

template <class Variant>
struct types_of;
template <class... Operation>
struct types_of<std::variant<Operation...>> {
  using type = testing::Types<Operation...>;
};
struct names_of_operations {
  template <class Operation>
  static std::string GetName(int) {
    return std::string(jobs::facts_of<Operation>().name);
  }
};
using operations = types_of<jobs::operation>::type;
TYPED_TEST_SUITE(EachOperation, operations, names_of_operations);

TYPED_TEST(EachOperation, NeedsItsScopeAndNoOther) {
  constexpr scope needed = jobs::scope_of<TypeParam>();
  for (const named_scope& each : all_scopes) {
    SCOPED_TRACE(each.name);
    for (const words& tubes : {words{""}, words{"mail"}}) {
      if (tubes == words{"mail"} && needs_all_tubes<TypeParam>) continue;
      const auto with = outcome_of<TypeParam>(rights_of(only(each.what), tubes), right_example<TypeParam>);
      EXPECT_EQ(with.refused, each.what == needed ? refusal() : access_refused::reason::no_scope);
      EXPECT_EQ(with.has_reached_the_store, each.what == needed);
      const auto without = outcome_of<TypeParam>(rights_of(all_but(each.what), tubes), right_example<TypeParam>);
      EXPECT_EQ(without.refused, each.what == needed ? access_refused::reason::no_scope : refusal());
      EXPECT_EQ(without.has_reached_the_store, each.what != needed);
    }
  }
}

TYPED_TEST(EachOperation, IsAnsweredAsWithoutAnyLimits) {
  const auto all = outcome_of<TypeParam>(rights::everything(), right_example<TypeParam>);
  ASSERT_TRUE(all.answer);
  EXPECT_TRUE(all.has_reached_the_store);
  if (needs_all_tubes<TypeParam>) return;
  const auto limited = outcome_of<TypeParam>(rights_of(scope_set::all(), {"ma", "x"}), right_example<TypeParam>);
  ASSERT_TRUE(limited.answer);
  if constexpr (requires { all.answer->jobs; } && std::is_same_v<jobs::answer_of<TypeParam>, jobs::claim_answer>) {
    EXPECT_EQ(limited.answer->jobs.size(), 1U);  // their times differ
  } else if constexpr (requires { all.answer->job; }) {
    EXPECT_TRUE(limited.answer->job);
  } else if constexpr (requires { all.answer->what; }) {
    EXPECT_EQ(limited.answer->what, all.answer->what);
  } else if constexpr (requires { all.answer->tubes; }) {
    EXPECT_EQ(limited.answer->tubes, all.answer->tubes);
  }
}

TYPED_TEST(EachOperation, SeesNothingOfOtherTubes) {
  using enum jobs::operation_target;
  constexpr jobs::operation_target target = jobs::facts_of<TypeParam>().target;
  const auto others = rights_of(scope_set::all(), {"bill", "mailbox"});
  const auto there = outcome_of<TypeParam>(others, right_example<TypeParam>);
  constexpr bool names_tubes = target == by_tube || target == by_tubes || target == by_puts;
  if constexpr (names_tubes || needs_all_tubes<TypeParam>) {
    EXPECT_EQ(there.refused, access_refused::reason::no_tube);
    EXPECT_FALSE(there.has_reached_the_store);
  } else if constexpr (target == by_job || target == by_token) {
    // Exactly as a job that does not exist, with these rights and with all.
    EXPECT_EQ(there.refused, refusal());
    EXPECT_FALSE(there.has_reached_the_store);
    const auto missing = outcome_of<TypeParam>(others, example_of_no_job<TypeParam>);
    const auto missing_for_all = outcome_of<TypeParam>(rights::everything(), example_of_no_job<TypeParam>);
    ASSERT_TRUE(there.answer && missing.answer && missing_for_all.answer);
    EXPECT_EQ(*there.answer, *missing.answer);
    EXPECT_EQ(*there.answer, *missing_for_all.answer);
    EXPECT_FALSE(missing.has_reached_the_store);
  } else {
    ASSERT_TRUE(there.answer);
    jobs::answer_of<TypeParam> nothing;
    if constexpr (requires { nothing.now; }) nothing.now = there.answer->now;
    EXPECT_EQ(*there.answer, nothing);
  }
}

/// A client with all rights sees, and changes, nothing of what the server keeps in its own tubes.
TYPED_TEST(EachOperation, SeesNothingOfTheServersTubes) {
  using enum jobs::operation_target;
  constexpr jobs::operation_target target = jobs::facts_of<TypeParam>().target;
  const auto of_server = [](const stored_jobs& stored) {
    auto what = example<TypeParam>(stored, stored.of_server, stored.token);
    if constexpr (requires { what.tube; } && target != by_store) what.tube = std::string(tube_of_actions);
    if constexpr (requires { what.tubes; }) what.tubes = {"mail", std::string(tube_of_actions)};
    if constexpr (requires { what.puts; }) what.puts[1].tube = std::string(tube_of_actions);
    return what;
  };
  const server_jobs known;
  const auto came = outcome_of<TypeParam>(rights::everything(), of_server, nullptr, &known);
  if constexpr (target == by_tube || target == by_tubes || target == by_puts) {
    EXPECT_EQ(came.refused, access_refused::reason::no_tube);
    EXPECT_FALSE(came.has_reached_the_store);
  } else if constexpr (target == by_job) {
    const auto missing = outcome_of<TypeParam>(rights::everything(), example_of_no_job<TypeParam>);
    ASSERT_TRUE(came.answer && missing.answer);
    EXPECT_EQ(*came.answer, *missing.answer);
  } else if constexpr (target == by_store) {
    ASSERT_TRUE(came.answer);
    if constexpr (requires { came.answer->counts.ready; }) {
      EXPECT_EQ(came.answer->counts.ready, 1u);
    }
    if constexpr (requires { came.answer->tubes; }) {
      EXPECT_EQ(came.answer->tubes, words{"mail"});
    }
    if constexpr (std::is_same_v<TypeParam, jobs::list_jobs>) {
      EXPECT_EQ(came.answer->jobs.size(), 3u);
    }
    if constexpr (std::is_same_v<TypeParam, jobs::list_due>) {
      EXPECT_EQ(came.answer->jobs.size(), 1u);
    }
  }
}

TEST(AuthorizedClient, PutsAllOnlyIfEachTubeIsIn) {
  for (const bool is_last_out : {true, false}) {
    const auto came = outcome_of<jobs::put_all>(rights_of(scope_set::all(), {"mail"}), [&](const stored_jobs& stored) {
      auto what = right_example<jobs::put_all>(stored);
      what.puts[is_last_out ? 1 : 0].tube = "bill";
      return what;
    });
    EXPECT_EQ(came.refused, access_refused::reason::no_tube);
    EXPECT_FALSE(came.has_reached_the_store);
  }
}

TYPED_TEST(EachOperation, WithAKeyOfAnotherTubeIsRefused) {
  if constexpr (requires(TypeParam what) { what.name; }) {
    for (const char* const key : {"key", "no such key"}) {
      const auto there = outcome_of<TypeParam>(rights_of(scope_set::all(), {"bill"}), [&](const stored_jobs& stored) {
        return example<TypeParam>(stored, jobs::job_key{"mail", key}, stored.token);
      });
      EXPECT_EQ(there.refused, access_refused::reason::no_tube) << "whether there is such a job or not";
      EXPECT_FALSE(there.has_reached_the_store);
    }
  }
}

TYPED_TEST(EachOperation, IsRefusedWhenTheRightsHaveEnded) {
  authority nobody({});  // those of the holder are gone from the beginning
  const auto ended = outcome_of<TypeParam>(rights_of(scope_set::all(), {""}), right_example<TypeParam>, &nobody);
  EXPECT_EQ(ended.refused, access_refused::reason::ended);
  EXPECT_FALSE(ended.has_reached_the_store);
}

/// Those that are told of changes by clients with these rights.
authority told_of(const std::shared_ptr<const rights>& given, words& told) {
  access_entry entry;
  entry.given = given;
  return authority({entry}, wall_clock::instance(), [&told](std::string_view change) { told.emplace_back(change); });
}

TYPED_TEST(EachOperation, IsToldIfItIsAChangeByAnOperator) {
  constexpr const jobs::operation_facts& facts = jobs::facts_of<TypeParam>();
  for (const scope_set scopes : {scope_set::all(), all_but(scope::administer), only(jobs::scope_of<TypeParam>())}) {
    for (const words& tubes : {words{""}, words{"mail"}}) {
      words told;
      const auto given = rights_of(scopes, tubes);
      authority by = told_of(given, told);
      const auto came = outcome_of<TypeParam>(given, right_example<TypeParam>, &by);
      const bool is_of_a_tube = facts.target == jobs::operation_target::by_tube;
      const bool is_told = facts.scope == scope::administer ||
                           (facts.scope == scope::change && (is_of_a_tube || scopes.has(scope::administer)));
      EXPECT_EQ(told.size(), is_told && came.has_reached_the_store ? 1U : 0U);
      const std::string begin = "4f7k2m9q: " + std::string(facts.name) + ", ";
      for (const std::string& each : told) EXPECT_TRUE(each.starts_with(begin)) << each;
    }
  }
}

/// Runs `body` with a client that has these rights, in a store with the jobs above.
void with_client(std::shared_ptr<const rights> given,
                 const std::function<task<>(authorized_client&, test::broker_world&, const stored_jobs&)>& body) {
  runtime::run_options options;
  options.processors = 1;
  runtime::run(
      [&]() -> task<> {
        test::broker_world on;
        const stored_jobs stored(on.memory);
        const rights_holder holder(nullptr, given, [] {});
        authorized_client client(on.jobs, holder);
        co_await body(client, on, stored);
      },
      options);
}

refusal refused(const std::function<void()>& what) {
  try {
    what();
  } catch (const access_refused& why) {
    return why.why();
  }
  return std::nullopt;
}

TEST(AuthorizedClient, WatchesAndUsesTubesThatAreIn) {
  with_client(rights_of(scope_set::all(), {"mail"}),
              [](authorized_client& client, test::broker_world&, const stored_jobs&) -> task<> {
                EXPECT_EQ(refused([&] { client.use("default"); }), access_refused::reason::no_tube);
                EXPECT_EQ(refused([&] { client.watch("default"); }), access_refused::reason::no_tube);
                EXPECT_EQ(refused([&] { static_cast<void>(client.reserve(duration::zero())); }),
                          access_refused::reason::no_tube)
                    << "no tube is watched";
                client.use("mail");
                EXPECT_EQ(client.watch("mail"), 1U);
                auto reserving = client.reserve(duration::zero());
                const jobs::reserve_answer got = co_await reserving;
                EXPECT_EQ(got.what, jobs::reserve_answer::kind::reserved);
              });
  with_client(rights_of(all_but(scope::reserve), {""}),
              [](authorized_client& client, test::broker_world&, const stored_jobs&) -> task<> {
                EXPECT_EQ(refused([&] { client.watch("mail"); }), access_refused::reason::no_scope);
                EXPECT_EQ(refused([&] { static_cast<void>(client.reserve()); }), access_refused::reason::no_scope);
                EXPECT_EQ(refused([&] { static_cast<void>(client.finish(1)); }), access_refused::reason::no_scope);
                EXPECT_EQ(refused([&] { static_cast<void>(client.touch(1)); }), access_refused::reason::no_scope);
                co_return;
              });
}

TEST(AuthorizedClient, AChangeWithALookSeesNothingOfOtherTubes) {
  for (const words& tubes : {words{""}, words{"mail"}, words{"bill"}}) {
    for (const bool looks_first : {false, true}) {
      const bool is_in = tubes != words{"bill"};
      with_client(rights_of(only(scope::change), tubes),
                  [=](authorized_client& client, test::broker_world& on, const stored_jobs& stored) -> task<> {
                    const jobs::cancel what{stored.ready};
                    auto cancelling = looks_first ? client.execute_after_look(what) : client.execute_and_look(what);
                    const auto done = co_await cancelling;
                    EXPECT_EQ(done.changed.what,
                              is_in ? jobs::change_answer::kind::done : jobs::change_answer::kind::gone);
                    EXPECT_EQ(done.changed.id, is_in ? stored.ready : 0);
                    EXPECT_EQ(done.seen.job.has_value(), is_in);
                    const auto left = jobs::execute_one(on.memory, jobs::peek{stored.ready});
                    EXPECT_EQ(left.job.has_value(), !is_in);
                  });
    }
  }
}

/// What is told of an operation.
template <class Operation>
words told_for(const words& tubes, const std::function<Operation(const stored_jobs&)>& make) {
  words told;
  const auto given = rights_of(scope_set::all(), tubes);
  authority by = told_of(given, told);
  static_cast<void>(outcome_of<Operation>(given, make, &by));
  return told;
}

TEST(AuthorizedClient, TellsWhatIsChangedAndWhere) {
  EXPECT_EQ(told_for<jobs::pause>({""}, [](auto&) { return jobs::pause{"mail", 1min}; }),
            words{"4f7k2m9q: pause, tube 'mail'"});
  EXPECT_EQ(told_for<jobs::pause>({""}, [](auto&) { return jobs::pause{"a'b\n", 1min}; }),
            words{"4f7k2m9q: pause, tube 'a\\x27b\n'"})
      << "the log escapes control characters";
  EXPECT_EQ(told_for<jobs::cancel>({""}, [](auto& stored) { return jobs::cancel{stored.ready}; }),
            words{"4f7k2m9q: cancel, job 2"});
  EXPECT_EQ(told_for<jobs::cancel>({"ma"}, [](auto& stored) { return jobs::cancel{stored.ready}; }),
            words{"4f7k2m9q: cancel, job 2 of tube 'mail'"});
  const jobs::job_key named{"mail", "key"};
  EXPECT_EQ(told_for<jobs::cancel>({"ma"}, [&](auto&) { return jobs::cancel{named}; }),
            words{"4f7k2m9q: cancel, key 'key' of tube 'mail'"});
  EXPECT_EQ(told_for<jobs::cancel>({"bill"}, [](auto& stored) { return jobs::cancel{stored.ready}; }), words{})
      << "what is refused changes nothing";
  EXPECT_EQ(told_for<jobs::cancel>({"bill"}, [&](auto&) { return jobs::cancel{named}; }), words{});
}

using page = std::vector<jobs::job_id>;

task<page> due_for(authorized_client& client, std::string prefix, std::uint32_t count) {
  auto listing = client.execute(jobs::list_due{.prefix = std::move(prefix), .count = count});
  const jobs::due_answer listed = co_await listing;
  page found;
  for (const jobs::due_job& each : listed.jobs) found.push_back(each.id);
  co_return found;
}

TEST(AuthorizedClient, ListsItsTubesInPages) {
  with_client(rights_of(only(scope::look), {"a", "mail", "b.x"}),
              [](authorized_client& client, test::broker_world& on, const stored_jobs&) -> task<> {
                for (const char* const tube : {"b.y", "b.x", "a2", "c", "a1", "b.x2", "0", "mai"}) {
                  jobs::execute_one(on.memory, jobs::put{.tube = tube, .body = ""});
                }
                std::size_t searched = 0;
                on.store.before = [&](std::span<jobs::operation> batch) {
                  for (const jobs::operation& each : batch)
                    searched += std::holds_alternative<jobs::list_tubes>(each) ? 1U : 0U;
                };
                words found;
                jobs::list_tubes asked{.count = 2, .with_counts = true};
                for (;;) {
                  auto listing = client.execute(asked);
                  const jobs::tubes_answer listed = co_await listing;
                  EXPECT_EQ(listed.counts.size(), listed.tubes.size());
                  for (const std::string& each : listed.tubes) found.push_back(each);
                  if (listed.next.empty()) break;
                  asked.after = listed.next;
                }
                EXPECT_EQ(found, (words{"a1", "a2", "b.x", "b.x2", "mail"}));
                EXPECT_LE(searched, 7u) << "prefixes before the page are not searched";
                asked = {.prefix = "b", .after = "b.x", .count = 9};
                auto behind_one = client.execute(asked);
                const jobs::tubes_answer behind = co_await behind_one;
                EXPECT_EQ(behind.tubes, words{"b.x2"});
                asked = {.prefix = "c", .count = 9};
                auto of_others = client.execute(asked);
                const jobs::tubes_answer none = co_await of_others;
                EXPECT_EQ(none, jobs::tubes_answer());
                EXPECT_THROW(static_cast<void>(client.execute(jobs::list_tubes())), std::invalid_argument);
              });
}

TEST(AuthorizedClient, ListsJobsOfItsTubes) {
  with_client(rights_of(only(scope::look), {"a", "b.x"}),
              [](authorized_client& client, test::broker_world& on, const stored_jobs&) -> task<> {
                page wanted;
                for (const char* const tube : {"b.y", "b.x", "a2", "c"}) {
                  const jobs::job_id id = jobs::execute_one(on.memory, jobs::put{.tube = tube, .body = ""}).id;
                  if (std::string_view(tube) == "b.x" || std::string_view(tube) == "a2") wanted.push_back(id);
                }
                const auto ids = [&client](jobs::list_jobs what) -> task<page> {
                  auto listing = client.execute(std::move(what));
                  const jobs::jobs_answer listed = co_await listing;
                  page found;
                  for (const jobs::listed_job& each : listed.jobs) found.push_back(each.job.id);
                  co_return found;
                };
                const page all = co_await ids(jobs::list_jobs());
                EXPECT_EQ(all, wanted);
                jobs::list_jobs others;
                others.prefixes = {"c", "mail"};
                const page none = co_await ids(others);
                EXPECT_EQ(none, page{}) << "a list of nothing is no list of all";
                others.prefixes = {"b"};
                const page of_b = co_await ids(others);
                EXPECT_EQ(of_b, page{wanted.at(0)});
                jobs::list_jobs of_one;
                of_one.tube = "c";
                EXPECT_THROW(static_cast<void>(client.execute(of_one)), access_refused);
              });
}

TEST(AuthorizedClient, ListsWhatIsDueInItsTubes) {
  with_client(rights_of(only(scope::look), {"a", "mail", "b.x"}),
              [](authorized_client& client, test::broker_world& on, const stored_jobs& stored) -> task<> {
                std::map<std::string, jobs::job_id> ids;
                int minutes = 90;
                for (const char* const tube : {"b.y", "b.x", "a2", "c", "a1", "b.x2"}) {
                  const jobs::put what{
                      .tube = tube, .body = "", .due = jobs::milliseconds(std::chrono::minutes(minutes--))};
                  ids[tube] = jobs::execute_one(on.memory, what).id;
                }
                const page whole = co_await due_for(client, "", 100);
                EXPECT_EQ(whole, (page{stored.delayed, ids["b.x2"], ids["a1"], ids["a2"], ids["b.x"]}));
                const page first = co_await due_for(client, "", 2);
                EXPECT_EQ(first, (page{stored.delayed, ids["b.x2"]}));
                const page of_b = co_await due_for(client, "b", 100);
                EXPECT_EQ(of_b, (page{ids["b.x2"], ids["b.x"]}));
                const page of_one = co_await due_for(client, "a1", 100);
                EXPECT_EQ(of_one, page{ids["a1"]});
                const page of_none = co_await due_for(client, "c", 100);
                EXPECT_EQ(of_none, page{});
              });
}

}  // namespace
}  // namespace foliot::program
