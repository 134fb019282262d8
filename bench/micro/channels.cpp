// What channels cost: a round trip of a value between two tasks, a value through a buffer, and a select.
//
//   foliot bench micro --only channels --repetitions 9
//
// The number of each column is the number of processors. Each of them runs a runtime of its own, and its time is that
// of one operation in it. On a machine that is busy with other work, compare the processor times.
#include <benchmark/benchmark.h>

#include <cstddef>

#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/select.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/task_mutex.hpp>

#include "micro.hpp"

namespace {

using foliot::runtime::channel;
using foliot::runtime::task;

template <class Main>
void on_processors(benchmark::State& state, Main main) {
  foliot::runtime::run_options options;
  options.processors = static_cast<std::size_t>(state.range(0));
  foliot::runtime::run(main(state), options);
}

task<> answer(channel<int> questions, channel<int> answers) {
  while (auto value = co_await questions.receive()) co_await answers.send(*value + 1);
}

/// A value to another task, and another value back.
task<> round_trips(benchmark::State& state, std::size_t room) {
  channel<int> questions(room);
  channel<int> answers(room);
  auto peer = foliot::runtime::spawn(answer(questions, answers));
  int sent = 0;
  for (auto each : state) {
    co_await questions.send(sent);
    auto got = co_await answers.receive();
    benchmark::DoNotOptimize(got);
    ++sent;
  }
  questions.close();
  co_await peer.join();
}

task<> drain(channel<int> values) {
  while (auto value = co_await values.receive()) benchmark::DoNotOptimize(value);
}

/// Values through a channel, from one task to another, both at full speed.
task<> stream(benchmark::State& state, std::size_t room) {
  channel<int> values(room);
  auto peer = foliot::runtime::spawn(drain(values));
  int sent = 0;
  for (auto each : state) {
    co_await values.send(sent);
    ++sent;
  }
  values.close();
  co_await peer.join();
}

task<> select_answers(channel<int> questions, channel<int> answers, channel<int> other) {
  for (;;) {
    auto chosen = co_await foliot::runtime::select(questions.receive(), other.receive());
    if (chosen.index() == 1) co_return;
    const int value = *chosen.get<0>();
    auto sent = co_await foliot::runtime::select(answers.send(value + 1), other.receive());
    if (sent.index() == 1) co_return;
  }
}

/// A round trip in which each wait is a select of two cases.
task<> selected_round_trips(benchmark::State& state) {
  channel<int> questions;
  channel<int> answers;
  channel<int> other;
  auto peer = foliot::runtime::spawn(select_answers(questions, answers, other));
  int sent = 0;
  for (auto each : state) {
    auto asked = co_await foliot::runtime::select(questions.send(sent), other.receive());
    benchmark::DoNotOptimize(asked.index());
    auto got = co_await foliot::runtime::select(answers.receive(), other.receive());
    benchmark::DoNotOptimize(got.index());
    ++sent;
  }
  other.close();
  co_await peer.join();
}

task<> locks(benchmark::State& state) {
  foliot::runtime::task_mutex guard;
  for (auto each : state) {
    auto held = co_await guard.lock();
    benchmark::DoNotOptimize(held);
  }
}

}  // namespace

namespace foliot::program::bench {

void add_channel_costs() {
  const auto add = [](const char* name, auto main) {
    return ::benchmark::RegisterBenchmark(name, [main](::benchmark::State& state) { on_processors(state, main); })
        ->Arg(1)
        ->UseRealTime();
  };
  const auto round_trips_with = [](std::size_t room) {
    return [room](::benchmark::State& state) { return round_trips(state, room); };
  };
  const auto stream_with = [](std::size_t room) {
    return [room](::benchmark::State& state) { return stream(state, room); };
  };
  add("channels/round_trip_unbuffered", round_trips_with(0))->Arg(2);
  add("channels/round_trip_buffered", round_trips_with(1))->Arg(2);
  add("channels/stream_unbuffered", stream_with(0))->Arg(2);
  add("channels/stream_buffered", stream_with(128))->Arg(2);
  add("channels/round_trip_in_selects", selected_round_trips)->Arg(2);
  add("channels/lock_and_unlock", locks);
}

}  // namespace foliot::program::bench
