// The way from a library's callback back to the workload.
//
// Libraries call a plain function with the timer; the sink of a turn is a template. For as long as one turn of the loop
// takes, this holds a pointer to the sink, with its type erased: that costs an indirect call, as any user's callback
// does.
//
// Thread safety: none, one thread.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

namespace foliot::program::bench {

template <class Timer>
class peer_firing {
 public:
  /// Runs a turn, and hands what fires meanwhile to the sink. Returns how many timers fired.
  template <class Sink, class Turn>
  std::size_t during(Sink& sink, Turn&& turn) {
    fired_ = 0;
    sink_ = std::addressof(sink);
    call_ = [](const void* to, Timer& due) { (*static_cast<const Sink*>(to))(due); };
    turn();
    return fired_;
  }

  void operator()(Timer& due) {
    ++fired_;
    call_(sink_, due);
  }

 private:
  std::size_t fired_ = 0;
  const void* sink_ = nullptr;
  void (*call_)(const void*, Timer&) = nullptr;
};

}  // namespace foliot::program::bench
