// Channels and select against a sequential model, operation by operation: on virtual time, where no task runs
// between one operation and the next. A failure names its seed.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/seam/random.hpp>
#include <foliot/core/virtual_clock.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/select.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;

enum class what : std::uint8_t { nothing, send, receive };
struct one_case {
  what kind = what::nothing;
  std::size_t channel = 0;
  int value = 0;
};
constexpr std::size_t most_cases = 3;
using cases = std::array<one_case, most_cases>;

struct outcome {
  enum class state : std::uint8_t { waits, done, refused, stopped };
  state how = state::waits;
  std::size_t which = 0;
  std::optional<int> value{};
  bool operator==(const outcome&) const = default;
  friend std::ostream& operator<<(std::ostream& to, const outcome& o) {
    return to << "{" << static_cast<int>(o.how) << ", case " << o.which << ", " << o.value.value_or(-1) << "}";
  }
};

/// The sequential model of channels.
class model {
 public:
  struct waiter {
    std::size_t operation;
    std::size_t which;
    int value;
  };
  struct channel_state {
    std::size_t capacity = 0;
    bool closed = false;
    std::deque<int> values{};
    std::deque<waiter> senders{};
    std::deque<waiter> receivers{};
  };

  std::vector<channel_state> channels;
  std::vector<outcome> outcomes;

  [[nodiscard]] bool ready(const one_case& one) const {
    if (one.kind == what::nothing) return false;
    const channel_state& c = channels[one.channel];
    if (one.kind == what::send) return c.closed || !c.receivers.empty() || c.values.size() < c.capacity;
    return c.closed || !c.values.empty() || !c.senders.empty();
  }
  /// Whether the operation can complete now.
  outcome complete(std::size_t which, const one_case& one) {
    channel_state& c = channels[one.channel];
    if (one.kind == what::send) {
      if (c.closed) return {outcome::state::refused};
      if (!c.receivers.empty()) {
        const waiter first = c.receivers.front();
        end(first.operation, {outcome::state::done, first.which, one.value});
      } else {
        c.values.push_back(one.value);
      }
      return {outcome::state::done, which};
    }
    std::optional<int> value;
    if (!c.values.empty()) {
      value = c.values.front();
      c.values.pop_front();
      if (!c.senders.empty()) c.values.push_back(take_sender(c));
    } else if (!c.senders.empty()) {
      value = take_sender(c);
    }
    return {outcome::state::done, which, value};
  }
  void wait(std::size_t operation, const cases& all) {
    for (std::size_t i = 0; i < most_cases; ++i) {
      if (all[i].kind == what::nothing) continue;
      channel_state& c = channels[all[i].channel];
      (all[i].kind == what::send ? c.senders : c.receivers).push_back({operation, i, all[i].value});
    }
  }
  void end(std::size_t operation, const outcome& with) {
    outcomes[operation] = with;
    for (channel_state& c : channels) {
      std::erase_if(c.senders, [&](const waiter& w) { return w.operation == operation; });
      std::erase_if(c.receivers, [&](const waiter& w) { return w.operation == operation; });
    }
  }
  void close(std::size_t which) {
    channel_state& c = channels[which];
    c.closed = true;
    while (!c.receivers.empty()) {
      const waiter first = c.receivers.front();
      end(first.operation, {outcome::state::done, first.which});
    }
    while (!c.senders.empty()) end(c.senders.front().operation, {outcome::state::refused});
  }

 private:
  int take_sender(channel_state& c) {
    const waiter first = c.senders.front();
    end(first.operation, {outcome::state::done, first.which});
    return first.value;
  }
};

template <std::size_t Case, class Chosen>
void take(Chosen& chosen, outcome& out) {
  if (chosen.index() != Case) return;
  out = {outcome::state::done, Case / 2};
  if constexpr (Case % 2 == 0) out.value = chosen.template get<Case>();
}

task<> perform(std::vector<channel<int>> on, cases all, outcome& out) {
  const auto is = [&all](std::size_t i, what kind) { return all[i].kind == kind; };
  const auto at = [&](std::size_t i) -> channel<int>& { return on[all[i].channel]; };
  try {
    if (is(1, what::nothing) && is(2, what::nothing)) {  // alone
      outcome got{outcome::state::done};
      if (is(0, what::send)) {
        co_await at(0).send(all[0].value);
      } else {
        got.value = co_await at(0).receive();
      }
      out = got;
      co_return;
    }
    auto chosen =
        co_await select(when(is(0, what::receive), at(0).receive()), when(is(0, what::send), at(0).send(all[0].value)),
                        when(is(1, what::receive), at(1).receive()), when(is(1, what::send), at(1).send(all[1].value)),
                        when(is(2, what::receive), at(2).receive()), when(is(2, what::send), at(2).send(all[2].value)));
    take<0>(chosen, out);
    take<1>(chosen, out);
    take<2>(chosen, out);
    take<3>(chosen, out);
    take<4>(chosen, out);
    take<5>(chosen, out);
  } catch (const channel_closed&) {
    out = {outcome::state::refused};
  } catch (const cancelled&) {
    out = {outcome::state::stopped};
  }
}

