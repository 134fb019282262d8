// A durable store for tests of the suite itself: a memory_store that writes each batch to a journal, and executes the
// journal again in each opening. The journal is in memory. A flaw makes it a canary.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <foliot/jobs/memory_store.hpp>

#include "jobs/conformance/conformance.hpp"

namespace foliot::jobs::conformance {

/// What is wrong with a store.
enum class flaw : std::uint8_t {
  none,
  is_ready_early,            ///< by a millisecond
  loses_batches_at_a_crash,  ///< acknowledges before the sync
  tears_a_failed_batch,      ///< keeps half of it
  goes_on_after_a_failure,
  repeats_tokens,      ///< does not count its openings
  keeps_reservations,  ///< over its openings
  forgets_a_ready_tube,
  forgets_an_emptied_tube,
  hides_an_expiry,
  says_next_too_late,
  claims_the_last_first,
  moves_its_floor_too_soon,  ///< forgets, in its openings, a job that is due
  ignores_attempts,          ///< a reservation that has ended counts as the present one of its job
  prefers_high_numbers,      ///< of priorities
  lies_about_cancels,        ///< answers `done`, and makes the job ready instead
  gives_an_id_twice,
  says_due_too_late,
  puts_only_some,          ///< of a put_all that is refused, those before the one that refuses
  drops_fields,            ///< of puts
  drops_histories,         ///< of buries
  leaves_out_equal_times,  ///< a page, the last of the jobs that are due at the same time
  ignores_versions,        ///< executes operations whatever version they expect
  keeps_versions,          ///< shows the same version after a change
  changes_due_versions,    ///< shows another version when the due time has come
  // Puts by the holders of jobs:
  ignores_holders,              ///< of single puts
  ignores_holders_in_all,       ///< of those of put_alls
  takes_any_holder,             ///< for that of the job
  ends_refused_holders,         ///< gives back the jobs of a put_all that is refused
  puts_all_but_the_refused,     ///< the others of a put_all that is refused for a holder
  keeps_replaced_reservations,  ///< the job is replaced, and its reservation still answers `done`
  // Lists of jobs:
  begins_pages_too_soon,  ///< with the job that the page before ends with
  ends_pages_too_soon,    ///< without the last job, where there is a next page
  lists_equals_reversed,  ///< jobs of the same priority, due time or number of a burial
  lists_other_tubes,      ///< where it should list one by the ids of its jobs
  hides_the_next_page,
  drops_the_rank_of_next,
  // Operations that happen once:
  ignores_once,          ///< executes a put that happens once as often as it is sent
  claims_again,          ///< the same for claims
  puts_all_again,        ///< the same for put_all
  forgets_once,          ///< with each opening
  takes_any_request,     ///< for that of the first time
  remembers_too_long,    ///< by a millisecond
  forgets_too_soon,      ///< likewise
  repeats_ended_claims,  ///< a replay has the jobs of reservations that have ended
};

struct journal_entry {
  instant wall;
  instant monotonic;
  std::vector<operation> batch;
};

/// What survives an opening.
struct journal {
  std::vector<journal_entry> entries;
  std::uint64_t openings = 0;
  /// The call that fails, counted from 1. A batch makes two, for its write and for its sync; 0: none.
  std::uint64_t failing_call = 0;
};

class journal_store final : public job_store {
 public:
  journal_store(journal& kept, flaw wrong, const store_clocks& clocks) : journal_(kept), flaw_(wrong), clocks_(clocks) {
    if (wrong != flaw::repeats_tokens || kept.openings == 0) ++kept.openings;
    replay();
  }

