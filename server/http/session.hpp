// One connection of an HTTP client: reads its requests, has a conversation answer them, and writes the responses in
// their order. The connection is a byte_stream, in plain or not.
//
// A client may send requests without waiting for the responses. They are answered one after the other; the responses
// leave when all that has been read is answered, or when they have grown to some size. A client that does not read its
// responses is not read from either.
//
// Slow clients: the head of a request must come within `head` of its first byte, its body within `body` and a second
// for each 16 KiB; else the client gets 408, and the connection ends. A client that takes a response more slowly, and
// one that sends nothing for `idle`, lose the connection without a word.
//
// What is refused before it is known where the next request begins ends the connection, behind its response. What the
// client has sent is then read and dropped for a moment, since a closed socket with unread bytes would drop the
// response.
//
// While a request waits for jobs the session goes on reading, up to a bound: it must notice that the client has gone.
// One that has closed its side counts as gone. If so much comes that the bound is reached, the wait ends without a job.
//
// A stream is a response whose body comes in pieces, as long as the client takes them. A task of its own writes it,
// while the session goes on reading, as above. Its pieces are small, so that they need no room. The connection ends
// with it: in order, with the last chunk, unless the client has not taken the piece before.
//
// What a client has shown to come in is wiped from the buffers when it has been looked at.
//
// The memory of a session counts as held_memory. Before it takes much memory for a body or an answer it takes room; if
// there will be none, the client gets 503. A session that is closed to make room ends without a response.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/runtime/task.hpp>

#include "message.hpp"
#include "request_parser.hpp"
#include "server/core/byte_stream.hpp"
#include "server/core/held_memory.hpp"
#include "server/core/wiping_allocator.hpp"
#include "service.hpp"
#include "writer.hpp"

namespace foliot::program::http {

/// How long a client may take.
struct session_times {
  duration head = std::chrono::seconds(10);
  duration body = std::chrono::seconds(30);
  duration response = std::chrono::seconds(30);  ///< to take it; and a second for each 16 KiB
  duration idle = std::chrono::seconds(120);
};

class session final : private answering_side {
 public:
  /// All must outlive it. Throws what service::begin() throws.
  session(service& by, held_memory& memory, byte_stream& peer, const request_limits& limits,
          const session_times& times = {});

  /// Serves the client until one side ends the connection. The caller must close the connection then.
  [[nodiscard]] task<> run();

 private:
  using read_buffer = std::vector<char, wiping_allocator<char>>;

  [[nodiscard]] task<bool> take_room(std::size_t bytes) override;
  [[nodiscard]] task<bool> wait_for(task<> what) override;
  [[nodiscard]] task<response> stream(const response& head, streamed_body& body) override;

  [[nodiscard]] std::string_view unread() const noexcept { return {buffer_.data() + begin_, end_ - begin_}; }
  /// Waits for bytes of the client. Returns false if the connection ends.
  task<bool> read_more();
  /// Returns false if the buffer is as large as it may be, or if there is no room at once.
  [[nodiscard]] bool enlarge_buffer();
  /// Reads what the client sends while its request waits. Returns false if the client has gone, or has sent too much.
  task<bool> read_beside();
  /// When what is awaited of the client must be there.
  [[nodiscard]] instant read_deadline();
  void on_silence();
  task<bool> flush();
  task<bool> write(std::string_view text);

  class chunk_writer;
  /// Ends a stream in order, if the client takes that at once.
  task<> end_stream(const chunk_writer& out);

  task<> answer_request();
  /// Appends the response to out_. Returns whether more must be done: see send().
  [[nodiscard]] bool append(const response& made, const request& to);
  /// Writes a response whose head was appended, if its body is large or it wants a word.
  task<> send(const response& made);
  /// A request whose head has come may be refused, or its client told to go on.
  void on_head();
  /// Writes a response that ends the connection.
  void end_with(const response& last);
  /// Room for so many bytes of a body. Ends the connection, behind 503, if there is none.
  task<> take_room_for_body(std::size_t bytes);

  [[nodiscard]] std::size_t buffers() const noexcept { return buffer_.size() + out_.capacity(); }
  void note_memory() noexcept { memory_.holds(buffers() + requests_.memory() + answering_); }
  /// Gives back memory that is not needed while a client is silent, and leaves so many bytes for what it sends.
  void trim_buffers(std::size_t unread);

  byte_stream& peer_;
  const session_times times_;
  memory_holder memory_;
  std::unique_ptr<conversation> with_;
  request_parser requests_;
  read_buffer buffer_;
  std::size_t begin_ = 0;  // of the unread bytes in buffer_
  std::size_t end_ = 0;
  std::string out_;            // responses that were not sent
  std::size_t answering_ = 0;  // the memory of the request that is being answered
  instant head_begun_ = instant::never();
  instant body_begun_ = instant::never();
  std::optional<response> refusal_;  // of the request whose head has come
  response_form form_;               // of the response to the request that is being answered
  bool ends_ = false;
  bool drops_ = false;  // the client may still be sending what is not read
};

}  // namespace foliot::program::http
