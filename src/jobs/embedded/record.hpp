// A job as the embedded store keeps it: all but the tube's name.
//
//   1 byte     the index
//   1 byte     what follows: 1 is added if the body is kept apart, 2 if there are fields, 4 if there is a history
//   1 byte     the length of the key
//   72 bytes   numbers, in the order of each_number() in record.cpp
//              the key
//              if there are fields: 2 bytes of their length, and the fields (fields.hpp)
//              if there is a history: 2 bytes of its length, and the history
//              the body, unless it is kept apart
//
// A record with fields or a history is of version 3 of the format, any other one of version 2 (folder_format.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <foliot/jobs/job.hpp>

#include "keys.hpp"

namespace foliot::jobs::detail {

/// The index into which a job was entered when its record was written. A job that was entered into `due` may have
/// become ready since: that moves its index entry, but does not write its record.
enum class index_of : std::uint8_t { due, ready, buried };

/// Bodies up to this size are part of the record. Longer ones are kept apart, so that a release or a bury does not
/// write them again. Fields and histories are part of it in any case, because a claim needs them with the record.
inline constexpr std::size_t longest_inline_body = 1024;

struct record {
  job_id id = 0;  ///< the key, no part of the value
  index_of place = index_of::ready;
  tube_number tube = 0;
  jobs::priority priority = 0;
  std::int64_t due = 0;  ///< milliseconds since 1970, as `made`
  std::int64_t made = 0;
  std::int64_t delay = 0;  ///< milliseconds, as `ttr`
  std::int64_t ttr = 0;
  job_counters counters{};
  std::uint64_t sequence = 0;  ///< of a buried job: its place in the order of the burials
  bool body_apart = false;     ///< the body is in the family `bodies`
  std::string key;
  std::string body;  ///< empty if it is kept apart
  job_fields fields;
  job_fields history;

  /// Whether it needs version 3 of the format.
  [[nodiscard]] bool has_fields() const noexcept { return !fields.empty() || !history.empty(); }
  [[nodiscard]] ready_entry as_ready() const noexcept { return {priority, id}; }
  [[nodiscard]] due_entry as_due() const noexcept { return {due, id, priority}; }
};

/// The same without the inline body, the fields and the history: what a store remembers of a reserved job.
[[nodiscard]] inline record without_content(const record& it) {
  return {.id = it.id,
          .place = it.place,
          .tube = it.tube,
          .priority = it.priority,
          .due = it.due,
          .made = it.made,
          .delay = it.delay,
          .ttr = it.ttr,
          .counters = it.counters,
          .sequence = it.sequence,
          .body_apart = it.body_apart,
          .key = it.key,
          .body = {},
          .fields = {},
          .history = {}};
}

/// Replaces `value` by the bytes of a record.
void encode(const record& what, std::string& value);

/// The inverse; `with_body`: the inline body, too. False if the bytes are not those of a record.
[[nodiscard]] bool decode(job_id id, std::string_view value, record& what, bool with_body);

}  // namespace foliot::jobs::detail
