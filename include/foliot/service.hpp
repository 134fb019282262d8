// Timers for any thread: handles, and the engines that run them.
#pragma once

#include <foliot/service/engine.hpp>
#include <foliot/service/executor.hpp>
#include <foliot/service/firing.hpp>
#include <foliot/service/sleep.hpp>
#include <foliot/service/ticker.hpp>
#include <foliot/service/timer.hpp>
#include <foliot/service/timer_handle.hpp>
#include <foliot/service/timer_service.hpp>
#include <foliot/service/watch.hpp>
