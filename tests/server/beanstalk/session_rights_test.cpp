// Every operation of the table, asked for by every command that has it, by clients with each scope, with none and with
// all, in a tube that their rights include and in one that they do not. What must come of it follows from the table of
// operations. An operation without an entry below does not compile, and a command without one fails a test.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/calls.hpp>

#include "jobs/kit/broker_world.hpp"
#include "jobs/kit/jobs.hpp"
#include "server/beanstalk/commands.hpp"
#include "session_client.hpp"
#include "support/virtual_time.hpp"

namespace foliot::program::beanstalk {
namespace {

using namespace std::chrono_literals;
using foliot::test::broker_world;

using words = std::vector<std::string>;

/// The tube that the rights include, if they do not include all; and one that they do not.
constexpr std::string_view mine = "mine.a";
constexpr std::string_view theirs = "theirs";

/// The jobs of a tube.
struct tube_jobs {
  jobs::job_id ready = 999;  // without jobs, that of none
  jobs::job_id delayed = 999;
  jobs::job_id buried = 999;
};

tube_jobs fill(jobs::job_store& store, std::string_view tube) {
  tube_jobs made;
  made.buried = foliot_test::put_one(store, std::string(tube));
  jobs::execute_one(store, jobs::bury{.token = foliot_test::claim_one(store, std::string(tube)).token});
  made.ready = jobs::execute_one(store, jobs::put{.tube = std::string(tube), .key = "key", .body = "x", .ttr = 1h}).id;
  const jobs::put later{.tube = std::string(tube), .body = "x", .due = jobs::milliseconds(1h), .ttr = 1h};
  made.delayed = jobs::execute_one(store, later).id;
  return made;
}

// ---------------------------------------------------------------- how beanstalk clients ask for each operation

/// What a client sends to have an operation, about the tube {tube} and its jobs {ready}, {delayed} and {buried}.
template <class Operation>
constexpr auto asked_for = nullptr;

template <>
constexpr std::array asked_for<jobs::put>{
    "use {tube}\r\nput 0 0 60 1\r\nx\r\n",
    "use {tube}\r\nx-put replace key 0 0 60000 1\r\nx\r\n",
};
template <>
constexpr std::array asked_for<jobs::claim>{
    "watch {tube}\r\nreserve\r\n",
    "watch {tube}\r\nreserve-with-timeout 0\r\n",
};
template <>
constexpr std::array asked_for<jobs::claim_job>{"reserve-job {ready}\r\n"};
// A delete of a job that the client does not hold is a cancel, so it says nothing of this operation where the client
// does not get the job.
template <>
constexpr std::array asked_for<jobs::finish>{"reserve-job {ready}\r\ndelete {ready}\r\n"};
template <>
constexpr std::array asked_for<jobs::release>{"reserve-job {ready}\r\nrelease {ready} 0 0\r\n"};
template <>
constexpr std::array asked_for<jobs::abandon>{"reserve-job {ready}\r\n"};  // and the end of the connection
template <>
constexpr std::array asked_for<jobs::bury>{"reserve-job {ready}\r\nbury {ready} 0\r\n"};
template <>
constexpr std::array asked_for<jobs::touch>{"reserve-job {ready}\r\ntouch {ready}\r\n"};
template <>
constexpr std::array asked_for<jobs::kick>{"use {tube}\r\nkick 10\r\n"};
template <>
constexpr std::array asked_for<jobs::kick_job>{"kick-job {buried}\r\n", "kick-job {delayed}\r\n"};
template <>
constexpr std::array asked_for<jobs::cancel>{
    "delete {ready}\r\n",
    "x-cancel {ready}\r\n",
    "x-cancel {buried}\r\n",
};
template <>
constexpr std::array asked_for<jobs::reschedule>{"x-reschedule {delayed} 1000\r\n"};
template <>
constexpr std::array asked_for<jobs::fire_now>{"x-fire {delayed}\r\n"};
template <>
constexpr std::array asked_for<jobs::pause>{"pause-tube {tube} 10\r\n"};
template <>
constexpr std::array asked_for<jobs::peek>{
    "peek {ready}\r\n",
    "peek {buried}\r\n",
    "stats-job {delayed}\r\n",
    "x-stats-job {ready}\r\n",
};
template <>
constexpr std::array asked_for<jobs::peek_first>{
    "use {tube}\r\npeek-ready\r\n",
    "use {tube}\r\npeek-delayed\r\n",
    "use {tube}\r\npeek-buried\r\n",
};
template <>
constexpr std::array asked_for<jobs::count_tube>{"stats-tube {tube}\r\n"};
template <>
constexpr std::array asked_for<jobs::count_all>{"stats\r\n"};
template <>
constexpr std::array asked_for<jobs::list_tubes>{"list-tubes\r\n"};
template <>
constexpr std::array asked_for<jobs::list_due>{"x-due 10 @0 0 -\r\n", "x-due 10 @0 0 {tube}\r\n"};
/// No command of the protocol has these.
template <>
constexpr std::array<const char*, 0> asked_for<jobs::clear_tube>{};
template <>
constexpr std::array<const char*, 0> asked_for<jobs::list_jobs>{};
template <>
constexpr std::array<const char*, 0> asked_for<jobs::list_nodes>{};
template <>
constexpr std::array<const char*, 0> asked_for<jobs::put_all>{};

/// Commands that have no operation, and so need no scope. What they name they check by themselves: `use` and `watch`
/// stand in the texts above, too.
constexpr std::array without_operation{"use ", "watch ", "ignore ", "list-tube-used", "list-tubes-watched", "quit"};

// ---------------------------------------------------------------- what comes of it

struct outcome {
  std::string replies;
  bool has_reached_the_store = false;  // the operation that is tried
};

/// A look for the tube of a job, which the server makes by itself, is no peek of the client; nor is a count of the tube
/// that a connection used when it ended.
template <class Operation>
bool is_meant(const jobs::operation& each, std::string_view tube) {
  if constexpr (std::is_same_v<Operation, jobs::count_tube>) {
    const auto* const count = std::get_if<jobs::count_tube>(&each);
    return count != nullptr && count->tube == tube;
  } else if constexpr (std::is_same_v<Operation, jobs::peek>) {
    const auto* const look = std::get_if<jobs::peek>(&each);
    return look != nullptr && look->with_body;
  } else {
    return std::holds_alternative<Operation>(each);
  }
}

task<> serve_with_rights(server_state& state, byte_stream& peer, const rights_holder& holder) {
  {
    session with(state, peer, holder);
    co_await with.run();
  }
  co_await peer.close_write();
}

/// A whole connection.
task<> converse(broker_world& world, const rights_holder& holder, const std::string& sent, outcome& into) {
  auto running = runtime::spawn(world.jobs.run(), "the broker");
  {
    server_state state(world.jobs, 65'535, 1000);
    for (const std::string_view each : {mine, theirs}) static_cast<void>(state.tubes.obtain(each));
    auto ends = runtime::stream::pair().value();
    const std::unique_ptr<byte_stream> peer = over(std::move(ends.second));
    auto serving = runtime::spawn(serve_with_rights(state, *peer, holder), "a session");
    static_cast<void>(co_await ends.first.write_all(sent));
    static_cast<void>(ends.first.close_write());
    into.replies = co_await read_until(ends.first, "");
    co_await serving.join();
  }
  world.jobs.close();
  co_await running.join();
}

/// What a client with these rights gets for a text of above about `tube`, or with no jobs, about ids of none.
template <class Operation>
outcome outcome_of(const std::shared_ptr<const rights>& given, std::string_view text, std::string_view tube,
                   bool with_jobs = true) {
  outcome came;
  virtual_clock clock;
  broker_world world(clock);
  tube_jobs named;
  for (const std::string_view each : {mine, theirs}) {
    const tube_jobs made = fill(world.memory, each);
    if (each == tube && with_jobs) named = made;
  }
  const std::string sent = fmt::format(fmt::runtime(text), fmt::arg("tube", tube), fmt::arg("ready", named.ready),
                                       fmt::arg("delayed", named.delayed), fmt::arg("buried", named.buried));
  world.store.before = [&](std::span<jobs::operation> batch) {
    for (const jobs::operation& each : batch) came.has_reached_the_store |= is_meant<Operation>(each, tube);
  };
  const rights_holder holder(nullptr, given, [] {});
  foliot::test::on_virtual_time(clock, converse(world, holder, sent, came));
  world.store.before = nullptr;
  return came;
}

std::shared_ptr<const rights> rights_of(scope_set scopes, std::string_view prefix) {
  return std::make_shared<const rights>("4f7k2m9q", "a test", scopes, words{std::string(prefix)}, instant::never());
}

/// None, all, and each alone.
std::vector<scope_set> sets_of_scopes() {
  std::vector<scope_set> sets{scope_set(), scope_set::all()};
  for (const named_scope& one : all_scopes) sets.emplace_back().add(one.what);
  return sets;
}

std::string names_of(scope_set scopes) {
  std::string names;
  for (const named_scope& each : all_scopes) {
    if (scopes.has(each.what)) names += std::string(each.name) + " ";
  }
  return names;
}

/// The last reply of some that have one line each.
std::string_view last_of(std::string_view replies) {
  if (!replies.ends_with("\r\n")) return {};
  const std::size_t before = replies.substr(0, replies.size() - 2).rfind("\r\n");
  return before == std::string_view::npos ? replies : replies.substr(before + 2);
}

constexpr std::string_view forbidden = "FORBIDDEN\r\n";

/// A test for each operation.
template <class Operation>
class EachOperationOverBeanstalk : public testing::Test {};

template <class Variant>
struct types_of;
template <class... Operation>
struct types_of<std::variant<Operation...>> {
  using type = testing::Types<Operation...>;
  /// Whether each has an entry above.
  static constexpr bool all_are_asked_for =
      (!std::is_null_pointer_v<std::remove_cv_t<decltype(asked_for<Operation>)>> && ...);
  /// All texts from above.
  static words texts() {
    words all;
    (all.insert(all.end(), asked_for<Operation>.begin(), asked_for<Operation>.end()), ...);
    return all;
  }
};
struct names_of_operations {
  template <class Operation>
  static std::string GetName(int) {
    return std::string(jobs::facts_of<Operation>().name);
  }
};
using operations = types_of<jobs::operation>;
static_assert(operations::all_are_asked_for, "say above how beanstalk clients ask for the new operation");
TYPED_TEST_SUITE(EachOperationOverBeanstalk, operations::type, names_of_operations);

TYPED_TEST(EachOperationOverBeanstalk, NeedsItsScope) {
  constexpr scope needed = jobs::scope_of<TypeParam>();
  constexpr bool is_of_the_store = jobs::facts_of<TypeParam>().target == jobs::operation_target::by_store;
  constexpr bool counts_all = std::is_same_v<TypeParam, jobs::count_all>;
  for (const std::string text : asked_for<TypeParam>) {
    const outcome free = outcome_of<TypeParam>(rights::everything(), text, mine);
    // The session knows the tubes without the store; and a peek without a body may also be a look by the server.
    const bool can_be_seen =
        !std::is_same_v<TypeParam, jobs::list_tubes> && text.find("stats-job") == std::string::npos;
    EXPECT_EQ(free.has_reached_the_store, can_be_seen) << text;
    for (const std::string_view prefix : {std::string_view(), std::string_view("mine.")}) {
      for (const scope_set scopes : sets_of_scopes()) {
        SCOPED_TRACE(fmt::format("{} with '{}' of '{}'", text, names_of(scopes), prefix));
        const outcome came = outcome_of<TypeParam>(rights_of(scopes, prefix), text, mine);
        const bool may = scopes.has(needed) && (prefix.empty() || !counts_all);
        EXPECT_EQ(came.has_reached_the_store, may && can_be_seen);
        if (may && !counts_all && (prefix.empty() || !is_of_the_store)) {
          EXPECT_EQ(came.replies, free.replies);
        }
        if (scopes.has(needed)) {
          EXPECT_NE(last_of(came.replies), forbidden);
        } else if (!std::is_same_v<TypeParam, jobs::finish>) {
          EXPECT_EQ(last_of(came.replies), forbidden);
        }
      }
    }
  }
}

TYPED_TEST(EachOperationOverBeanstalk, SeesNothingOfOtherTubes) {
  using enum jobs::operation_target;
  constexpr jobs::operation_target target = jobs::facts_of<TypeParam>().target;
  for (const char* const text : asked_for<TypeParam>) {
    for (const scope_set scopes : sets_of_scopes()) {
      SCOPED_TRACE(fmt::format("{} with '{}'", text, names_of(scopes)));
      const auto given = rights_of(scopes, "mine.");
      const outcome there = outcome_of<TypeParam>(given, text, theirs);
      if constexpr (target == by_store) {
        EXPECT_EQ(there.replies.find(fmt::format("\"{}\"", theirs)), std::string::npos) << there.replies;
        EXPECT_EQ(there.replies.find(fmt::format("- {}\n", theirs)), std::string::npos) << there.replies;
        if (std::is_same_v<TypeParam, jobs::count_all>) {
          EXPECT_FALSE(there.has_reached_the_store);
          EXPECT_EQ(there.replies.find("current-jobs-ready"), std::string::npos);
          EXPECT_EQ(there.replies.find("cmd-stats"), std::string::npos);
        }
        continue;
      }
      EXPECT_FALSE(there.has_reached_the_store);
      if constexpr (target == by_tube || target == by_tubes) {
        const bool has_two = std::string_view(text).starts_with("use ") || std::string_view(text).starts_with("watch ");
        std::string refused(forbidden);
        if (has_two) refused += forbidden;
        EXPECT_EQ(there.replies, refused);
      } else {
        // Exactly as a job that does not exist, with these rights.
        const outcome missing = outcome_of<TypeParam>(given, text, theirs, false);
        EXPECT_EQ(there.replies, missing.replies);
        EXPECT_FALSE(missing.has_reached_the_store);
        if (!scopes.has(jobs::scope_of<TypeParam>())) continue;
        const bool is_no_job = last_of(there.replies) == "NOT_FOUND\r\n" || last_of(there.replies) == "GONE\r\n";
        const bool may_be_a_cancel = std::is_same_v<TypeParam, jobs::finish>;
        EXPECT_TRUE(is_no_job || may_be_a_cancel) << there.replies;
      }
    }
  }
}

TEST(BeanstalkCommands, AreAllTriedWithEveryScope) {
  const words texts = operations::texts();
  const auto prefixes = commands.each([](const auto& row) { return row.facts.prefix; });
  for (const std::string_view prefix : prefixes) {
    const std::string begin = "\n" + std::string(prefix);
    const bool is_tried = std::ranges::any_of(texts, [&](const std::string& text) {
      const std::size_t at = ("\n" + text).find(begin);
      if (at == std::string::npos) return false;
      const char next = ("\n" + text)[at + begin.size()];
      return prefix.ends_with(' ') || next == ' ' || next == '\r';
    });
    const bool needs_none = std::ranges::find(without_operation, prefix) != without_operation.end();
    EXPECT_TRUE(is_tried || needs_none) << "say above which operation '" << prefix << "' is";
  }
}

}  // namespace
}  // namespace foliot::program::beanstalk
