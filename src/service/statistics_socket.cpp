#include <foliot/service/statistics_socket.hpp>

#include <new>
#include <utility>

#include <foliot/service/statistics_text.hpp>

namespace foliot::inline service {

statistics_socket::statistics_socket(const timer_service& timers, std::string path)
    : timers_(timers), listener_(std::move(path)), thread_("foliot-stats", [this] { answer(); }) {}

statistics_socket::~statistics_socket() {
  if (!listener_.is_here()) {  // the child of a fork: the thread is the parent's
    thread_.forget();
  } else {
    listener_.shut_down();
    thread_.join();
  }
}

void statistics_socket::answer() noexcept {
  while (listener_.accept()) {
    try {
      listener_.answer(statistics_text(timers_.statistics()));
    } catch (const std::bad_alloc&) {
      listener_.answer({});  // the reader gets an empty answer
    }
  }
}

}  // namespace foliot::inline service
