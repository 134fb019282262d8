#include "claims.hpp"

#include <algorithm>
#include <utility>

#include <foliot/jobs/calls.hpp>

namespace foliot::jobs::detail {

namespace {

constexpr std::size_t most_clients = 512;         // for which a batch claims
constexpr std::size_t most_clients_of_tube = 64;  // where clients of other tubes wait, too
constexpr std::size_t most_named_tubes = 4096;    // by the claims; the last one may exceed it

/// Whether one claim can be for both.
bool may_share(const client_state& one, const client_state& other) {
  return one.own == nullptr && other.own == nullptr && one.lasting == other.lasting && one.tubes == other.tubes;
}

}  // namespace

void claims::gather(tube_registry& tubes, const job_limits& limits, std::vector<operation>& batch) {
  std::size_t named = 0;
  std::uint64_t replayed = 0;  // at most
  const auto has_room = [&] { return named < most_named_tubes && replayed < most_claimed_bytes; };
  while (recipients_.size() < most_clients && has_room()) {
    tube_record* const tube = tubes.next_to_serve();
    if (tube == nullptr) break;
    served_tubes_.push_back(tube);
    ++tube->pins;
    std::size_t seen = 0;
    const std::size_t most = tubes.has_tube_to_serve() ? most_clients_of_tube : most_clients - recipients_.size();
    for (watching* each = tube->waiters.front(); each != nullptr && seen < most && has_room();
         each = tube->waiters.next(*each), ++seen) {
      if (each->client.recipient != client_state::no_claim) continue;  // by another tube
      recipients_.push_back(&each->client);
      named += each->client.tubes.size();
      const claim* const own = each->client.own;
      if (own != nullptr && !own->once.empty()) replayed += most_replayed_bytes(*own, limits);
      each->client.recipient = recipients_.size() - 1;
    }
  }
  std::ranges::sort(recipients_, {}, [](const client_state* each) { return each->arrival; });
  std::size_t first = 0;
  for (std::size_t i = 0; i < recipients_.size(); ++i) {
    recipients_[i]->recipient = i;
    if (i + 1 < recipients_.size() && may_share(*recipients_[first], *recipients_[i + 1])) continue;
    add_grant(first, i + 1 - first, batch);
    first = i + 1;
  }
}

void claims::add_grant(std::size_t first, std::size_t count, std::vector<operation>& batch) {
  const claim* const own = recipients_[first]->own;
  grant made;
  made.first_recipient = first;
  made.recipients = count;
  made.first_tube = named_tubes_.size();
  made.jobs = own != nullptr ? own->count : count;
  made.is_own = own != nullptr;
  claim what;
  what.count = static_cast<std::uint32_t>(made.jobs);
  what.bytes = most_claimed_bytes;
  what.lasting = recipients_[first]->lasting;
  if (own != nullptr) {
    what.bytes = std::min(own->bytes, most_claimed_bytes);
    what.once = own->once;
  }
  for (tube_record* const tube : recipients_[first]->tubes) {
    what.tubes.push_back(tube->name);
    named_tubes_.push_back(tube);
    ++tube->pins;
  }
  made.tubes = named_tubes_.size() - made.first_tube;
  grants_.push_back(made);
  batch.emplace_back(std::move(what));
}

}  // namespace foliot::jobs::detail
