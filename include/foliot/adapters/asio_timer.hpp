// A timer for Asio that behaves as asio::steady_timer does, on top of foliot_queue: a program switches by changing a
// type.
//
//   foliot::asio_timer idle(context, 30s);
//   idle.async_wait([&](asio::error_code error) { if (!error) session.close(); });
//   idle.expires_after(30s);                // the wait ends with operation_aborted
//   co_await idle.async_wait(asio::use_awaitable);
//
// Completion tokens, associated executors, allocators and cancellation slots are honoured. Any number of waits may be
// outstanding; the context runs as long as there is one. The timers of one context share a queue and one alarm.
//
// Better than steady_timer: a cancel is certain. The handler of a wait that cancel() counts is not called with success,
// even if the timer had expired and the handler was queued; steady_timer does not count such handlers and calls them
// with success after the cancel. The same holds for a change of the expiry and for the destructor. Timers expire in
// exact order, to the nanosecond; where one thread runs the context, their handlers are called in it. Different: the
// alarm is a handler of the context, too, which run_one and poll_one count.
//
// Thread safety: that of steady_timer: distinct timers from any thread, one timer from one thread at a time.
// Lifetime: after the end of its context a timer must not be used, except that it may be destroyed.
// Complexity: a wait allocates by its handler's associated allocator, and that memory is freed before the handler is
// called, by the thread that calls it; the rest is that of foliot_queue, O(1).
//
// If a handler's executor throws when it is to get the handler, run() throws the same, and tries again in each turn.
// All other handlers are called meanwhile.
//
// One source file may include Asio and Boost.Asio from Boost 1.81 on; before that their own headers declare the same
// names, so each needs a source file of its own.
#pragma once

#include <foliot/core/language.hpp>

// Headers of Boost.Asio without executors do no harm; the others include query.hpp, and few include version.hpp.
#if (defined(BOOST_ASIO_VERSION) || defined(BOOST_ASIO_QUERY_HPP)) && BOOST_VERSION < 108100
#error foliot: one source file cannot include Asio and Boost.Asio before Boost 1.81: give each a file of its own
#else

#include <asio/any_io_executor.hpp>
#include <asio/associated_allocator.hpp>
#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/basic_waitable_timer.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/error.hpp>
#include <asio/error_code.hpp>
#include <asio/execution.hpp>
#include <asio/execution_context.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/post.hpp>
#include <asio/version.hpp>
#include <asio/wait_traits.hpp>

#include <foliot/adapters/detail/asio_common.hpp>

namespace foliot::detail::with_asio {

namespace asio = ::asio;
using asio::error_code;

#include <foliot/adapters/detail/asio_waits.ipp>

#include <foliot/adapters/detail/asio_slots.ipp>
#include <foliot/adapters/detail/asio_wait_of.ipp>

}  // namespace foliot::detail::with_asio

namespace foliot::inline adapters::with_asio {

namespace asio = ::asio;
using asio::error_code;
namespace parts = foliot::detail::with_asio;

#include <foliot/adapters/detail/asio_timer.ipp>

}  // namespace foliot::inline adapters::with_asio

namespace foliot::inline adapters {

/// A timer for the executors of one type, with the interface of asio::basic_waitable_timer.
template <class Executor = asio::any_io_executor>
using basic_asio_timer = with_asio::basic_asio_timer<Executor>;

/// The timer for any_io_executor, as asio::steady_timer is.
using asio_timer = basic_asio_timer<>;

}  // namespace foliot::inline adapters

#endif
