// Timers in event loops: loop_timers and epoll_timers. The adapters for other libraries' loops have headers of their
// own: <foliot/adapters/asio_timer.hpp>, <foliot/adapters/boost_asio_timer.hpp>, <foliot/adapters/uv_timers.hpp>.
#pragma once

#include <foliot/adapters/epoll_timers.hpp>
#include <foliot/adapters/loop_ticker.hpp>
#include <foliot/adapters/loop_timer.hpp>
#include <foliot/adapters/loop_timers.hpp>
