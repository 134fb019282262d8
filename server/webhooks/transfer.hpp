// One easy handle of libcurl, with all that a delivery needs while it runs. It is used again for later deliveries,
// since its making costs more than a delivery.
//
// Thread safety: under the lock of its engine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <curl/curl.h>
#include <foliot/core/instant.hpp>
#include <foliot/runtime/wait_group.hpp>

#include "delivery.hpp"
#include "delivery_engine.hpp"

namespace foliot::program::webhooks {

class transfer;

/// What its engine wants to be called for, under the engine's lock.
struct engine_callbacks {
  curl_opensocket_callback open;                   ///< with the transfer
  curl_closesocket_callback close;                 ///< with the engine
  void (*headers_in)(void* engine, transfer& of);  ///< of a final answer
  void* engine;
};

class transfer {
 public:
  /// Throws std::bad_alloc. The options must outlive it.
  transfer(const engine_options& options, const engine_callbacks& engine);
  transfer(const transfer&) = delete;
  transfer& operator=(const transfer&) = delete;

  /// Makes it ready for that request. Throws std::bad_alloc.
  void prepare(delivery_request request, std::string signature, std::int64_t timestamp);
  /// Puts the result together. `code` is libcurl's.
  [[nodiscard]] delivery_answer answer(CURLcode code, std::chrono::sys_seconds now) const;
  [[nodiscard]] outcome kind_of(CURLcode code) const noexcept;
  /// Forgets the request.
  void clear() noexcept;

  [[nodiscard]] void* engine() const noexcept { return engine_.engine; }
  [[nodiscard]] CURL* easy() const noexcept { return easy_.get(); }
  [[nodiscard]] const delivery_request& request() const noexcept { return *request_; }
  /// Whether the headers of a final answer of 2xx are in.
  [[nodiscard]] bool has_succeeded() const noexcept { return is_final_ && status_ / 100 == 2; }

  // For the engine:
  runtime::wait_group ended;  // one piece of work, from the start to the end
  delivery_answer result;     // then
  CURLM* multi = nullptr;     // to which it was added
  instant body_deadline = instant::never();
  std::list<transfer*> alone{this};  // its place, while it is not in the engine's list of bodies
  const std::list<transfer*>::iterator place = alone.begin();
  std::size_t index = 0;    // in the engine's list of running ones
  std::size_t uses = 0;     // so far
  std::string denied;       // why the last address was not allowed
  bool has_socket = false;  // a socket was opened for it

 private:
  static std::size_t take_header(char* data, std::size_t, std::size_t size, void* mine) noexcept;
  static std::size_t take_body(char* data, std::size_t, std::size_t size, void* mine) noexcept;
  [[nodiscard]] bool take(std::string_view line);
  /// Refuses the answer.
  bool refuse(std::string_view why) noexcept {
    fault_ = why;
    return false;
  }
  void set_headers(const std::string& signature, std::int64_t timestamp);
  [[nodiscard]] std::string reason_of(CURLcode code, outcome what) const;

  const engine_options& options_;
  const engine_callbacks engine_;
  std::unique_ptr<CURL, void (*)(CURL*)> easy_;
  std::optional<delivery_request> request_;
  std::vector<std::string> lines_;  // of the headers
  std::vector<curl_slist> links_;   // libcurl's list of them
  // The answer so far:
  int status_ = 0;
  bool is_final_ = false;
  std::size_t header_bytes_ = 0;
  std::size_t informational_ = 0;
  std::size_t body_bytes_ = 0;
  std::string body_;
  std::string retry_after_;
  std::string location_;
  std::string_view fault_;  // why the answer was refused
  std::array<char, CURL_ERROR_SIZE> error_{};
};

}  // namespace foliot::program::webhooks
