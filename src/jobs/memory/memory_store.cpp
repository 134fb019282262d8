#include <foliot/jobs/memory_store.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "executor.hpp"
#include "jobs/once_table.hpp"

namespace foliot::jobs {

memory_store::memory_store(store_clocks clocks, memory_bounds bounds)
    : clocks_(clocks), bounds_(bounds), once_(std::make_unique<detail::once_table>()) {}

memory_store::~memory_store() = default;

execution memory_store::execute(std::span<operation> batch) {
  if (failed_) throw store_failure("the memory store has failed for lack of memory: make a new one");
  failed_ = true;  // until all of the batch has been done: an exception leaves an operation half done
  execution done;
  executor one(*this);
  one.advance();
  done.answers.reserve(batch.size());
  for (operation& each : batch) {
    std::visit([&](auto& what) { done.answers.emplace_back(one(what)); }, each);
  }
  done.ready_tubes = one.ready_tubes();
  done.emptied_tubes = one.emptied_tubes();
  done.expired = std::move(one).expired();
  shown_bytes_.store(bytes_ + once_->bytes(), seam::relaxed);
  done.has_room = jobs_.size() < bounds_.jobs && bytes_ + once_->bytes() < bounds_.bytes;
  failed_ = false;
  return done;
}

next_change memory_store::next() const noexcept {
  next_change next;
  if (!due_.empty()) next.due = due_.begin()->first;
  next.due = std::min(next.due, once_->next_removal());
  if (!pauses_.empty()) next.expiry = pauses_.begin()->first;
  if (!expiring_.empty()) {
    // A reservation is alive at its last instant, and has ended one nanosecond later.
    next.expiry = std::min(next.expiry, expiring_.begin()->first + duration::nanoseconds(1));
  }
  return next;
}

store_figures memory_store::figures() const {
  constexpr std::uint64_t unbounded = std::numeric_limits<std::uint64_t>::max();
  store_figures seen;
  seen.bytes = shown_bytes_.load(seam::relaxed);
  if (bounds_.jobs != unbounded) seen.most_jobs = bounds_.jobs;
  if (bounds_.bytes != unbounded) seen.most_bytes = bounds_.bytes;
  return seen;
}

check_result memory_store::check() {
  for (const auto& [id, it] : jobs_) {
    if (check_result right = check_job(id, it); !right) return right;
  }
  for (const auto& [name, it] : tubes_) {
    if (check_result right = check_tube(name, it); !right) return right;
  }
  if (check_result right = once_->check(); !right) return right;
  return check_counts();
}

check_result memory_store::check_job(job_id id, const record& it) const {
  const jobs::job& job = it.job;
  const auto wrong = [&](const char* what) { return std::unexpected("job " + std::to_string(id) + ": " + what); };
  if (job.id != id) return wrong("its record has another id");
  if (id == 0 || id >= next_id_) return wrong("its id was not given yet");
  const auto home = tubes_.find(job.tube);
  if (home == tubes_.end() || &home->second != it.home) return wrong("its tube is not known");
  if (!job.key.empty()) {
    const auto named = it.home->keys.find(job.key);
    if (named == it.home->keys.end() || named->second != id) return wrong("its key does not lead to it");
  }
  const bool delayed = it.home->delayed.contains({job.due, id});
  const bool due = due_.contains({job.due, id});
  const bool ready = it.home->ready.contains({job.priority, id});
  const bool expiring = expiring_.contains({job.expires, id});
  const auto grave = it.home->buried.find(it.burial);
  const bool buried = grave != it.home->buried.end() && grave->second == id;
  if (delayed != (job.state == job_state::delayed)) return wrong("the delayed of its tube do not agree with its state");
  if (due != delayed) return wrong("the delayed of its tube and those of the store do not agree");
  if (ready != (job.state == job_state::ready)) return wrong("the ready of its tube do not agree with its state");
  if (expiring != (job.state == job_state::reserved)) return wrong("the reserved do not agree with its state");
  if (reserved_.contains(id) != expiring) return wrong("the reserved by id do not agree with its state");
  if (buried != (job.state == job_state::buried)) return wrong("the buried of its tube do not agree with its state");
  if (buried && it.burial >= next_burial_) return wrong("the number of its burial was not given yet");
  if (!expiring && !job.expires.is_never()) return wrong("it is not reserved, but has an expiry");
  if (expiring && it.attempts == 0) return wrong("it is reserved, but has had no reservation");
  return {};
}

check_result memory_store::check_tube(const std::string& name, const tube& it) const {
  const auto wrong = [&](const char* what) { return std::unexpected("tube " + name + ": " + what); };
  job_counts counts;
  std::size_t keys = 0;
  for (const auto& [id, each] : jobs_) {
    if (each.home != &it) continue;
    add_to(counts, each.job, 1);
    if (!each.job.key.empty()) ++keys;
  }
  if (counts != it.counts) return wrong("its counts are not those of its jobs");
  if (counts.ready != it.ready.size()) return wrong("its ready jobs are not those in the ready state");
  if (counts.delayed != it.delayed.size()) return wrong("its delayed jobs are not those in the delayed state");
  if (counts.buried != it.buried.size()) return wrong("its buried jobs are not those in the buried state");
  if (keys != it.keys.size()) return wrong("it has a key that leads to no job");
  const bool paused = !it.paused_until.is_never();
  if (paused != pauses_.contains({it.paused_until, name})) return wrong("its pause and those of the store differ");
  if (counts.all() == 0 && !paused) return wrong("it has neither a job nor a pause");
  return {};
}

check_result memory_store::check_counts() const {
  job_counts counts;
  for (const auto& [id, it] : jobs_) add_to(counts, it.job, 1);
  if (counts != counts_) return std::unexpected("the store's counts are not those of its jobs");
  std::uint64_t bytes = 0;
  for (const auto& [id, it] : jobs_) bytes += memory_bytes_of(it.job);
  if (bytes != bytes_) return std::unexpected("the store's bytes are not those of its jobs");
  if (counts.delayed != due_.size()) return std::unexpected("a due time leads to no delayed job");
  if (counts.reserved != reserved_.size()) return std::unexpected("an id leads to no reserved job");
  if (counts.reserved != expiring_.size()) return std::unexpected("an expiry leads to no reserved job");
  const auto paused =
      std::ranges::count_if(tubes_, [](const auto& each) { return !each.second.paused_until.is_never(); });
  if (static_cast<std::size_t>(paused) != pauses_.size()) return std::unexpected("a pause leads to no paused tube");
  return {};
}

}  // namespace foliot::jobs
