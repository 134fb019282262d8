// What clients are told of an operation on a job that was done: the `outcome` of its answer, alone or in a batch.
//
// Thread safety: constants.
#pragma once

#include <string_view>

#include <foliot/jobs/operations.hpp>

namespace foliot::program::http {

template <class Operation>
inline constexpr std::string_view word_when_done = {};  // of an operation that has another answer

template <>
inline constexpr std::string_view word_when_done<jobs::cancel> = "cancelled";
template <>
inline constexpr std::string_view word_when_done<jobs::reschedule> = "rescheduled";
template <>
inline constexpr std::string_view word_when_done<jobs::fire_now> = "ready";
template <>
inline constexpr std::string_view word_when_done<jobs::kick_job> = "ready";
template <>
inline constexpr std::string_view word_when_done<jobs::finish> = "finished";
template <>
inline constexpr std::string_view word_when_done<jobs::release> = "released";
template <>
inline constexpr std::string_view word_when_done<jobs::touch> = "touched";
template <>
inline constexpr std::string_view word_when_done<jobs::bury> = "buried";

}  // namespace foliot::program::http
