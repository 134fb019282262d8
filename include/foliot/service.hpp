// Timers for any thread: services, the handles of their timers, tickers and watches.
#pragma once

#include <foliot/service/executor.hpp>
#include <foliot/service/firing.hpp>
#include <foliot/service/pinned_timer.hpp>
#include <foliot/service/prometheus.hpp>
#include <foliot/service/sleep.hpp>
#include <foliot/service/slow_callback.hpp>
#include <foliot/service/stall.hpp>
#include <foliot/service/statistics.hpp>
#include <foliot/service/statistics_socket.hpp>
#include <foliot/service/statistics_text.hpp>
#include <foliot/service/ticker.hpp>
#include <foliot/service/timer.hpp>
#include <foliot/service/timer_batch.hpp>
#include <foliot/service/timer_handle.hpp>
#include <foliot/service/timer_log.hpp>
#include <foliot/service/timer_service.hpp>
#include <foliot/service/watch.hpp>
