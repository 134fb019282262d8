// The engine `bucket-heaps`: a 4-ary heap in each of 64 shards, and timers that move between them.
//
// A start, and so a reset, moves the timer to the shard of the calling thread, as in Go 1.10 to 1.13 (assignBucket). In
// Go a Reset was a deltimer and then an addtimer, and two goroutines that reset one timer raced. Here it is one step,
// under the locks of both shards, so that the results are exact:
//
//   any other operation    reads the timer's home, takes that shard's lock, and reads the home again; if the timer has
//                          moved meanwhile, it begins again
//   reset                  the same with two locks, that of the home and that of the caller's shard
//
// Lock order: a thread that takes two of these locks, or all, takes the lock of the higher index first. A fork takes
// them in the same order, since it asks its witnesses in the reverse order of their making.
//
// A timer stays where it is, and is armed there,
//   - while its callback runs or its closure is destroyed: its callbacks must not overlap;
//   - while the executor is called with its job: the shard's thread uses the record after that;
//   - when one of both shards drains or has ended: the end of a service must find each timer once.
// The timer of a sleep never moves: its only start is on the shard that made it.
//
// Lifetime: an operation may reach a timer by way of any shard of its service. So all shards of a service live as long
// as one of them has a timer.
#include <memory>
#include <mutex>
#include <ranges>
#include <string>
#include <string_view>

#include <foliot/queue/quad_heap.hpp>

#include "core/seam/probes.hpp"
#include "service/engine_design.hpp"

namespace foliot::detail {

namespace {

/// The shard that has the timer, in its record.
class moving_home {
 public:
  explicit moving_home(engine& maker) noexcept : home_(&maker) {}
  /// Without that shard's lock the answer may be outdated at once: take the lock, and ask again.
  [[nodiscard]] engine* home() const noexcept { return home_.load(seam::relaxed); }
  /// Under the locks of both shards, the old one and the new one.
  void move_to(engine& home) noexcept { home_.store(&home, seam::relaxed); }

 private:
  // Written by the thread that moves the timer, under the locks of both shards; read by any thread that uses the timer.
  // Relaxed: it publishes nothing, since a reader relies on it only once it has the lock of the shard that it names.
  seam::atomic<engine*> home_;
};

/// Go padded its buckets, so that no two of them share a cache line.
struct alignas(64) cache_lines {};

struct bucket_design : plain_design<quad_heap> {
  using home = moving_home;
  using padding = cache_lines;
};

class bucket_shard final : public shard<bucket_design> {
 public:
  using shard::shard;

  /// All shards of the service, by their indexes. Before the shard is used.
  void set_siblings(const std::shared_ptr<const shard_list>& all) noexcept {
    all_ = all.get();
    owner_ = all;
  }

  void set_name(timer_record& timer, std::string_view name) override FOLIOT_NO_ANALYSIS {
    auto swapped = std::make_shared<const std::string>(name);  // the old name is freed without the lock
    probes::name(&timer, swapped->c_str());
    const home_lock home(timer);
    home->set_name_here(as_record(timer), swapped);
  }

  reset_result reset(timer_record& timer, instant deadline) override {
    return rearm_at_caller(as_record(timer), [deadline] { return deadline; });
  }
  reset_result reset(timer_record& timer, duration delay, duration slack) override {
    return rearm_at_caller(as_record(timer), [this, delay, slack] { return deadline_of(delay, slack); });
  }
  reset_result restart(timer_record& timer, duration period) override {
    return rearm_at_caller(
        as_record(timer), [this, period] { return options_.time.now() + period; },
        [&timer, period] { as_extended(timer).begin_grid(period); });
  }
  stop_result stop(timer_record& timer) noexcept override FOLIOT_NO_ANALYSIS {
    const home_lock home(timer);
    no_log none(options_);
    return home->stop_here(as_record(timer), none);
  }
  bool pending(const timer_record& timer) const noexcept override FOLIOT_NO_ANALYSIS {
    const home_lock home(timer);
    return home->pending_here(static_cast<const record&>(timer));
  }
  std::uint64_t skipped(const timer_record& timer) const noexcept override {
    const home_lock home(timer);
    return as_extended(timer).skipped_;
  }

  stop_result stop_and_wait(timer_record& timer) noexcept override FOLIOT_NO_ANALYSIS {
    bucket_shard& home = lock_home(timer);
    parting_lock held(home, std::adopt_lock);
    return home.stop_and_wait_here(as_record(timer), held.entries());
  }
  void destroy(timer_record* timer) noexcept override FOLIOT_NO_ANALYSIS {
    bucket_shard& home = lock_home(*timer);
    parting_lock held(home, std::adopt_lock);
    home.destroy_here(as_record(*timer), held.entries());
  }
  bool unpin(timer_record& timer) noexcept override FOLIOT_NO_ANALYSIS {
    bucket_shard& home = lock_home(timer);
    const parting_lock held(home, std::adopt_lock);
    return home.unpin_here(as_pinned(timer));
  }
  void detach(timer_record* timer) noexcept override FOLIOT_NO_ANALYSIS {
    bucket_shard& home = lock_home(*timer);
    const parting_lock held(home, std::adopt_lock);
    home.detach_here(as_record(*timer));
  }
  void run_posted(timer_record& timer) noexcept override FOLIOT_NO_ANALYSIS {
    bucket_shard& home = lock_home(timer);
    const parting_lock held(home, std::adopt_lock);
    home.run_job(as_extended(timer));
  }
  void drop_posted(timer_record& timer) noexcept override FOLIOT_NO_ANALYSIS {
    bucket_shard& home = lock_home(timer);
    const parting_lock held(home, std::adopt_lock);
    home.drop_job(as_extended(timer));
  }

