// The layer below all others: instants, durations, clocks and the timer node. It starts no threads.
#pragma once

#include <foliot/core/clock.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/expiry.hpp>
#include <foliot/core/firing.hpp>
#include <foliot/core/grid.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/outcome.hpp>
#include <foliot/core/readiness.hpp>
#include <foliot/core/slack.hpp>
#include <foliot/core/timer_deadline.hpp>
#include <foliot/core/timer_node.hpp>
#include <foliot/core/virtual_clock.hpp>
