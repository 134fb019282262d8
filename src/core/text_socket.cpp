#include <foliot/core/text_socket.hpp>

#include <utility>

namespace foliot::inline core {

text_socket::text_socket(std::string path, const char* thread, source text)
    : text_(std::move(text)), listener_(std::move(path)), thread_(thread, [this] { answer(); }) {}

text_socket::~text_socket() {
  if (!listener_.is_here()) {  // the child of a fork: the thread is the parent's
    thread_.forget();
  } else {
    listener_.shut_down();
    thread_.join();
  }
}

void text_socket::answer() noexcept {
  while (listener_.accept()) {
    try {
      listener_.answer(text_());
    } catch (...) {
      listener_.answer({});  // the reader gets an empty answer
    }
  }
}

}  // namespace foliot::inline core
