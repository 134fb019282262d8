// Tasks and their timers. Sockets are in <foliot/runtime/net.hpp>.
#pragma once

#include <foliot/runtime/after.hpp>
#include <foliot/runtime/background_runtime.hpp>
#include <foliot/runtime/call_on.hpp>
#include <foliot/runtime/callback_timer.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/context.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/runtime_deadline.hpp>
#include <foliot/runtime/runtime_ended.hpp>
#include <foliot/runtime/runtime_handle.hpp>
#include <foliot/runtime/select.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/task.hpp>
#include <foliot/runtime/task_condition.hpp>
#include <foliot/runtime/task_mutex.hpp>
#include <foliot/runtime/task_semaphore.hpp>
#include <foliot/runtime/this_task.hpp>
#include <foliot/runtime/ticker.hpp>
#include <foliot/runtime/timer.hpp>
#include <foliot/runtime/virtual_time.hpp>
#include <foliot/runtime/wait_group.hpp>
#include <foliot/runtime/wall_time.hpp>
#include <foliot/runtime/with_timeout.hpp>