  execution execute(std::span<operation> batch) override {
    if (failed_ && flaw_ != flaw::goes_on_after_a_failure) throw store_failure("the journal has failed before");
    const bool must_know_tokens = flaw_ == flaw::ignores_attempts || flaw_ == flaw::takes_any_holder;
    if (must_know_tokens && batch.size() > 1) return execute_one_by_one(batch);
    const duration early = std::chrono::milliseconds(flaw_ == flaw::is_ready_early ? 1 : 0);
    journal_entry entry{clocks_.wall->now() + early, clocks_.monotonic->now(), {batch.begin(), batch.end()}};
    for (operation& each : entry.batch) {
      std::visit([this](auto& what) { translate_token(what); }, each);
      spoil(each);
    }
    write(entry);
    execution done = run(entry);
    for (std::size_t i = 0; i < done.answers.size(); ++i) {
      if (auto* const claimed = std::get_if<claim_answer>(&done.answers[i])) repeat_claim(entry.batch[i], *claimed);
    }
    if (is_for_refused(flaw_)) follow_refusals(entry, done);
    if (flaw_ == flaw::keeps_replaced_reservations) {
      for (std::size_t i = 0; i < entry.batch.size(); ++i) answer_for_replaced(entry.batch[i], done.answers[i]);
    }
    for (std::size_t i = 0; i < entry.batch.size(); ++i) {
      auto* const page = std::get_if<jobs_answer>(&done.answers[i]);
      if (page != nullptr) spoil_page(std::get<list_jobs>(entry.batch[i]), *page);
    }
    return show(std::move(done));
  }

  next_change next() const noexcept override {
    next_change next = inner_.next();
    if (flaw_ == flaw::says_next_too_late) next.expiry += duration::nanoseconds(1);
    if (flaw_ == flaw::says_due_too_late && next.due != utc_time::max()) next.due += milliseconds(5);
    return next;
  }

  check_result check() override { return inner_.check(); }

 private:
  class settable_clock final : public clock {
   public:
    [[nodiscard]] instant now() const noexcept override { return shown; }
    instant shown;
  };

  void write(const journal_entry& entry) {
    const std::uint64_t failing = std::exchange(journal_.failing_call, 0);
    if (failing == 1 || failing == 2) {
      failed_ = true;
      journal_entry kept = entry;
      if (flaw_ == flaw::tears_a_failed_batch) kept.batch.resize(kept.batch.size() / 2);
      if (failing == 2 || flaw_ == flaw::tears_a_failed_batch) journal_.entries.push_back(kept);
      throw store_failure("call " + std::to_string(failing) + " of the journal has failed");
    }
    journal_.entries.push_back(entry);
  }

  [[nodiscard]] static bool is_for_refused(flaw wrong) {
    return wrong == flaw::puts_only_some || wrong == flaw::ends_refused_holders ||
           wrong == flaw::puts_all_but_the_refused;
  }
  /// Adds what the flaw does for a put_all that was refused at this place.
  void add_for_refused(const std::vector<put>& puts, std::size_t place, std::vector<operation>& to) const {
    for (std::size_t i = 0; i < puts.size(); ++i) {
      const put& each = puts[i];
      if (flaw_ == flaw::puts_only_some && i < place) to.emplace_back(each);
      if (flaw_ == flaw::puts_all_but_the_refused && i != place && puts[place].holder) to.emplace_back(each);
      if (flaw_ == flaw::ends_refused_holders && each.holder) to.emplace_back(abandon{*each.holder});
    }
  }
  void follow_refusals(const journal_entry& entry, const execution& done) {
    journal_entry some{entry.wall, entry.monotonic, {}};
    for (std::size_t i = 0; i < entry.batch.size(); ++i) {
      const auto* const all = std::get_if<put_all_answer>(&done.answers[i]);
      if (all == nullptr || all->what != put_all_answer::kind::refused) continue;
      add_for_refused(std::get<put_all>(entry.batch[i]).puts, all->place, some.batch);
    }
    if (some.batch.empty()) return;
    run(some);
    journal_.entries.push_back(some);
  }

  execution run(const journal_entry& entry) {
    wall_.shown = entry.wall;
    monotonic_.shown = entry.monotonic;
    std::vector<operation> batch = entry.batch;
    return inner_.execute(batch);
  }

