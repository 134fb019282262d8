// Single-threaded timer queues, which all model the concept timer_queue.
#pragma once

#include <foliot/queue/erlang_timer.hpp>
#include <foliot/queue/erlang_wheel.hpp>
#include <foliot/queue/foliot_queue.hpp>
#include <foliot/queue/goim_heap.hpp>
#include <foliot/queue/hashed_wheel.hpp>
#include <foliot/queue/hierarchical_wheel.hpp>
#include <foliot/queue/node_pool.hpp>
#include <foliot/queue/quad_heap.hpp>
#include <foliot/queue/quad_heap_lazy.hpp>
#include <foliot/queue/red_black_tree.hpp>
#include <foliot/queue/reference_queue.hpp>
#include <foliot/queue/timer_queue.hpp>
#include <foliot/queue/timer_slab.hpp>