  /// A timer that moves meanwhile must be counted once: so all shards are locked at once, in the order of two_locks.
  /// `stopped` of one shard may wrap below zero: the timer was started in another shard, whose `stopped` is too large
  /// by as much. The sum over all shards is right, since the counters are unsigned.
  service_counters counters(const shard_list& of_service) const noexcept override FOLIOT_NO_ANALYSIS {
    service_counters sum;
    const auto one = [](const std::shared_ptr<engine>& each) -> const bucket_shard& {
      return static_cast<const bucket_shard&>(*each);
    };
    for (const auto& each : of_service | std::views::reverse) one(each).lock_.lock_beside_others();
    for (const auto& each : of_service) sum += one(each).counters_here();
    for (const auto& each : of_service) one(each).lock_.unlock_beside_others();
    return sum;
  }

 private:
  static bucket_shard& home_of(const timer_record& timer) noexcept {
    return static_cast<bucket_shard&>(*static_cast<const record&>(timer).home());
  }
  /// Locks the shard that has the timer.
  static bucket_shard& lock_home(const timer_record& timer) noexcept FOLIOT_NO_ANALYSIS {
    for (;;) {
      bucket_shard& home = home_of(timer);
      home.lock_.lock();
      if (&home_of(timer) == &home) return home;
      home.lock_.unlock();
    }
  }
  /// The lock of the shard that has the timer, for functions that do not free the record.
  class home_lock {
   public:
    explicit home_lock(const timer_record& timer) noexcept : home_(lock_home(timer)) {}
    ~home_lock() FOLIOT_NO_ANALYSIS { home_.lock_.unlock(); }
    home_lock(const home_lock&) = delete;
    home_lock& operator=(const home_lock&) = delete;
    bucket_shard* operator->() const noexcept { return &home_; }

   private:
    bucket_shard& home_;
  };

  /// The locks of two shards, or of one.
  struct two_locks {
    two_locks(bucket_shard& a, bucket_shard& b) noexcept FOLIOT_NO_ANALYSIS : high(a.index_ < b.index_ ? b : a),
                                                                              low(a.index_ < b.index_ ? a : b) {
      high.lock_.lock();
      if (&high != &low) low.lock_.lock_beside_others();
    }
    ~two_locks() FOLIOT_NO_ANALYSIS {
      if (&high != &low) low.lock_.unlock_beside_others();
      high.lock_.unlock();
    }
    two_locks(const two_locks&) = delete;
    two_locks& operator=(const two_locks&) = delete;

    bucket_shard& high;
    bucket_shard& low;
  };

  /// While this shard has references it owns all shards of its service.
  [[nodiscard]] std::shared_ptr<engine> owning_pointer() noexcept override { return {owner_.lock(), this}; }

  /// Whether a start may move the timer from this shard to `to`. Under both locks.
  [[nodiscard]] bool may_leave(const record& r, const bucket_shard& to) const noexcept FOLIOT_NO_ANALYSIS {
    const auto starts = [](const bucket_shard& one) FOLIOT_NO_ANALYSIS {
      return one.phase_ == phase::running || one.phase_ == phase::unstarted;
    };
    const bool being_posted = options_.executor && as_extended(r).being_posted_;
    return starts(*this) && starts(to) && !r.life().closed() && !r.life().in_use() && !being_posted;
  }

  /// rearm(), in the shard of the calling thread if the timer may move there.
  template <class DeadlineOf, class Then = void (*)()>
  reset_result rearm_at_caller(record& r, DeadlineOf deadline_of, Then then = [] {}) FOLIOT_NO_ANALYSIS {
    bucket_shard& here = static_cast<bucket_shard&>(*(*all_)[seam::this_thread_home() % all_->size()]);
    for (;;) {
      bucket_shard& from = home_of(r);
      armed done{};
      std::shared_ptr<engine> last;  // not the last owner of `from`: the timer's new home owns all shards too
      {
        const two_locks held(from, here);
        if (&home_of(r) != &from) continue;
        if (&from == &here || !from.may_leave(r, here)) {
          no_log none(options_);
          done = from.arm(r, deadline_of, then, none);
        } else {
          if (here.phase_ == phase::unstarted) here.start_thread();
          here.queue_.make_room();
          // From here on nothing fails.
          const instant deadline = deadline_of();
          const bool queued = from.queue_.stop(r);
          const bool superseded = from.cancel_posted(r) || queued;
          here.retain();
          --from.references_;
          last = from.take_unreferenced();
          r.move_to(here);
          here.queue_.reset(r, deadline);
          done = here.count_armed(r, deadline, superseded, then);
          here.count_peak();
        }
      }
      // The caller's handle keeps the timer, and so the shards.
      if (done.to_wake != nullptr) done.to_wake->wake();
      return done.result;
    }
  }

  /// Valid as long as a shard of the service has a timer, or the service is in use.
  const shard_list* all_ = nullptr;
  std::weak_ptr<const shard_list> owner_;
};
static_assert(alignof(bucket_shard) == 64 && sizeof(bucket_shard) % 64 == 0);

constexpr engine_kind kind_of_buckets() noexcept {
  engine_kind kind = made_of<bucket_design, bucket_shard>("bucket-heaps", 64);
  kind.introduce = [](engine& one, const std::shared_ptr<const shard_list>& all) noexcept {
    static_cast<bucket_shard&>(one).set_siblings(all);
  };
  return kind;
}

}  // namespace

constinit const engine_kind bucket_heaps_engine = kind_of_buckets();

}  // namespace foliot::detail
