// A job store: it knows the truth about jobs. memory_store.hpp is the reference, which keeps it in memory;
// embedded_store.hpp keeps it on disk.
//
// A store executes operations in batches. The effects of a batch are durable when execute() returns, as far as the
// store promises it. A server therefore collects the operations of all its clients while one batch is being executed,
// and executes them as the next one.
//
// Two clocks. Due times are UTC times of the wall clock: a delayed job becomes ready when that clock shows its due
// time, never before, also if the clock is set meanwhile. A job that has become ready stays ready when the clock is set
// back; a store that is opened again may delay it until its due time. The lengths of reservations and pauses are those
// of the monotonic clock.
#pragma once

#include <foliot/core/language.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <foliot/core/contract.hpp>
#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/jobs/job.hpp>
#include <foliot/jobs/operations.hpp>
#include <foliot/jobs/other_nodes.hpp>
#include <foliot/jobs/time_histogram.hpp>

namespace foliot::jobs {

/// A store cannot go on: what became of the batch that threw it is unknown until the store is opened again, and every
/// later batch throws it, too. The text is a sentence for people: it says which call failed, on which file, and why.
/// What a program decides by is in remedy(), not in the text.
class FOLIOT_EXPORT store_failure : public std::runtime_error {
 public:
  /// What an operator can do about it.
  enum class remedies : std::uint8_t {
    open_again,      ///< open the store again, once the cause that the text names is gone
    restore_backup,  ///< the store is damaged: opening it again repairs nothing; the text may name another way
  };
  /// With a sentence for people.
  explicit store_failure(const std::string& text, remedies remedy = remedies::open_again)
      : std::runtime_error(text), remedy_(remedy) {}
  /// What helps.
  [[nodiscard]] remedies remedy() const noexcept { return remedy_; }

 private:
  remedies remedy_;
};

/// The batch has not been executed, because the store cannot be reached at present; or, in doubt, it is not known
/// whether it has been executed. In both cases a later batch may succeed. Only a store that is not in this process
/// throws it.
class FOLIOT_EXPORT store_unavailable : public std::runtime_error {
 public:
  /// What is known of the batch.
  enum class kind : std::uint8_t {
    not_executed,  ///< nothing has changed
    in_doubt,      ///< it has been executed as a whole, or not at all
  };
  /// With a sentence for people.
  store_unavailable(kind known, const std::string& text) : std::runtime_error(text), known_(known) {}
  /// What helps.
  [[nodiscard]] kind what_is_known() const noexcept { return known_; }
  /// Whether it may have been executed.
  [[nodiscard]] bool is_in_doubt() const noexcept { return known_ == kind::in_doubt; }

 private:
  kind known_;
};

/// What a batch has brought.
struct execution {
  /// The answer to each operation, in their order.
  std::vector<answer> answers;
  /// The tubes in which jobs have become ready, or whose pause has ended, since the batch before: each once, in no
  /// particular order. A tube may be named without a reason.
  std::vector<std::string> ready_tubes;
  /// The reservations that have ended because their time was over, since the batch before.
  std::vector<reservation> expired;
  /// The tubes that have lost their last job in this batch while they were paused, and still are without a job and
  /// paused: each once, in no particular order.
  std::vector<std::string> emptied_tubes;
  /// Whether a put of a small job would have had room behind this batch, as far as the store knows: a full disk, or a
  /// limit of jobs. A store in another process knows it by its refusals, and forgets one after 30 s.
  bool has_room = true;
};

/// When a store wants to execute a batch, if need be an empty one, though nothing is asked of it: when the wall clock
/// shows `due`, or the monotonic clock `expiry`, whichever comes first.
struct next_change {
  /// A delayed job becomes ready. The greatest utc_time: none does.
  utc_time due = utc_time::max();
  /// A reservation or a pause ends, or the store has work of its own to do; never(): none does.
  instant expiry = instant::never();

  friend bool operator==(const next_change&, const next_change&) noexcept = default;
};

/// Figures of a store for metrics: its syncs, its disk and its limits. A figure that the store does not have is
/// missing.
struct store_figures {
  /// How long each sync of the disk has taken, since the opening.
  std::optional<time_histogram::counts> syncs{};
  std::optional<std::uint64_t> disk_free{};     ///< bytes that are free where the store is
  std::optional<std::uint64_t> disk_reserve{};  ///< with fewer free bytes new jobs are refused
  std::optional<std::uint64_t> most_jobs{};     ///< a bound on the jobs, where there is one
  std::optional<std::uint64_t> bytes{};         ///< of the jobs in memory, as memory_bounds counts them
  std::optional<std::uint64_t> most_bytes{};    ///< a bound on these, where there is one

  friend bool operator==(const store_figures&, const store_figures&) = default;
};

/// The interface of all stores. One thread at a time may use a store.
class FOLIOT_EXPORT job_store {
 public:
  job_store() noexcept = default;
  job_store(const job_store&) = delete;
  job_store& operator=(const job_store&) = delete;
  virtual ~job_store() = default;

  /// First ends reservations and pauses whose time is over, and makes due jobs ready: a bounded number of each, in some
  /// milliseconds. What is left over follows with the next batches; until then next() lies in the past, and the jobs
  /// still count as reserved or delayed. An operation that names such a job ends its reservation first, so a
  /// reservation whose time is over is `not_held` in any case.
  ///
  /// Then executes the operations in their order. Each happens as a whole or not at all. The answers are durable when
  /// this returns.
  ///
  /// The operations must be within the limits that validate() checks, but for a claim of no jobs; the store may move
  /// from them. Throws store_failure or store_unavailable; then none of the batch's effects may be acknowledged to
  /// anybody.
  virtual execution execute(std::span<operation> batch) = 0;

  /// When an empty batch should be executed at the latest. Changes with each batch.
  [[nodiscard]] virtual next_change next() const noexcept = 0;

  /// The first invariant of the store that does not hold, if any. May read everything.
  [[nodiscard]] virtual check_result check() = 0;

  /// Makes durable what batches have reported. Only the destructor may be called afterwards, and close() again, which
  /// does nothing then, as it does after a batch that has failed. Throws store_failure if some of it could not be made
  /// durable: a crash of the machine may lose that. The destructor closes, too, but cannot say that it failed.
  virtual void close() {}

  /// What the store tells of itself. Any thread, until close(). Costs a call of the system at the most.
  [[nodiscard]] virtual store_figures figures() const { return {}; }

  /// The other nodes that use this store; null: there are none, so that nothing changes but by this object. A store
  /// that has some may take long to execute a batch, and changes also between batches. The pause of a tube then lasts
  /// its time, because no node knows whether another one has a client there.
  [[nodiscard]] virtual other_nodes* others() noexcept { return nullptr; }
};

}  // namespace foliot::jobs
