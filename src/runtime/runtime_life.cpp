#include <foliot/runtime/detail/runtime_life.hpp>

#include <utility>

namespace foliot::runtime::detail {

namespace {

// The first one is there from the beginning: a program with one runtime at a time never makes another.
runtime_place first_place;
// All places, the newest first.
seam::atomic<runtime_place*> places{&first_place};

}  // namespace

runtime_place& runtime_life::take_place() {
  runtime_place* const newest = places.load(seam::acquire);  // pairs with the release below: the links are there
  for (runtime_place* each = newest; each != nullptr; each = each->next_) {
    bool is_taken = false;
    // acquire: pairs with the release in end(): this turn comes after the one before.
    if (each->taken_.compare_exchange_strong(is_taken, true, seam::acquire, seam::relaxed)) return *each;
  }
  auto* const made = new runtime_place;
  made->taken_.store(true, seam::relaxed);
  made->next_ = newest;
  // release: who finds the place finds its link.
  while (!places.compare_exchange_weak(made->next_, made, seam::release, seam::relaxed)) {
  }
  return *made;
}

runtime_life::runtime_life(scheduler& owner)
    : place_(take_place()), turn_(place_.turn_.load(seam::relaxed) + 1) {  // relaxed: taken_ orders the turns
  place_.owner_ = &owner;
  place_.turn_.store(turn_, seam::release);  // pairs with living()
}

void runtime_life::end() noexcept {
  if (std::exchange(ended_, true)) return;
  place_.turn_.store(turn_ + 1, seam::release);  // publishes nothing: living() is false from now on
  place_.taken_.store(false, seam::release);     // pairs with take_place()
}

}  // namespace foliot::runtime::detail
