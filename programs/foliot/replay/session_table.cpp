#include "session_table.hpp"

#include <utility>

namespace foliot::program {

session_table::~session_table() {
  for (const slot& each : slots_) delete each.session;
}

live_session& session_table::add(std::unique_ptr<live_session> session) {
  if ((size_ + 1) * 2 > slots_.size()) grow();
  std::size_t index = home_of(session->hash);
  while (slots_[index].session != nullptr) index = after(index);
  slots_[index] = {session->hash, session.release()};
  ++size_;
  return *slots_[index].session;
}

std::unique_ptr<live_session> session_table::take(const live_session& session) noexcept {
  std::size_t hole = home_of(session.hash);
  while (slots_[hole].session != &session) hole = after(hole);
  std::unique_ptr<live_session> taken(slots_[hole].session);
  // An entry that the removed one kept from its home, or from a slot nearer to its home, moves into the hole. So a
  // search may always end at the first free slot.
  for (std::size_t index = after(hole); slots_[index].session != nullptr; index = after(index)) {
    const std::size_t mask = slots_.size() - 1;
    const std::size_t from_home = (index - home_of(slots_[index].hash)) & mask;
    const std::size_t from_hole = (index - hole) & mask;
    if (from_home < from_hole) continue;
    slots_[hole] = slots_[index];
    hole = index;
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
    std::size_t index = home_of(each.hash);
    while (slots_[index].session != nullptr) index = after(index);
    slots_[index] = each;
  }
}

}  // namespace foliot::program
