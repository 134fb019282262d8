// The library for which the tests of asio_timer are compiled: Asio, or with FOLIOT_TEST_BOOST_ASIO Boost.Asio. In
// foliot::test `asio`, `error_code`, `system_error` and `asio_timer` are that library's.
#pragma once

#ifdef FOLIOT_TEST_BOOST_ASIO
#include <foliot/adapters/boost_asio_timer.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/io_context_strand.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>
#if BOOST_ASIO_VERSION >= 101900
#define FOLIOT_TEST_CANCELLATION_SLOTS
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#endif

namespace foliot::test {
namespace asio = boost::asio;
using boost::system::error_code;
using boost::system::system_error;
using asio_timer = boost_asio_timer;
}  // namespace foliot::test

#else
#include <foliot/adapters/asio_timer.hpp>

#include <asio/awaitable.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/io_context_strand.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/strand.hpp>
#include <asio/system_error.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>
#define FOLIOT_TEST_CANCELLATION_SLOTS

namespace foliot::test {
using asio::error_code;
using asio::system_error;
}  // namespace foliot::test
#endif
