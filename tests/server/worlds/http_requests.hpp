// The requests of a connection that speaks HTTP, and how the answers in JSON become the words of the history, which are
// those of beanstalk.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "requests.hpp"

namespace foliot::program::worlds {

class http_requests final : public requests {
 public:
  /// `node`: see event.
  http_requests(client_world& in, std::size_t connection, std::size_t node = 0)
      : requests(in, connection, protocol_of::http, node) {}

  [[nodiscard]] std::string greeting() override { return next(); }
  [[nodiscard]] std::string next() override;
  [[nodiscard]] bool take_answer(std::string& received) override;
  [[nodiscard]] bool is_last() const override { return is_last_; }

  /// A reserve that happens once, which is the world's latest keyed request then.
  [[nodiscard]] std::string reserve_once() { return once(&http_requests::reserve); }
  /// A keyed request, sent again.
  [[nodiscard]] std::string repeat(const keyed_request& again);

 private:
  using json = nlohmann::ordered_json;

  /// A request whose answer has not come.
  struct question {
    std::size_t events = 1;
    bool is_head = false;
    bool is_atomic = false;
  };
  struct answer {
    int status = 0;
    std::string head;
    std::string body;

    [[nodiscard]] bool has_field(std::string_view line) const;
  };
  /// The first whole answer in the bytes that have come.
  [[nodiscard]] static bool take(std::string& received, bool has_body, answer& into);

  /// Writes a request, in one of the forms that it may have.
  std::string write(std::string_view method, std::string path, const json& values, std::string fields = {},
                    std::size_t events = 1);
  /// A request with one right answer: its status, and the outcome of a problem behind it.
  std::string expect(std::string text, std::string expected, bool is_head = false);

  std::string put();
  std::string batch();
  /// A batch that takes all or none.
  std::string atomic_batch();
  /// The request that `ask` writes, with a key, so that it happens once.
  std::string once(std::string (http_requests::*ask)());
  std::string repeat();
  /// The values of a put, which `made` is about.
  json choose_put(event& made);
  std::string raw_put(const event& made, json values);
  std::string reserve();
  std::string of_reservation(const known_reservation& held);
  std::string some_reservation();
  std::string of_named_job();
  std::string change(verb what);
  std::string look();
  std::string other();
  std::string kick();
  std::string clear();
  std::string pause_tube();
  std::string page();
  std::string wrong();
  /// The path of the job that `made` is about, by its id or by its tube and key, which are chosen here.
  std::string name_job(event& made);
  std::string expected_version(event& made);

  /// Whether an answer says that the request could not be executed at present, or that this is not known, or that the
  /// same request is under way.
  [[nodiscard]] bool is_of_outage(const answer& got, const json& value) const;
  void note_answer(event& it, const answer& got, const json& value);
  void note_reserved(event& it, const json& all);
  /// The answers to the puts of a batch, or what has become of all of them.
  void note_batch(const std::vector<event*>& answered, const answer& got, const json& value);
  void note_refused_batch(const std::vector<event*>& answered, const answer& got, const json& value);
  static void note_job(event& it, const json& job);
  void note_look(event& it, const answer& got, const json& value);
  void note_page_answer(event& it, const json& value);
  static std::string_view word_of(verb what, std::string_view outcome);

  std::deque<question> questions_;
  bool is_last_ = false;
  std::string key_;  // of the request that is being written
};

}  // namespace foliot::program::worlds