  void answer_for_replaced(const operation& what, answer& got) {
    const auto note = [this](const put& each, const put_answer& its) {
      if (each.holder && its.what == put_answer::kind::replaced) replaced_.insert(*each.holder);
    };
    if (const auto* const one = std::get_if<put>(&what)) note(*one, std::get<put_answer>(got));
    if (const auto* const all = std::get_if<put_all>(&what)) {
      const std::vector<put_answer>& its = std::get<put_all_answer>(got).puts;
      // The answer of an earlier one may have another number of puts.
      for (std::size_t i = 0; i < std::min(its.size(), all->puts.size()); ++i) note(all->puts[i], its[i]);
    }
    std::visit(
        [&](const auto& it) {
          if constexpr (requires { it.token; }) {
            auto& its = std::get<holder_answer>(got);
            if (its.what == holder_answer::kind::not_held && replaced_.contains(it.token)) its = {};
          }
        },
        what);
  }

  /// Executes the journal, and what ends an opening: its reservations and pauses.
  void replay() {
    journal_entry end;
    std::set<std::string> paused;
    for (journal_entry& entry : journal_.entries) {
      if (flaw_ == flaw::forgets_once) forget_once(entry);
      for (const answer& each : run(entry).answers) {
        const auto* claimed = std::get_if<claim_answer>(&each);
        if (claimed == nullptr) continue;
        for (const claimed_job& it : claimed->jobs) {
          end.batch.emplace_back(abandon{it.token});
          earlier_attempts_[it.token.id] = it.token.attempt;
        }
      }
      for (const operation& each : entry.batch) {
        if (const auto* what = std::get_if<pause>(&each)) paused.insert(what->tube);
      }
      end.wall = entry.wall;
      end.monotonic = entry.monotonic;
    }
    for (const std::string& tube : paused) end.batch.emplace_back(pause{tube, milliseconds(0)});
    if (flaw_ == flaw::moves_its_floor_too_soon) {
      for (const std::string& tube : execute_one(inner_, list_tubes{}).tubes) {
        const auto first = execute_one(inner_, peek_first{tube, job_state::ready}).job;
        if (first) end.batch.emplace_back(cancel{first->id});
      }
    }
    if (end.batch.empty() || flaw_ == flaw::keeps_reservations) return;
    run(end);
    journal_.entries.push_back(end);
  }

  static void forget_once(journal_entry& in) {
    for (operation& each : in.batch) {
      std::visit(
          [](auto& what) {
            if constexpr (requires { what.once; }) what.once = {};
          },
          each);
    }
  }

