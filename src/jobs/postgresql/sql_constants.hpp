// The numbers that travel between a node and the SQL functions, by the names that sql/constants.sql gives them.
//
// They are part of the format: nodes of other versions send and read the same ones. The numbers of answers and states
// that the program has as enumerations (job_state, put_answer::kind, change_answer::kind, on_existing,
// batch_frame::turn_taking) are those of the enumerators. PostgresqlConstants compares all of them with the database's.
#pragma once

#include <cstdint>
#include <limits>

namespace foliot::jobs::detail::sql_constants {

// Answers to any operation.
inline constexpr std::int64_t answer_passed_over = -1;
inline constexpr std::int64_t answer_no_room = -2;
// Answers to a put: with a key, and without one.
inline constexpr std::int64_t put_elsewhere = 5;
inline constexpr std::int64_t no_id = 0;
// What has become of a put_all or a claim that happens once.
inline constexpr std::int64_t once_done = 0;
inline constexpr std::int64_t once_repeated = 1;
inline constexpr std::int64_t once_other_request = 2;
// Changes of a job that a worker has.
inline constexpr std::int64_t to_abandon = 0;
inline constexpr std::int64_t to_release = 1;
inline constexpr std::int64_t to_bury = 2;
inline constexpr std::int64_t to_touch = 3;
// Changes of a job that no worker has.
inline constexpr std::int64_t to_cancel = 0;
inline constexpr std::int64_t to_reschedule = 1;
inline constexpr std::int64_t to_fire_now = 2;
inline constexpr std::int64_t to_kick = 3;
// What a due time is.
inline constexpr std::int64_t due_by_delay = 0;
inline constexpr std::int64_t due_by_time = 1;
// Where the number of a batch is.
inline constexpr std::int64_t no_partition = -1;
// Answers of foliot.rotate().
inline constexpr std::int64_t rotation_locked = 0;
inline constexpr std::int64_t rotation_done = 1;
inline constexpr std::int64_t rotation_more = 2;
inline constexpr std::int64_t rotation_early = 3;
// The bits that an opening has set if its reservations last.
inline constexpr std::int64_t lasting_bits = 255;
// How many reservations end in one batch.
inline constexpr std::int64_t most_at_once = 2048;

}  // namespace foliot::jobs::detail::sql_constants

// Numbers of 64 bits between foliot, which has them unsigned, and PostgreSQL, which has signed ones only.

namespace foliot::jobs::detail {

/// For a number that the database cannot have: 0, which is the number of no job and no opening.
[[nodiscard]] constexpr std::int64_t to_database(std::uint64_t number) noexcept {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return number > most ? 0 : static_cast<std::int64_t>(number);
}

/// The inverse. Precondition: `number` is not negative.
[[nodiscard]] constexpr std::uint64_t from_database(std::int64_t number) noexcept {
  return static_cast<std::uint64_t>(number);
}

}  // namespace foliot::jobs::detail
