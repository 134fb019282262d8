// The lists of a session. All that read the list of the tubes at one time read the same memory.
#include <algorithm>
#include <exception>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <foliot/runtime/task_mutex.hpp>

#include "session.hpp"

namespace foliot::program::beanstalk {

task<> session::on(const list_tubes&) {
  const std::size_t wanted = bytes_of_next_list();
  bool gets_room = memory_.take(wanted);
  if (!gets_room) gets_room = co_await wait_for_room(wanted);
  if (!gets_room) {
    out_ += reply::out_of_memory;
    co_return;
  }
  std::shared_ptr<const shared_text> list;
  if (server_.brokers.has_other_nodes()) {
    list = co_await list_of_all_nodes();
  } else {
    list = server_.tubes.list(server_.memory);
  }
  note_memory();  // the list counts by itself
  co_await send_list(std::move(list));
}

task<> session::on(const list_tubes_watched&) {
  std::size_t size = 0;
  for (const held_tube& each : watched_) size += size_in_list(each->name);
  bool gets_room = memory_.take(4 * size);  // as names, as a text, and behind the answers
  if (!gets_room) gets_room = co_await wait_for_room(4 * size);
  if (!gets_room) {
    out_ += reply::out_of_memory;
    co_return;
  }
  std::vector<std::string> names;
  names.reserve(watched_.size());
  for (const held_tube& each : watched_) names.push_back(each->name);
  write_tubes(out_, names);
}

task<> session::send_list(std::shared_ptr<const shared_text> list) {
  write_list_begin(out_, list->size());
  const bool is_short = list->size() < held_memory::allowance / 2;
  bool written = true;
  if (!is_short) {
    memory_.show(list);
    written = co_await write_answers();
  }
  for (const shared_piece& each : list->pieces()) {
    if (is_short) out_ += each->text();
    if (!is_short && written) written = co_await write_text(each->text());
  }
  list.reset();
  memory_.hide();
  out_ += list_end;
  if (!written) quits_ = true;
}

task<std::vector<std::string>> session::living_tubes() {
  std::vector<std::string> names = server_.tubes.names();
  if (!server_.brokers.has_other_nodes()) co_return names;
  auto listing = client_.execute(jobs::list_tubes{});
  jobs::tubes_answer stored = co_await listing;
  const std::set<std::string> here(names.begin(), names.end());
  for (std::string& each : stored.tubes) {
    if (!here.contains(each)) names.push_back(std::move(each));
  }
  co_return names;
}

std::size_t session::bytes_of_next_list() const {
  const std::size_t here = server_.tubes.bytes_of_list();
  if (!server_.brokers.has_other_nodes()) return here;
  // The names come as strings, from here and from the store, before they are a list.
  return 4 * std::max(here, server_.list_of_store.bytes.load(seam::relaxed));
}

task<std::shared_ptr<const shared_text>> session::list_of_all_nodes() {
  stored_list& known = server_.list_of_store;
  const std::uint64_t ticket = ++known.tickets;
  const runtime::task_lock turn = co_await known.turn.lock();
  if (known.as_of >= ticket && known.failure == nullptr) {
    if (auto latest = known.latest.lock()) co_return latest;
  }
  if (known.as_of >= ticket && known.failed == &broker_) std::rethrow_exception(known.failure);
  const std::uint64_t as_of = known.tickets;
  std::vector<std::string> names;
  try {
    names = co_await living_tubes();
  } catch (const jobs::store_unavailable& why) {
    // In doubt each session ends, so that is not for others.
    if (!why.is_in_doubt()) {
      known.failure = std::current_exception();
      known.failed = &broker_;
      known.as_of = as_of;
    }
    throw;
  }
  auto list = make_list(server_.memory, names);
  known.bytes.store(list->size(), seam::relaxed);
  known.latest = list;
  known.failure = nullptr;
  known.failed = nullptr;
  known.as_of = as_of;
  co_return list;
}

}  // namespace foliot::program::beanstalk
