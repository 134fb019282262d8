#include "session_table.hpp"

#include <utility>

namespace foliot::program {

session_table::~session_table() {
  for (const slot& each : slots_) delete each.session;
}

live_session& session_table::add(std::unique_ptr<live_session> session) {
  if ((size_ + 1) * 2 > slots_.size()) grow();
  std::size_t place = home_of(session->hash);
  while (slots_[place].session != nullptr) place = after(place);
  slots_[place] = {session->hash, session.release()};
  ++size_;
  return *slots_[place].session;
}

std::unique_ptr<live_session> session_table::take(const live_session& session) noexcept {
  std::size_t hole = home_of(session.hash);
  while (slots_[hole].session != &session) hole = after(hole);
  std::unique_ptr<live_session> taken(slots_[hole].session);
  // Whoever was kept from its home, or from a place nearer to it, by what is gone moves up, so that a
  // search may go on to end at the first free slot.
  for (std::size_t place = after(hole); slots_[place].session != nullptr; place = after(place)) {
    const std::size_t mask = slots_.size() - 1;
    const std::size_t from_home = (place - home_of(slots_[place].hash)) & mask;
    const std::size_t from_hole = (place - hole) & mask;
    if (from_home < from_hole) continue;
    slots_[hole] = slots_[place];
    hole = place;
  }
  slots_[hole] = {};
  --size_;
  return taken;
}

void session_table::grow() {
  std::vector<slot> old(slots_.size() * 2);
  slots_.swap(old);
  for (const slot& each : old) {
    if (each.session == nullptr) continue;
    std::size_t place = home_of(each.hash);
    while (slots_[place].session != nullptr) place = after(place);
    slots_[place] = each;
  }
}

}  // namespace foliot::program
