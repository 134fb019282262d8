// A client with all rights, and the actions that it sees.
#pragma once

#include <chrono>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <foliot/jobs/broker.hpp>
#include <foliot/runtime/sleep.hpp>

#include "server/access/authorized_client.hpp"
#include "server/actions/action_records.hpp"

namespace foliot::program {

struct acting_client {
  explicit acting_client(jobs::broker& by, authority* who = nullptr,
                         std::shared_ptr<const rights> given = rights::everything())
      : holder(who, std::move(given), [] {}), client(by, holder) {}

  rights_holder holder;
  authorized_client client;
  action_records records{client};
};

/// An action on the tube `mail`.
inline action_plan plan_of(action_kind what) {
  action_plan made;
  made.what = what;
  made.filter.tube = "mail";
  return made;
}

/// Waits until an action is in another state than this one.
inline task<action> leaves(acting_client& by, jobs::job_id id, action_state state) {
  action seen;
  for (int look = 0; look < 10'000; ++look) {
    auto finding = by.records.find(id);
    const action_records::answer found = co_await finding;
    EXPECT_TRUE(found.seen);
    if (!found.seen) break;
    seen = *found.seen;
    if (seen.progress.state != state) break;
    co_await runtime::sleep(std::chrono::milliseconds(50));
  }
  co_return seen;
}

/// Makes an action, waits until it has counted, and starts it.
inline task<jobs::job_id> set_going(acting_client& by, action_plan plan) {
  auto making = by.records.make(std::move(plan));
  const action_records::answer made = co_await making;
  EXPECT_EQ(made.what, action_records::result::done);
  const jobs::job_id id = made.seen->id;
  auto counting = leaves(by, id, action_state::counting);
  const action counted = co_await counting;
  EXPECT_EQ(counted.progress.state, action_state::counted);
  auto starting = by.records.start(id, counted.progress.counted);
  const action_records::answer started = co_await starting;
  EXPECT_EQ(started.what, action_records::result::done);
  co_return id;
}

}  // namespace foliot::program