  /// The memory_store has one opening, and counts the attempts of all.
  void translate(reservation& token) {
    token.opening = token.opening == journal_.openings ? 1 : 0;
    token.attempt += earlier_attempts_[token.id];
    if (flaw_ == flaw::ignores_attempts) token.attempt = latest_attempts_[token.id];
  }
  template <class Operation>
  void translate_token(Operation& what) {
    if constexpr (requires { what.token; }) translate(what.token);
    if constexpr (requires { what.holder; }) {
      if (what.holder) translate(*what.holder);
      if (what.holder && flaw_ == flaw::takes_any_holder) what.holder = present_token(what);
    }
    if constexpr (requires { what.puts; }) {
      for (put& each : what.puts) translate_token(each);
    }
  }
  /// The reservation of the job that has the key of this put; that of the put, if it is not reserved.
  reservation present_token(const put& what) {
    const peek_answer seen = execute_one(inner_, peek{job_key{what.tube, what.key}});
    if (!seen.job || seen.job->state != job_state::reserved) return *what.holder;
    return {seen.job->id, 1, latest_attempts_[seen.job->id]};
  }
  /// So that a reservation which the batch gives is known to the operations behind it.
  execution execute_one_by_one(std::span<operation> batch) {
    execution all;
    for (operation& each : batch) {
      execution one = execute(std::span(&each, 1));
      all.answers.push_back(std::move(one.answers.front()));
      all.ready_tubes.insert(all.ready_tubes.end(), one.ready_tubes.begin(), one.ready_tubes.end());
      all.expired.insert(all.expired.end(), one.expired.begin(), one.expired.end());
      all.emptied_tubes.insert(all.emptied_tubes.end(), one.emptied_tubes.begin(), one.emptied_tubes.end());
    }
    return all;
  }
  void spoil(operation& what) const {
    if (auto* const it = std::get_if<put>(&what); it != nullptr && flaw_ == flaw::prefers_high_numbers) {
      it->priority = ~it->priority;
    }
    if (auto* const it = std::get_if<cancel>(&what); it != nullptr && flaw_ == flaw::lies_about_cancels) {
      what = fire_now{std::move(it->name)};
    }
    if (auto* const it = std::get_if<put>(&what); it != nullptr && flaw_ == flaw::drops_fields) it->fields = {};
    if (auto* const it = std::get_if<put>(&what); it != nullptr && flaw_ == flaw::ignores_holders) it->holder.reset();
    if (auto* const all = std::get_if<put_all>(&what); all != nullptr && flaw_ == flaw::ignores_holders_in_all) {
      for (put& each : all->puts) each.holder.reset();
    }
    if (auto* const it = std::get_if<bury>(&what); it != nullptr && flaw_ == flaw::drops_histories) it->history = {};
    if (auto* const it = std::get_if<list_jobs>(&what)) spoil_list(*it);
    std::visit(
        [this](auto& each) {
          if constexpr (requires { each.once; }) each.once = spoil_once(each, each.once);
        },
        what);
    if (flaw_ != flaw::ignores_versions) return;
    std::visit(
        [](auto& each) {
          if constexpr (requires { each.expected; }) each.expected = 0;
        },
        what);
  }
  [[nodiscard]] static bool is_by_id(const list_jobs& what) {
    return !what.which || *what.which == job_state::reserved;
  }
  void spoil_list(list_jobs& what) const {
    if (flaw_ == flaw::begins_pages_too_soon && what.after.id != 0) --what.after.id;
    if (flaw_ == flaw::lists_other_tubes && is_by_id(what)) what.tube.clear();
  }
  void spoil_page(const list_jobs& of, jobs_answer& page) const {
    if (flaw_ == flaw::ends_pages_too_soon && page.next) page.jobs.pop_back();
    if (flaw_ == flaw::hides_the_next_page) page.next.reset();
    if (flaw_ == flaw::drops_the_rank_of_next && page.next) page.next->rank = 0;
    if (flaw_ != flaw::lists_equals_reversed || is_by_id(of)) return;
    for (auto begin = page.jobs.begin(); begin != page.jobs.end();) {
      const auto is_other = [&](const listed_job& each) { return each.place.rank != begin->place.rank; };
      const auto end = std::find_if(begin, page.jobs.end(), is_other);
      std::reverse(begin, end);
      begin = end;
    }
  }
  /// What makes the operation happen once in this store.
  template <class Operation>
  [[nodiscard]] once spoil_once(const Operation& /*what*/, const once& is) const {
    if (is.empty()) return is;
    constexpr flaw again = std::is_same_v<Operation, put>     ? flaw::ignores_once
                           : std::is_same_v<Operation, claim> ? flaw::claims_again
                                                              : flaw::puts_all_again;
    if (flaw_ == again) return {};
    const sha256 request = flaw_ == flaw::takes_any_request ? sha256{} : is.request();
    milliseconds lifetime = is.lifetime();
    if (flaw_ == flaw::remembers_too_long) lifetime += milliseconds(1);
    if (flaw_ == flaw::forgets_too_soon) lifetime -= milliseconds(1);
    return {is.key(), request, lifetime};
  }
  /// Replaces the jobs of a replay by those of the first time.
  void repeat_claim(const operation& what, claim_answer& got) {
    const auto* const asked = std::get_if<claim>(&what);
    if (flaw_ != flaw::repeats_ended_claims || asked == nullptr || asked->once.empty()) return;
    if (!got.is_replayed) {
      first_claims_[asked->once.key()] = got;
    } else if (first_claims_.contains(asked->once.key())) {
      got.jobs = first_claims_[asked->once.key()].jobs;
    }
  }
  void show_token(reservation& token) {
    token.opening = journal_.openings;
    token.attempt -= earlier_attempts_[token.id];
  }

