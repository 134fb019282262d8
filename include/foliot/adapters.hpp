// Timers inside the event loops of others. The adapters that need a library of their own are included by
// themselves: <foliot/adapters/asio_timer.hpp>, <foliot/adapters/uv_timers.hpp>.
#pragma once

#include <foliot/adapters/epoll_timers.hpp>
#include <foliot/adapters/loop_timer.hpp>
#include <foliot/adapters/loop_timers.hpp>