/// The channels and the model, and the operations on both.
class duel {
 public:
  explicit duel(std::uint64_t seed) : random_(seed) {
    const std::size_t count = 1 + below(3);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t capacity = below(4);
      model_.channels.push_back({capacity});
      channels_.emplace_back(capacity);
    }
  }

  task<> run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      const std::size_t dice = below(100);
      if (dice < 60) {
        co_await begin_one();
      } else if (dice < 75) {
        try_to_send();
      } else if (dice < 90) {
        try_to_receive();
      } else if (dice < 98) {
        stop_one();
        if (below(2) == 0) continue;  // its wait is over, but it has not run yet when the next operation comes
      } else {
        close_one();
      }
      co_await sleep(1ms);  // until nothing happens any more
      compare();
    }
  }

 private:
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(random_.below(bound)); }
  one_case any_case() { return {below(2) == 0 ? what::send : what::receive, below(channels_.size()), next_value_++}; }

  task<> begin_one() {
    cases all;
    const std::size_t count = 1 + below(most_cases);
    for (std::size_t i = 0; i < count; ++i) {
      const one_case next = any_case();
      // Of two equal cases either may be chosen: the model has chosen one.
      const bool again = std::ranges::any_of(
          all, [&](const one_case& one) { return one.kind == next.kind && one.channel == next.channel; });
      if (!again) all[i] = next;
    }
    const std::size_t operation = outcomes_.size();
    outcomes_.emplace_back();
    model_.outcomes.emplace_back();
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < most_cases; ++i) {
      if (model_.ready(all[i])) ready.push_back(i);
    }
    handles_.push_back(spawn(perform(channels_, all, outcomes_.back())));
    co_await sleep(1ms);
    if (ready.empty()) {
      model_.wait(operation, all);
      co_return;
    }
    // Any ready case may have been chosen; an exception does not tell which.
    const outcome& got = outcomes_.back();
    for (const std::size_t i : ready) {
      const bool refused = all[i].kind == what::send && model_.channels[all[i].channel].closed;
      const bool is_it =
          refused ? got.how == outcome::state::refused : got.how == outcome::state::done && got.which == i;
      if (!is_it) continue;
      model_.outcomes[operation] = model_.complete(i, all[i]);
      co_return;
    }
    ADD_FAILURE() << "operation " << operation << " completed although the model says that it must wait: " << got;
  }
  void try_to_send() {
    one_case one = any_case();
    one.kind = what::send;
    const bool possible = model_.ready(one);
    try {
      const bool sent = channels_[one.channel].try_send(one.value);
      EXPECT_EQ(sent, possible);
      EXPECT_FALSE(model_.channels[one.channel].closed);
      if (sent) model_.complete(0, one);
    } catch (const channel_closed&) {
      EXPECT_TRUE(model_.channels[one.channel].closed);
    }
  }
  void try_to_receive() {
    one_case one = any_case();
    one.kind = what::receive;
    std::optional<int> expected;
    if (model_.ready(one)) expected = model_.complete(0, one).value;
    EXPECT_EQ(channels_[one.channel].try_receive(), expected);
  }
  void stop_one() {
    if (handles_.empty()) return;
    const std::size_t one = below(handles_.size());
    if (model_.outcomes[one].how == outcome::state::waits) model_.end(one, {outcome::state::stopped});
    handles_[one].request_stop();
  }
  void close_one() {
    const std::size_t one = below(channels_.size());
    if (model_.channels[one].closed) {
      EXPECT_THROW(channels_[one].close(), channel_closed);
    } else {
      channels_[one].close();
      model_.close(one);
    }
  }
  void compare() {
    for (std::size_t i = 0; i < outcomes_.size(); ++i) EXPECT_EQ(outcomes_[i], model_.outcomes[i]) << "operation " << i;
    for (std::size_t i = 0; i < channels_.size(); ++i) {
      EXPECT_EQ(channels_[i].size(), model_.channels[i].values.size());
      EXPECT_EQ(channels_[i].closed(), model_.channels[i].closed);
    }
  }

  random_stream random_;
  model model_;
  std::vector<channel<int>> channels_;
  std::deque<outcome> outcomes_;
  std::vector<join_handle<>> handles_;
  int next_value_ = 0;
};

#if defined(FOLIOT_SANITIZED)
constexpr std::uint64_t seeds = 30;
#else
constexpr std::uint64_t seeds = 150;
#endif

TEST(ChannelModel, ChannelsDoAsTheModel) {
  for (const std::size_t processors : {1U, 3U}) {
    for (std::uint64_t seed = 1; seed <= seeds && !HasFailure(); ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", processors " + std::to_string(processors));
      virtual_clock clock;
      run_options options;
      options.clock = &clock;
      options.processors = processors;
      options.seed = seed;
      duel both(seed);
      run(both.run(120), options);
    }
  }
}

}  // namespace
}  // namespace foliot::runtime
