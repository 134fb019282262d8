// The steps of a random test, in terms that mean something for any store: jobs and tokens are named by how recently
// they came up.
#pragma once

#include <cstdint>
#include <ostream>
#include <vector>

#include <foliot/core/duration.hpp>
#include <foliot/jobs/operations.hpp>

namespace foliot::jobs::conformance {

/// Which version an operation expects.
enum class expectation : std::uint8_t {
  nothing,
  present,  ///< that of a look right before the batch
  first,    ///< the first one of the job that was seen
  forged,   ///< one that no job has
};

/// Which reservation a put shows (put::holder).
enum class shown_holder : std::uint8_t {
  none,
  of_held,  ///< that of a job of its tube that has a key and is reserved, if there is one: the put gets its key
  recent,   ///< one that was given lately
};

/// An operation that is still to be addressed.
struct request {
  /// Its place in the variant `operation`.
  std::size_t what = 0;
  unsigned tube = 0;
  unsigned other_tube = 0;
  /// 0: none.
  unsigned key = 0;
  bool by_key = false;
  /// The n-th last job that was put, or the n-th last reservation that was given.
  unsigned back = 0;
  /// A token that was never given.
  bool forged = false;
  /// Which fields a put has, and which history a put, release or bury: see fields_of(); 0: none, or as before.
  unsigned fields = 0;
  unsigned history = 0;
  jobs::priority priority = 0;
  bool with_priority = false;
  /// The delay, or with `utc` the difference to the present time, in milliseconds; the length of a pause, too.
  std::int64_t ahead = 0;
  bool utc = false;
  std::int64_t ttr = 1;
  on_existing existing = on_existing::keep;
  job_state state = job_state::ready;
  std::uint32_t count = 1;
  expectation expects = expectation::nothing;
  /// Of a put, or of the puts of a put_all. Then they replace, and do not happen once.
  shown_holder holder = shown_holder::none;
  /// Of a put, a put_all or a claim: the number of its key, so that it happens once; 0: it happens as often as it is
  /// sent.
  unsigned once = 0;
  /// Whether it is another request with this key than most.
  bool other_request = false;
  std::int64_t lifetime = 1;
};

/// Time passes, then a batch is executed, or the store is opened again.
struct step {
  duration pass = duration::zero();
  /// By which the wall clock is set.
  duration wall = duration::zero();
  bool reopen = false;
  bool crash = false;
  /// The call to the disk that fails during the batch; 0: none.
  std::uint64_t failing_call = 0;
  std::vector<request> batch;
};

std::ostream& operator<<(std::ostream& out, const request& it);
std::ostream& operator<<(std::ostream& out, const step& it);

}  // namespace foliot::jobs::conformance
