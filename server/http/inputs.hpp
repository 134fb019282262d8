// The values that a request brings, by their names, wherever they are: in the path, in the query, in the JSON of its
// body, or in a field `Foliot-NAME`. So a tube whose name a proxy would change can travel in the query or the body.
//
//   inputs in(names_of_path, query, body, head);
//   const std::string tube = in.required_text("tube");
//   const auto delay = in.length("delay");
//   in.expect_no_others();
//
// A value that is wrong, or that comes twice, is a wrong_input, which names it and its place.
//
// Thread safety: none, one task. O(values) for each call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/jobs/job.hpp>

#include "json.hpp"
#include "message.hpp"
#include "problem.hpp"
#include "target.hpp"

namespace foliot::program::http {

/// A request that cannot be executed as it is: thrown where it is read, and answered with its problem.
class wrong_input : public std::exception {
 public:
  explicit wrong_input(problem why) : why_(std::move(why)) {}

  [[nodiscard]] const problem& why() const noexcept { return why_; }
  [[nodiscard]] const char* what() const noexcept override { return why_.detail.c_str(); }

 private:
  problem why_;
};

class inputs {
 public:
  /// `body`: an object, or null where the body is none. All but `path` must outlive it, and so must the names that are
  /// asked for.
  inputs(std::vector<parameter> path, const std::vector<parameter>& query, const json& body, const request& head)
      : path_(std::move(path)), query_(query), body_(body), head_(head) {}

  // Each of these throws wrong_input. A value that is not there is nothing.

  [[nodiscard]] std::optional<std::string> text(std::string_view name);
  [[nodiscard]] std::string required_text(std::string_view name);
  /// A text that can be a name of so many bytes, or a part of one: without a zero byte.
  [[nodiscard]] std::optional<std::string> part_of_name(std::string_view name, std::size_t longest);
  /// A whole number, or a text of its digits.
  [[nodiscard]] std::optional<std::uint64_t> number(std::string_view name, std::uint64_t least, std::uint64_t most);
  /// A length of time such as 5s or 1h30m, in milliseconds, rounded up; also 0s. At most jobs::longest_time.
  [[nodiscard]] std::optional<jobs::milliseconds> length(std::string_view name);
  /// A time at which a job can be due.
  [[nodiscard]] std::optional<jobs::utc_time> time(std::string_view name);
  /// true or false.
  [[nodiscard]] std::optional<bool> flag(std::string_view name);
  /// The place of a text among those that are allowed.
  [[nodiscard]] std::optional<std::size_t> choice(std::string_view name, std::initializer_list<std::string_view> among);
  /// Whether there is a value of this name. It is not asked for by that.
  [[nodiscard]] bool has(std::string_view name) const { return all_of(name).count > 0; }
  /// A member of the body, as it is; null if there is none. Only the body may have it.
  [[nodiscard]] const json* member(std::string_view name);
  /// The whole body, for a reader that knows its members: expect_no_others() lets all of them be.
  [[nodiscard]] const json& whole_body() noexcept {
    accepts_body_ = true;
    return body_;
  }

  /// The fields of the request whose names begin so are asked for. `prefix` must be in lower case, and outlive it.
  void accept_fields(std::string_view prefix) noexcept { accepted_fields_ = prefix; }

  /// Throws wrong_input if the query, the body or a field `Foliot-…` has a value that nothing has asked for.
  void expect_no_others() const;
  /// The problem of a value that was read: it has this name. Throws it.
  [[noreturn]] void refuse(std::string_view name, std::string detail, int status = 400) const;

 private:
  struct found {
    where place = where::nothing;
    std::string_view text;
    const json* value = nullptr;  // in the body
  };
  struct all_found {
    std::size_t count = 0;
    found last;
  };

  [[nodiscard]] all_found all_of(std::string_view name) const noexcept;
  /// The value of this name; throws wrong_input if there are several.
  [[nodiscard]] std::optional<found> find(std::string_view name);

  std::vector<parameter> path_;
  const std::vector<parameter>& query_;
  const json& body_;
  const request& head_;
  std::vector<std::string_view> asked_;
  std::vector<std::string_view> asked_members_;  // by member()
  std::string_view accepted_fields_;             // empty: none
  bool accepts_body_ = false;
};

}  // namespace foliot::program::http
