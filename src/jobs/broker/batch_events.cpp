#include "batch_events.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>
#include <variant>

#include <foliot/runtime/wall_time.hpp>

#include "jobs/operation_parts.hpp"

namespace foliot::jobs::detail {

void batch_events::note(const operation& request) noexcept {
  if (gave_up_) return;
  using kind = noted::kind;
  try {
    noted& made = requests_.emplace_back();
    if (const std::span<const jobs::put> puts = puts_of(request); !puts.empty()) {
      made.what = kind::put;
      for (const jobs::put& each : puts) made.puts.push_back({each.tube, each.key});
    } else if (const auto* const bulk = std::get_if<clear_tube>(&request)) {
      made.what = kind::clear;
      made.tube = bulk->tube;
    } else if (std::holds_alternative<jobs::finish>(request) || std::holds_alternative<jobs::cancel>(request)) {
      made.what = std::holds_alternative<jobs::finish>(request) ? kind::finish : kind::cancel;
      for_each_key(request, [&made](const key_view& named) {
        made.tube = named.tube;
        made.key = named.key;
      });
      if (made.tube.empty() && to_look_at_.size() < most_looks) {
        made.look = to_look_at_.size();
        to_look_at_.push_back(job_named_by(request));
      }
    }
  } catch (...) {
    give_up();
  }
}

void batch_events::add_looks(std::vector<operation>& batch, std::size_t place) noexcept {
  if (gave_up_ || to_look_at_.empty()) return;
  try {
    std::vector<operation> looks;
    looks.reserve(to_look_at_.size());
    batch.reserve(batch.size() + to_look_at_.size());  // so that the insertion throws nothing
    for (const job_id each : to_look_at_) looks.emplace_back(peek{each, false});
    batch.insert(batch.begin() + static_cast<std::ptrdiff_t>(place), std::make_move_iterator(looks.begin()),
                 std::make_move_iterator(looks.end()));
    looks_ = looks.size();
  } catch (...) {
    give_up();
  }
}

void batch_events::conclude(std::span<const answer> requests, std::span<const answer> claims,
                            const std::vector<std::string>& ready_tubes) noexcept {
  if (gave_up_) return;
  const std::span<const answer> looks = requests.first(looks_);
  const std::span<const answer> answers = requests.subspan(looks_);
  try {
    for (std::size_t i = 0; i < requests_.size(); ++i) add_of(requests_[i], answers[i], looks);
    for (const std::string& each : ready_tubes) add(event_record::kind::due, each, "", 0);
    for (const answer& each : answers) add_reserved(each);
    for (const answer& each : claims) add_reserved(each);
    const utc_time now = std::chrono::floor<milliseconds>(runtime::wall_now());
    for (event_record& each : news_) each.at = now;
  } catch (...) {
    give_up();
  }
}

void batch_events::add(event_record::kind what, std::string tube, std::string key, job_id id, event_record::reason why,
                       std::uint64_t count) {
  event_record& made = news_.emplace_back();
  made.what = what;
  made.why = why;
  made.id = id;
  made.count = count;
  made.tube = std::move(tube);
  made.key = std::move(key);
}

void batch_events::add_of(noted& request, const answer& got, std::span<const answer> looks) {
  using enum event_record::reason;
  if (request.what == noted::kind::put) {
    if (const auto* const one = std::get_if<put_answer>(&got)) {
      if (!one->is_replayed) add_put(request.puts.front(), *one);
      return;
    }
    const auto* const all = std::get_if<put_all_answer>(&got);
    if (all == nullptr || all->is_replayed) return;
    for (std::size_t i = 0; i < all->puts.size(); ++i) add_put(request.puts[i], all->puts[i]);
  } else if (request.what == noted::kind::finish) {
    const auto* const done = std::get_if<holder_answer>(&got);
    if (done != nullptr && done->what == holder_answer::kind::done) add_end(request, 0, finished, looks);
  } else if (request.what == noted::kind::cancel) {
    const auto* const done = std::get_if<change_answer>(&got);
    if (done != nullptr && done->what == change_answer::kind::done) add_end(request, done->id, cancelled, looks);
  } else if (request.what == noted::kind::clear) {
    const auto* const done = std::get_if<bulk_answer>(&got);
    if (done == nullptr || done->changed == 0) return;
    add(event_record::kind::ended, std::move(request.tube), "", 0, cleared, done->changed);
  }
}

void batch_events::add_put(job_key& named, const put_answer& done) {
  const bool replaces = done.what == put_answer::kind::replaced;
  if (replaces) add(event_record::kind::ended, named.tube, named.key, 0, event_record::reason::replaced);
  if (replaces || done.what == put_answer::kind::inserted) {
    add(event_record::kind::put, std::move(named.tube), std::move(named.key), done.id);
  }
}

void batch_events::add_end(noted& request, job_id id, event_record::reason why, std::span<const answer> looks) {
  if (!request.tube.empty()) {
    return add(event_record::kind::ended, std::move(request.tube), std::move(request.key), id, why);
  }
  const auto* const seen = request.look < looks.size() ? std::get_if<peek_answer>(&looks[request.look]) : nullptr;
  if (seen == nullptr || !seen->job) {
    ++left_out_;
    return;
  }
  add(event_record::kind::ended, seen->job->tube, seen->job->key, seen->job->id, why);
}

void batch_events::add_reserved(const answer& got) {
  if (const auto* const claimed = std::get_if<claim_answer>(&got); claimed != nullptr && claimed->is_replayed) return;
  for (const claimed_job& each : jobs_claimed_by(got)) {
    add(event_record::kind::reserved, each.job.tube, each.job.key, each.job.id);
  }
}

void batch_events::give_up() noexcept {
  left_out_ += std::max<std::size_t>(requests_.size(), 1);
  gave_up_ = true;
  news_.clear();
}

void batch_events::drop() noexcept {
  requests_.clear();
  to_look_at_.clear();
  looks_ = 0;
  gave_up_ = false;
}

void batch_events::tell() noexcept {
  if (left_out_ > 0) to_.leave_out(std::exchange(left_out_, 0));
  if (!news_.empty()) to_.add(news_);
  news_.clear();
}

}  // namespace foliot::jobs::detail
