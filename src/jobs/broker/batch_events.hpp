// What a batch of a broker has done to jobs, for the readers of event_buffer. Without a reader nothing is noted, and a
// batch looks a few times at one byte.
//
// A worker ends its job by its token, and many clients cancel by an id: neither names the tube or the key. So a batch
// whose events are wanted begins with a look at each of these jobs, which neither can change. A job that is put by the
// same batch is not found; its end is left out, and so are those for which the batch would have to look too often.
//
// Thread safety: the leader alone uses it, without the lock where it tells. O(requests of the batch).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <foliot/jobs/event_buffer.hpp>
#include <foliot/jobs/job_store.hpp>
#include <foliot/jobs/operations.hpp>

namespace foliot::jobs::detail {

class batch_events {
 public:
  explicit batch_events(event_buffer& to) noexcept : to_(to) {}

  /// A batch begins. Returns whether its events are wanted. If not, nothing else may be called but wanted().
  [[nodiscard]] bool begin() noexcept {
    if (wanted_) [[unlikely]]
      drop();
    wanted_ = to_.is_wanted();
    return wanted_;
  }
  [[nodiscard]] bool wanted() const noexcept { return wanted_; }
  /// A request of the batch, in their order, before the store gets it.
  void note(const operation& request) noexcept;
  /// Puts the looks that are needed into the batch, in front of the operation at this place, where its requests begin.
  void add_looks(std::vector<operation>& batch, std::size_t place) noexcept;
  /// How many looks the batch has.
  [[nodiscard]] std::size_t looks() const noexcept { return looks_; }
  /// The store has executed the batch. `requests` are the answers to the looks and to the requests behind them,
  /// `claims` those to the claims of the broker itself.
  void conclude(std::span<const answer> requests, std::span<const answer> claims,
                const std::vector<std::string>& ready_tubes) noexcept;
  /// Tells the readers what there is to tell. Without the lock of the broker.
  void tell() noexcept;

 private:
  static constexpr std::size_t no_look = static_cast<std::size_t>(-1);
  /// Over PostgreSQL each look is a statement of its own: a batch has no more of them, and leaves out other ends.
  static constexpr std::size_t most_looks = 64;
  /// A request, as far as its event must know it.
  struct noted {
    enum class kind : std::uint8_t { other, put, finish, cancel, clear };
    kind what = kind::other;
    std::string tube = {};
    std::string key = {};
    std::vector<job_key> puts = {};  // of a put or put_all: the tube, and the key or none
    std::size_t look = no_look;      // among the looks: the job whose tube and key are not known
  };

  void add(event_record::kind what, std::string tube, std::string key, job_id id,
           event_record::reason why = event_record::reason::none, std::uint64_t count = 1);
  void add_of(noted& request, const answer& got, std::span<const answer> looks);
  void add_put(job_key& named, const put_answer& done);
  void add_end(noted& request, job_id id, event_record::reason why, std::span<const answer> looks);
  void add_reserved(const answer& got);
  /// Forgets what the batch before has noted.
  void drop() noexcept;
  /// There is no memory for the events of this batch.
  void give_up() noexcept;

  event_buffer& to_;
  bool wanted_ = false;
  bool gave_up_ = false;
  std::size_t looks_ = 0;
  std::vector<noted> requests_;
  std::vector<job_id> to_look_at_;
  std::vector<event_record> news_;
  std::uint64_t left_out_ = 0;
};

}  // namespace foliot::jobs::detail
