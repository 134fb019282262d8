#include "target_turns.hpp"

#include <foliot/runtime/after.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/select.hpp>

namespace foliot::program::webhooks {

namespace {

/// Counts a waiting task.
class counted_wait {
 public:
  explicit counted_wait(seam::atomic<std::size_t>& count) noexcept : count_(count) {
    count_.fetch_add(1, seam::relaxed);
  }
  counted_wait(const counted_wait&) = delete;
  counted_wait& operator=(const counted_wait&) = delete;
  ~counted_wait() { count_.fetch_sub(1, seam::relaxed); }

 private:
  seam::atomic<std::size_t>& count_;
};

}  // namespace

delivery_turn::~delivery_turn() {
  // Without a clock, which may have ended; what went nowhere needs none.
  settle(went::nowhere, {});
}

void delivery_turn::settle(went how, instant now) noexcept {
  const std::shared_ptr<target_turns> turns = std::exchange(turns_, nullptr);
  if (turns == nullptr) return;
  if (std::exchange(has_entered_, false)) turns->leave_room();
  turns->gate_.settle(how, is_probe_, now);
  turns->tell();
}

void delivery_turn::hold_until(instant when) const noexcept { turns_->gate_.hold_until(when); }

void delivery_turn::disable() const noexcept { turns_->disable(); }

bool delivery_turn::is_good(instant now) const noexcept {
  const gate_state seen = turns_->gate_.state();
  const bool is_open = seen.state != circuit::closed && !is_probe_;
  return !seen.disabled && now >= seen.held_until && !is_open;
}

void target_turns::disable() noexcept {
  gate_.disable();
  tell();
}

void target_turns::enable() noexcept {
  gate_.enable();
  tell();
}

void target_turns::set_limits(const target_limits& limits) {
  gate_.set_limits(limits);
  tell();
}

bool target_turns::enter_room(bool has_place) noexcept {
  bool is_first = false;
  {
    const lock held(lock_);
    is_first = entered_ == 0;
    if (!is_first && !has_place) return false;
    ++entered_;
  }
  if (is_first && has_place) room_.free_.release();
  return true;
}

void target_turns::leave_room() noexcept {
  {
    const lock held(lock_);
    if (--entered_ == 0) return;
  }
  room_.free_.release();
}

runtime::task<std::optional<delivery_turn>> target_turns::enter(std::shared_ptr<target_turns> turns) {
  const counted_wait counted(turns->waiting_);
  const runtime::task_lock first = co_await turns->order_.lock();
  for (;;) {
    const permission may = turns->gate_.try_enter(runtime::now());
    switch (may.what) {
      case permission::kind::granted: {
        delivery_turn turn(turns, may.is_probe);
        // A delivery of this target that ends meanwhile may leave it as the only one, which needs no room.
        turn.has_entered_ = turns->enter_room(false);
        while (!turn.has_entered_) {
          auto free = turns->room_.free_.acquire();
          auto changed = turns->changed_.receive();
          const auto chosen = co_await runtime::select(free, changed);
          turn.has_entered_ = turns->enter_room(chosen.index() == 0);
        }
        co_return std::optional<delivery_turn>(std::move(turn));
      }
      case permission::kind::disabled: co_return std::nullopt;
      case permission::kind::after_a_delivery: co_await turns->changed_.receive(); break;
      case permission::kind::not_before: {
        auto changed = turns->changed_.receive();
        auto due = runtime::after(may.when - runtime::now());
        co_await runtime::select(changed, due);
        break;
      }
    }
  }
}

std::optional<delivery_turn> target_turns::try_enter(const std::shared_ptr<target_turns>& turns) {
  if (turns->waiting() != 0) return std::nullopt;
  const permission may = turns->gate_.try_enter(runtime::now());
  if (may.what != permission::kind::granted) return std::nullopt;
  delivery_turn turn(turns, may.is_probe);
  turn.has_entered_ = turns->enter_room(false);
  if (!turn.has_entered_) {
    if (!turns->room_.free_.try_acquire()) return std::nullopt;
    turn.has_entered_ = turns->enter_room(true);
  }
  return std::optional<delivery_turn>(std::move(turn));
}

}  // namespace foliot::program::webhooks
