// A timer for Boost.Asio that behaves as boost::asio::steady_timer does, on top of foliot_queue: asio_timer.hpp has the
// whole contract, which is the same here. The two are one source, in which only the library differs.
//
//   foliot::boost_asio_timer idle(context, 30s);
//   idle.async_wait([&](boost::system::error_code error) { if (!error) session.close(); });
//   idle.expires_after(30s);                // the wait ends with operation_aborted
//   co_await idle.async_wait(boost::asio::use_awaitable);
//
// A program may use both headers: the types are distinct, and so are the queues of their contexts. One source file may
// include both from Boost 1.81 on. The libraries' own headers declare the same names before that, so each of the two
// needs a source file of its own. Handlers have cancellation slots from Boost 1.77 on.
//
// Thread safety, lifetime, complexity: as asio_timer.hpp.
#pragma once

#include <foliot/core/language.hpp>

#include <boost/version.hpp>

// Headers of Asio without executors do no harm; the others include query.hpp, and few include version.hpp.
#if (defined(ASIO_VERSION) || defined(ASIO_QUERY_HPP)) && BOOST_VERSION < 108100
#error foliot: one source file cannot include Asio and Boost.Asio before Boost 1.81: give each a file of its own
#else

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/version.hpp>
#include <boost/asio/wait_traits.hpp>
#include <boost/system/error_code.hpp>
#if BOOST_ASIO_VERSION >= 101900
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/cancellation_type.hpp>
#endif

#include <foliot/adapters/detail/asio_common.hpp>

namespace foliot::detail::with_boost_asio {

namespace asio = boost::asio;
using boost::system::error_code;

#include <foliot/adapters/detail/asio_waits.ipp>

#if BOOST_ASIO_VERSION >= 101900
#include <foliot/adapters/detail/asio_slots.ipp>
#else
/// Stands for the cancellation slot, which a handler does not have in this version.
template <class Handler>
struct handler_slot {
  explicit handler_slot(const Handler&) noexcept {}
  void connect(asio_wait&) noexcept {}
};
#endif

#include <foliot/adapters/detail/asio_wait_of.ipp>

}  // namespace foliot::detail::with_boost_asio

namespace foliot::inline adapters::with_boost_asio {

namespace asio = boost::asio;
using boost::system::error_code;
namespace parts = foliot::detail::with_boost_asio;

#include <foliot/adapters/detail/asio_timer.ipp>

}  // namespace foliot::inline adapters::with_boost_asio

namespace foliot::inline adapters {

/// A timer for the executors of one type, with the interface of boost::asio::basic_waitable_timer.
template <class Executor = boost::asio::any_io_executor>
using basic_boost_asio_timer = with_boost_asio::basic_asio_timer<Executor>;

/// The timer for any_io_executor, as boost::asio::steady_timer is.
using boost_asio_timer = basic_boost_asio_timer<>;

}  // namespace foliot::inline adapters

#endif
