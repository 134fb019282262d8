#include <foliot/runtime/detail/runtime_life.hpp>

#include <utility>

namespace foliot::runtime::detail {

namespace {

// Static: a program with one runtime at a time never makes another slot.
runtime_slot first_slot;
// All slots, the newest first.
seam::atomic<runtime_slot*> slots{&first_slot};

}  // namespace

runtime_slot& runtime_life::take_slot() {
  runtime_slot* const newest = slots.load(seam::acquire);  // pairs with the release below: the links are there
  for (runtime_slot* each = newest; each != nullptr; each = each->next_) {
    bool is_taken = false;
    // acquire: pairs with the release in end(): this turn comes after the one before.
    if (each->taken_.compare_exchange_strong(is_taken, true, seam::acquire, seam::relaxed)) return *each;
  }
  auto* const made = new runtime_slot;
  made->taken_.store(true, seam::relaxed);
  made->next_ = newest;
  // release: a thread that finds the slot finds its link.
  while (!slots.compare_exchange_weak(made->next_, made, seam::release, seam::relaxed)) {
  }
  return *made;
}

runtime_life::runtime_life(scheduler& owner)
    : slot_(take_slot()), turn_(slot_.turn_.load(seam::relaxed) + 1) {  // relaxed: taken_ orders the turns
  slot_.owner_ = &owner;
  slot_.turn_.store(turn_, seam::release);  // pairs with living()
}

void runtime_life::end() noexcept {
  if (std::exchange(ended_, true)) return;
  slot_.turn_.store(turn_ + 1, seam::release);  // publishes nothing: living() is false from now on
  slot_.taken_.store(false, seam::release);     // pairs with take_slot()
}

}  // namespace foliot::runtime::detail