  void show_version(peek_answer& seen) const {
    if (flaw_ == flaw::keeps_versions) seen.version = seen.job->id;
    if (flaw_ == flaw::changes_due_versions && seen.job->state == job_state::delayed) seen.version ^= 1U;
  }

  void shorten(due_answer& page) const {
    if (flaw_ != flaw::leaves_out_equal_times) return;
    for (std::size_t i = page.jobs.size(); i > 1; --i) {
      const bool is_equal = page.jobs[i - 1].due == page.jobs[i - 2].due;
      const bool is_last_of_them = i == page.jobs.size() || page.jobs[i].due != page.jobs[i - 1].due;
      if (is_equal && is_last_of_them) page.jobs.erase(page.jobs.begin() + static_cast<std::ptrdiff_t>(i) - 1);
    }
  }

  execution show(execution done) {
    for (answer& each : done.answers) {
      if (auto* const page = std::get_if<due_answer>(&each)) shorten(*page);
      if (auto* const seen = std::get_if<peek_answer>(&each); seen != nullptr && seen->job) show_version(*seen);
      auto* const made = std::get_if<put_answer>(&each);
      if (made != nullptr && flaw_ == flaw::gives_an_id_twice && made->id % 10 == 0) made->id -= 1;
      auto* claimed = std::get_if<claim_answer>(&each);
      if (claimed == nullptr) continue;
      for (claimed_job& it : claimed->jobs) {
        latest_attempts_[it.token.id] = it.token.attempt;
        show_token(it.token);
      }
      if (flaw_ == flaw::claims_the_last_first) std::ranges::reverse(claimed->jobs);
    }
    for (reservation& each : done.expired) show_token(each);
    if (flaw_ == flaw::forgets_a_ready_tube && done.ready_tubes.size() > 1) done.ready_tubes.pop_back();
    if (flaw_ == flaw::forgets_an_emptied_tube) done.emptied_tubes.clear();
    if (flaw_ == flaw::hides_an_expiry && done.expired.size() > 1) done.expired.pop_back();
    return done;
  }

  journal& journal_;
  const flaw flaw_;
  const store_clocks clocks_;
  settable_clock wall_;
  settable_clock monotonic_;
  memory_store inner_{store_clocks{&wall_, &monotonic_}};
  bool failed_ = false;
  std::map<sha256, claim_answer> first_claims_;
  std::set<reservation> replaced_;  // with their jobs, by their holders
  std::map<job_id, std::uint64_t> earlier_attempts_;
  std::map<job_id, std::uint64_t> latest_attempts_;  // as the memory_store counts them
};

class journal_under_test final : public store_under_test {
 public:
  explicit journal_under_test(flaw wrong) : flaw_(wrong) {}

  std::unique_ptr<job_store> open(const store_clocks& clocks) override {
    return std::make_unique<journal_store>(journal_, flaw_, clocks);
  }
  bool durable() const override { return true; }
  void crash() override {
    if (flaw_ != flaw::loses_batches_at_a_crash) return;
    journal_.entries.resize(journal_.entries.size() - std::min<std::size_t>(journal_.entries.size(), 3));
  }
  bool fail_call(std::uint64_t n) override {
    journal_.failing_call = n;
    return true;
  }

 private:
  journal journal_;
  const flaw flaw_;
};

}  // namespace foliot::jobs::conformance
