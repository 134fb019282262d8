// The tubes as clients of beanstalkd see them: a tube lives while it has a job, or a connection uses or watches it; its
// counters begin anew with each life. The tube `default` lives for ever.
//
// A session that uses or watches a tube has a held_tube. One that only looks at a record, as while it counts the jobs
// of the tube, has a shared_record: the tube may end meanwhile.
//
// Their order is that of `list-tubes`: as they were made; where one ends, the last one takes its place. The text of
// that list is one for all that read it, and lives while one of them does. It is in pieces of tubes_of_a_piece names,
// so a list behind a change shares all pieces but the changed ones with the list before it.
//
// Thread safety: any task.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/core/annotations.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/mutex.hpp>

#include "server/core/held_memory.hpp"

namespace foliot::program::beanstalk {

/// What is counted of a tube. The counters order nothing.
struct tube_record {
  explicit tube_record(std::string_view named) : name(named) {}

  const std::string name;
  seam::atomic<std::uint64_t> uses{0};  ///< how often the record was obtained
  seam::atomic<std::uint64_t> total_jobs{0};
  seam::atomic<std::uint64_t> deletes{0};
  seam::atomic<std::uint64_t> pauses{0};
  seam::atomic<std::int64_t> pause_seconds{0};  ///< the length of the last pause

 private:
  friend class tube_records;
  std::size_t holders_ = 0;  // under the lock of tube_records
};
using shared_record = std::shared_ptr<tube_record>;

class tube_records;

/// A use or a watch of a tube, which lives meanwhile. Empty: of none.
class held_tube {
 public:
  held_tube() = default;
  ~held_tube() { static_cast<void>(release()); }
  held_tube(held_tube&& other) noexcept
      : from_(std::exchange(other.from_, nullptr)), record_(std::move(other.record_)) {}
  held_tube& operator=(held_tube&& other) noexcept {
    std::swap(from_, other.from_);
    std::swap(record_, other.record_);
    return *this;
  }

  [[nodiscard]] explicit operator bool() const noexcept { return record_ != nullptr; }
  [[nodiscard]] tube_record* operator->() const noexcept { return record_.get(); }
  /// Ends the use or the watch, and returns the record, or null.
  shared_record release() noexcept;

 private:
  friend class tube_records;
  held_tube(tube_records& from, shared_record record) noexcept : from_(&from), record_(std::move(record)) {}

  tube_records* from_ = nullptr;
  shared_record record_;
};

/// How many names are in a piece of a list.
inline constexpr std::size_t tubes_of_a_piece = 128;

/// The bytes of a name in a list; of one in quotes, the most that it may have.
[[nodiscard]] std::size_t size_in_list(std::string_view tube) noexcept;
/// The lines of a list of these names, in pieces. A name that no client can give is in quotes: programs that use the
/// store without the server may have made such a tube.
[[nodiscard]] std::shared_ptr<const shared_text> make_list(held_memory& in, const std::vector<std::string>& names);

/// All tubes that live.
class tube_records {
 public:
  tube_records() { static_cast<void>(obtain("default")); }

  /// The record of this tube, which has or gets a job; made if the tube is new.
  shared_record obtain(std::string_view name);
  /// The same for a tube that a session begins to use or to watch; empty if it would be new, and there are `most`.
  [[nodiscard]] held_tube hold(std::string_view name, std::size_t most = std::numeric_limits<std::size_t>::max());
  /// The record of this tube, or null if it does not live.
  [[nodiscard]] shared_record find(std::string_view name) const;
  /// Ends the tube, except in three cases: it is `default`; a session uses or watches it; or its record was obtained
  /// since the caller has read `uses`, so that it may have a job.
  void end(const shared_record& of, std::uint64_t uses);
  /// The names, in the order of `list-tubes`.
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] std::size_t size() const;
  /// The present lines of `list-tubes`. Their memory counts in `in`, which must be the same object in all calls.
  [[nodiscard]] std::shared_ptr<const shared_text> list(held_memory& in);
  /// How much memory list() would take besides the pieces that readers hold already.
  [[nodiscard]] std::size_t bytes_of_list() const;

 private:
  friend class held_tube;

  void release(tube_record& of) noexcept;
  [[nodiscard]] shared_record obtain_locked(std::string_view name, std::size_t most) FOLIOT_REQUIRES(lock_);

  /// A part of the list: the bytes of its names, and its text while a reader has it.
  struct piece {
    std::size_t bytes = 0;
    std::weak_ptr<const counted_text> text;
  };

  /// At this index, a name that had `gone` bytes in the list is replaced by one that has `come` bytes; 0: by none.
  void note_change(std::size_t index, std::size_t gone, std::size_t come) noexcept FOLIOT_REQUIRES(lock_);

  mutable mutex lock_{lock_rank::object};
  std::vector<shared_record> in_order_ FOLIOT_GUARDED_BY(lock_);
  std::vector<piece> pieces_ FOLIOT_GUARDED_BY(lock_);
  std::weak_ptr<const shared_text> list_ FOLIOT_GUARDED_BY(lock_);  // ended by each change
  std::map<std::string_view, std::size_t> by_name_
      FOLIOT_GUARDED_BY(lock_);  // the index in in_order_; the names are the records'
};

}  // namespace foliot::program::beanstalk
