// The tubes as clients of beanstalkd see them: a tube lives while it has a job, or a connection uses or watches it; its
// counters begin anew with each life. The tube `default` lives for ever.
//
// Their order is that of `list-tubes`: as they were made; where one ends, the last one takes its place.
//
// Thread safety: any task.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/annotations.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/mutex.hpp>

namespace foliot::program::beanstalk {

/// What is counted of a tube. The counters order nothing.
struct tube_record {
  explicit tube_record(std::string_view named) : name(named) {}

  const std::string name;
  seam::atomic<std::uint64_t> uses{0};  ///< how often a session has obtained the record
  seam::atomic<std::uint64_t> total_jobs{0};
  seam::atomic<std::uint64_t> deletes{0};
  seam::atomic<std::uint64_t> pauses{0};
  seam::atomic<std::int64_t> pause_seconds{0};  ///< the length of the last pause
};
using shared_record = std::shared_ptr<tube_record>;

/// All tubes that live.
class tube_records {
 public:
  tube_records() { static_cast<void>(obtain("default")); }

  /// The record of this tube; made if the tube is new, and null if there are `most` tubes.
  [[nodiscard]] shared_record obtain(std::string_view name, std::size_t most = std::numeric_limits<std::size_t>::max());
  /// The record of this tube, or null if it does not live.
  [[nodiscard]] shared_record find(std::string_view name) const;
  /// Ends the tube, unless a session holds its record besides the caller, the record was obtained since it had been so
  /// `uses` times, or it is `default`.
  void end(const shared_record& of, std::uint64_t uses);
  /// The names, in the order of `list-tubes`.
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] std::size_t size() const;

 private:
  mutable mutex lock_{lock_rank::object};
  std::vector<shared_record> in_order_ FOLIOT_GUARDED_BY(lock_);
  std::map<std::string_view, std::size_t> by_name_
      FOLIOT_GUARDED_BY(lock_);  // the index in in_order_; the names are the records'
};

}  // namespace foliot::program::beanstalk
