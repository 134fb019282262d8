// Canaries: each behaviour of actions that was repaired is put back, and the worlds find it.
#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>

#include "canary_search.hpp"
#include "node_world.hpp"
#include "old_actions.hpp"

namespace foliot::program::worlds {
namespace {

/// A switch that is on.
class switched_on {
 public:
  explicit switched_on(bool& which) noexcept : which_(which) { which_ = true; }
  switched_on(const switched_on&) = delete;
  switched_on& operator=(const switched_on&) = delete;
  ~switched_on() { which_ = false; }

 private:
  bool& which_;
};

/// A job is changed twice, or not at all. The search begins near the world that shows it.
bool shows_in_action(std::string_view kind, std::uint64_t first) {
  return shows("action: job", [=] { return live_with_an_action(jobs::nodes::flaw::none, kind).breaches; }, first);
}

TEST(OldActionsCanary, LookAgainInAPieceThatWasCutOff) {
  const switched_on old(old_actions::looks_again_in_cut_pieces);
  EXPECT_TRUE(shows_in_action("reschedule", 12030));
}
TEST(OldActionsCanary, LookAgainBehindALostAnswer) {
  const switched_on old(old_actions::looks_again_behind_lost_answers);
  EXPECT_TRUE(shows_in_action("reschedule", 100));
}
TEST(OldActionsCanary, LeaveAChangeInDoubt) {
  const switched_on old(old_actions::leaves_changes_in_doubt);
  EXPECT_TRUE(shows_in_action("", 140));
}

}  // namespace
}  // namespace foliot::program::worlds
