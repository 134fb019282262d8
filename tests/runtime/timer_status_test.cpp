// The ten states of a timer in processor_heaps, and the effect of each verb in each of them.
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "support/death_tests.hpp"
#include "timer_status.hpp"

namespace foliot::runtime::detail {
namespace {

using state = timer_status::state;
using outcome = timer_status::outcome;
using enum timer_status::state;

constexpr std::array all_states{none,    waiting,   running,          deleted,        removing,
                                removed, modifying, modified_earlier, modified_later, moving};
constexpr std::array<std::string_view, 10> names{"none",           "waiting", "running",   "deleted",
                                                 "removing",       "removed", "modifying", "modified_earlier",
                                                 "modified_later", "moving"};
constexpr std::string_view name(state of) { return names[static_cast<std::size_t>(of)]; }

/// Brings a new word into that state, by legal transitions alone.
void bring(timer_status& word, state to) {
  if (to == none) return;
  ASSERT_EQ(word.modify().what, outcome::taken);
  if (to == modifying) return;
  word.added();
  switch (to) {
    case running: ASSERT_TRUE(word.run()); return;
    case moving: ASSERT_TRUE(word.move(waiting)); return;
    case modified_earlier:
    case modified_later:
      ASSERT_EQ(word.modify().what, outcome::taken);
      word.modified(to);
      return;
    default: break;
  }
  if (to == waiting) return;
  ASSERT_EQ(word.remove().what, outcome::taken);
  word.marked();
  if (to == deleted) return;
  ASSERT_TRUE(word.clean());
  if (to == removing) return;
  static_cast<void>(word.cleaned());
}

/// The effect of a verb in one state: its result, and the next state.
struct expected {
  std::string_view answer;
  state then;
};

std::string_view answer_of(outcome what) {
  switch (what) {
    case outcome::taken: return "taken";
    case outcome::not_needed: return "not needed";
    case outcome::busy: return "busy";
  }
  return "";
}

struct row {
  state from;
  expected modify;  // start and reset
  expected remove;  // stop
  expected run;
  expected clean;
  expected move;
};

constexpr std::array table{
    row{none, {"taken", modifying}, {"not needed", none}, {"no", none}, {"no", none}, {"no", none}},
    row{waiting, {"taken", modifying}, {"taken", modifying}, {"yes", running}, {"no", waiting}, {"yes", moving}},
    row{running, {"busy", running}, {"busy", running}, {"no", running}, {"no", running}, {"no", running}},
    row{deleted, {"taken", modifying}, {"not needed", deleted}, {"no", deleted}, {"yes", removing}, {"no", deleted}},
    row{removing, {"busy", removing}, {"not needed", removing}, {"no", removing}, {"no", removing}, {"no", removing}},
    row{removed, {"taken", modifying}, {"not needed", removed}, {"no", removed}, {"no", removed}, {"no", removed}},
    row{modifying, {"busy", modifying}, {"busy", modifying}, {"no", modifying}, {"no", modifying}, {"no", modifying}},
    row{modified_earlier,
        {"taken", modifying},
        {"taken", modifying},
        {"no", modified_earlier},
        {"no", modified_earlier},
        {"yes", moving}},
    row{modified_later,
        {"taken", modifying},
        {"taken", modifying},
        {"no", modified_later},
        {"no", modified_later},
        {"yes", moving}},
    row{moving, {"busy", moving}, {"busy", moving}, {"no", moving}, {"no", moving}, {"no", moving}},
};
static_assert(table.size() == all_states.size());

template <class Verb>
void expect(state from, std::string_view verb, const expected& wanted, const Verb& call) {
  SCOPED_TRACE(std::string(verb) + " of " + std::string(name(from)));
  timer_status word;
  bring(word, from);
  ASSERT_EQ(name(word.seen()), name(from));
  EXPECT_EQ(call(word), wanted.answer);
  EXPECT_EQ(name(word.seen()), name(wanted.then));
}

TEST(TimerStatus, EveryVerbInEveryState) {
  for (std::size_t i = 0; i < all_states.size(); ++i) {
    const row& each = table[i];
    ASSERT_EQ(each.from, all_states[i]);
    expect(each.from, "modify", each.modify, [&](timer_status& word) {
      const timer_status::claim claim = word.modify();
      EXPECT_EQ(name(claim.was), name(each.from));
      return answer_of(claim.what);
    });
    expect(each.from, "remove", each.remove, [&](timer_status& word) {
      const timer_status::claim claim = word.remove();
      EXPECT_EQ(name(claim.was), name(each.from));
      return answer_of(claim.what);
    });
    const auto yes_or_no = [](bool done) -> std::string_view { return done ? "yes" : "no"; };
    expect(each.from, "run", each.run, [&](timer_status& word) { return yes_or_no(word.run()); });
    expect(each.from, "clean", each.clean, [&](timer_status& word) { return yes_or_no(word.clean()); });
    expect(each.from, "move", each.move, [&](timer_status& word) {
      const bool movable = each.from == waiting || each.from == modified_earlier || each.from == modified_later;
      return yes_or_no(word.move(movable ? each.from : waiting));
    });
  }
}

TEST(TimerStatus, WhatIsTakenIsLeftForAnotherState) {
  const auto after = [](state from, auto&& leave) {
    timer_status word;
    bring(word, from);
    leave(word);
    return name(word.seen());
  };
  EXPECT_EQ(after(modifying, [](timer_status& word) { word.added(); }), "waiting");
  EXPECT_EQ(after(modifying, [](timer_status& word) { word.modified(modified_earlier); }), "modified_earlier");
  EXPECT_EQ(after(modifying, [](timer_status& word) { word.modified(modified_later); }), "modified_later");
  EXPECT_EQ(after(modifying, [](timer_status& word) { word.put_back(); }), "waiting");
  EXPECT_EQ(after(modifying, [](timer_status& word) { word.marked(); }), "deleted");
  for (const state was : {none, waiting, deleted, removed, modified_earlier, modified_later}) {
    EXPECT_EQ(after(modifying, [was](timer_status& word) { word.give_back(was); }), name(was));
  }
  EXPECT_EQ(after(moving, [](timer_status& word) { word.moved(); }), "waiting");
  EXPECT_EQ(after(running, [](timer_status& word) { static_cast<void>(word.has_run()); }), "none");
  EXPECT_EQ(after(running, [](timer_status& word) { word.repeats(); }), "waiting");
  EXPECT_EQ(after(removing, [](timer_status& word) { static_cast<void>(word.cleaned()); }), "removed");
}

TEST(TimerStatus, WhoComesLastFreesTheRecord) {
  using enum timer_status::last_holder;
  for (const state from : {none, removed}) {
    timer_status word;
    bring(word, from);
    EXPECT_EQ(word.abandon(), caller) << name(from);
  }
  timer_status is_deleted;
  bring(is_deleted, deleted);
  EXPECT_EQ(is_deleted.abandon(), other);
  EXPECT_EQ(name(is_deleted.seen()), "deleted");
  ASSERT_TRUE(is_deleted.clean()) << "abandoned or not";
  EXPECT_EQ(is_deleted.cleaned(), caller);

  timer_status is_removed_meanwhile;
  bring(is_removed_meanwhile, removing);
  EXPECT_EQ(is_removed_meanwhile.abandon(), other);
  EXPECT_EQ(is_removed_meanwhile.cleaned(), caller);

  timer_status runs;
  bring(runs, running);
  EXPECT_EQ(runs.abandon(), other);
  EXPECT_EQ(runs.has_run(), caller);

  timer_status lives;
  bring(lives, running);
  EXPECT_EQ(lives.has_run(), other);
  EXPECT_EQ(lives.abandon(), caller);
}

// In every build, with FOLIOT_ASSERTIONS or without: a heap with a timer in a wrong state would fire wrong timers.
TEST(TimerStatusDeathTest, ABadStateIsNamedAndStopsTheProgram) {
  test::run_death_tests_in_new_processes();
  const auto after = [](state from, auto&& verb) {
    timer_status word;
    bring(word, from);
    verb(word);
  };
  EXPECT_DEATH(after(none, [](timer_status& word) { word.added(); }),
               "timer_status.*processor-heaps is in the state 'none', where its state must be: modifying");
  EXPECT_DEATH(after(waiting, [](timer_status& word) { word.moved(); }), "state 'waiting'.*must be: moving");
  EXPECT_DEATH(after(waiting, [](timer_status& word) { static_cast<void>(word.has_run()); }),
               "state 'waiting'.*must be: running");
  EXPECT_DEATH(after(waiting, [](timer_status& word) { word.repeats(); }), "state 'waiting'.*must be: running");
  const auto dies_while_it_repeats = [](timer_status& word) {
    static_cast<void>(word.abandon());
    word.repeats();
  };
  EXPECT_DEATH(after(running, dies_while_it_repeats), "state 'running' and abandoned.*must be: running");
  EXPECT_DEATH(after(deleted, [](timer_status& word) { static_cast<void>(word.cleaned()); }),
               "state 'deleted'.*must be: removing");
  EXPECT_DEATH(after(waiting, [](timer_status& word) { static_cast<void>(word.abandon()); }),
               "state 'waiting'.*must be: stopped before it is destroyed");
  EXPECT_DEATH(after(none, [](timer_status& word) { static_cast<void>(word.move(none)); }),
               "state 'none'.*must be: pending");
  const auto abandoned = [](timer_status& word) {
    static_cast<void>(word.abandon());
    static_cast<void>(word.modify());
  };
  EXPECT_DEATH(after(deleted, abandoned), "state 'deleted' and abandoned.*an entry that lives");
  const auto overwritten = [](timer_status& word) {
    std::memset(static_cast<void*>(&word), 0x55, sizeof word);
    static_cast<void>(word.remove());
  };
  EXPECT_DEATH(after(waiting, overwritten), "state 'unknown'.*memory was overwritten.*0x55");
}

}  // namespace
}  // namespace foliot::runtime::detail
