// The table of transitions, spelled out a second time as sentences of the protocol.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <foliot/jobs/transitions.hpp>

namespace foliot::jobs {
namespace {

using enum job_state;
using event = job_event;

constexpr std::array all_states{delayed, ready, reserved, buried};

/// Checks the transitions of one event: those that are named, and refusal in all other states.
void only(event what, const std::map<job_state, transition>& named) {
  for (const job_state state : all_states) {
    const auto found = named.find(state);
    const transition expected = found == named.end() ? transition::refused : found->second;
    EXPECT_EQ(transition_of(state, what), expected)
        << "event " << static_cast<int>(what) << " in state " << static_cast<int>(state);
  }
}

TEST(Transitions, ADelayedJobBecomesReadyAtItsDueTime) { only(event::due, {{delayed, transition::ready}}); }

TEST(Transitions, AWorkerClaimsReadyJobs) { only(event::claim, {{ready, transition::reserved}}); }

TEST(Transitions, AWorkerClaimsOneJobInAnyStateButReserved) {
  only(event::claim_job,
       {{delayed, transition::reserved}, {ready, transition::reserved}, {buried, transition::reserved}});
}

TEST(Transitions, AReservedJobIsReadyWhenItsTtrHasEnded) { only(event::expire, {{reserved, transition::ready}}); }

TEST(Transitions, AFinishedJobIsGone) { only(event::finish, {{reserved, transition::gone}}); }

TEST(Transitions, AReleasedJobIsReadyOrDelayed) { only(event::release, {{reserved, transition::by_delay}}); }

TEST(Transitions, AWorkerBuriesAReservedJob) { only(event::bury, {{reserved, transition::buried}}); }

TEST(Transitions, ATouchedJobStaysReserved) { only(event::touch, {{reserved, transition::reserved}}); }

TEST(Transitions, AKickMakesBuriedAndDelayedJobsReady) {
  only(event::kick, {{delayed, transition::ready}, {buried, transition::ready}});
}

TEST(Transitions, AJobThatNoWorkerHasCanBeCancelled) {
  only(event::cancel, {{delayed, transition::gone}, {ready, transition::gone}, {buried, transition::gone}});
}

TEST(Transitions, AJobThatNoWorkerHasCanBeRescheduled) {
  only(event::reschedule,
       {{delayed, transition::by_delay}, {ready, transition::by_delay}, {buried, transition::by_delay}});
}

TEST(Transitions, AJobThatNoWorkerHasCanBeFiredNow) {
  only(event::fire_now, {{delayed, transition::ready}, {ready, transition::ready}, {buried, transition::ready}});
}

TEST(Transitions, TheEventsAreAllOfTheTable) {
  EXPECT_EQ(static_cast<std::size_t>(event::fire_now) + 1, job_events);
  EXPECT_EQ(static_cast<std::size_t>(buried) + 1, all_states.size());
}

/// From every state a job can be ended, and only the worker that has it ends a reserved job.
TEST(Transitions, EveryStateHasAWayOut) {
  for (const job_state state : all_states) {
    std::set<event> ends;
    for (std::size_t i = 0; i < job_events; ++i) {
      if (transition_of(state, static_cast<event>(i)) == transition::gone) ends.insert(static_cast<event>(i));
    }
    EXPECT_EQ(ends, std::set{state == reserved ? event::finish : event::cancel});
  }
}

TEST(Transitions, AWaitingJobIsDelayedUntilTheClockShowsItsDueTime) {
  constexpr utc_time due{milliseconds(1000)};
  static_assert(waiting_state(due, due - milliseconds(1)) == delayed);
  static_assert(waiting_state(due, due) == ready);
  static_assert(waiting_state(due, due + milliseconds(1)) == ready);
  static_assert(waiting_state(utc_time::max(), utc_time::max() - milliseconds(1)) == delayed);
  static_assert(waiting_state(utc_time::min(), utc_time::min()) == ready);
}

}  // namespace
}  // namespace foliot::jobs
