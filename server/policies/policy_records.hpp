// The policies of tubes, as a client sees them by its rights: it makes policies, changes and removes them, and looks at
// them. The server acts by them elsewhere (policies_in_force.hpp).
//
//   policy_records records(client, in_force, [&known] { known.expect(); });
//   auto putting = records.put("mail", policy, {});
//   const policy_records::answer made = co_await putting;   // done, is_new; or what stood in the way
//
// A change is in force at this server when its answer comes, unless the store stops answering in between; at other
// nodes within some seconds.
//
// Rights: to look needs the scope `look`; to put and remove needs `administer`. Without the scope a call throws
// access_refused. The policy of a tube that is out of the rights is answered as one that does not exist; a put into
// such a tube, or with such a tube for the dead letters, throws access_refused.
//
// Where the store does not answer (store_unavailable), a change is in doubt if the exception says so. It is safe to ask
// again: a put that is repeated comes to the same.
//
// Thread safety: as the authorized_client, one task. Each call costs some operations; list() one more for each policy
// on its page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/jobs/job.hpp>
#include <foliot/jobs/operations.hpp>
#include <foliot/jobs/tube_policy.hpp>
#include <foliot/runtime/task.hpp>

#include "server/access/authorized_client.hpp"
#include "server/policies/policies_in_force.hpp"

namespace foliot::program {

/// A policy as its record shows it.
struct known_policy {
  std::string tube;
  jobs::job_version version = 0;  ///< another one after each change
  jobs::utc_time changed{};       ///< when it was put
  jobs::tube_policy policy = {};
  /// Not empty: the record was made by another hand, or by a later version of the program, and cannot be read. The
  /// policy is empty then, and not the one that is in force.
  std::string fault = {};
};

class policy_records {
 public:
  /// The most policies on a page.
  static constexpr std::size_t most_on_page = 100;

  /// What came of a request. With all but `done` nothing has changed.
  enum class result : std::uint8_t {
    done,
    none,           ///< there is no such policy for the client
    exists,         ///< condition::must_be_new: there is one
    other_version,  ///< condition::expected: the policy has another version (`version`), or there is none (0)
    too_many,       ///< policies_in_force::most tubes have policies
    busy,           ///< others change it all the time
    no_space,       ///< the store has no room to write that down
  };
  /// When a change is wanted.
  struct condition {
    bool must_be_new = false;                        ///< If-None-Match: *
    bool must_exist = false;                         ///< If-Match: *
    std::optional<jobs::job_version> expected = {};  ///< If-Match
  };
  struct answer {
    result what = result::done;
    jobs::job_version version = 0;  ///< of the policy now; 0: there is none, another change came right after, or
                                    ///< it was put and the store does not answer since then
    std::optional<known_policy> seen = {};  ///< find(): the policy
    bool is_new = false;                    ///< put(): it was made
    bool is_same = false;                   ///< put(): it was like that before
  };
  struct page {
    std::vector<known_policy> policies;
    std::string next = {};  ///< empty: this is the last page
  };

  /// All must outlive it. `expect`: called before a record is put, for what knows whether there are records
  /// (server_jobs::expect()); may be empty.
  policy_records(authorized_client& client, policies_in_force& in_force, std::function<void()> expect)
      : client_(client), in_force_(in_force), expect_(std::move(expect)) {}

  /// Makes the policy of a tube, or puts it in the place of the one that is there. Precondition: it is right.
  [[nodiscard]] task<answer> put(std::string tube, jobs::tube_policy policy, condition when);
  [[nodiscard]] task<answer> find(std::string tube);
  /// A page of the policies of the tubes with this prefix, those first that were put first. `after` is empty for the
  /// first page, else page::next of the one before. A page may have few policies, or none, though it is not the last
  /// one. `count`: 1 to most_on_page. Nothing if `after` is no place.
  [[nodiscard]] task<std::optional<page>> list(std::string prefix, std::string after, std::size_t count);
  /// From then on the tube has none.
  [[nodiscard]] task<answer> remove(std::string tube, condition when);

 private:
  task<jobs::peek_answer> look(const std::string& tube, bool with_body);
  /// What the conditions say, of a record with this version; 0: there is none.
  [[nodiscard]] static result check(const condition& when, jobs::job_version present) noexcept;
  /// put(), if nobody changes the record meanwhile; else nothing.
  task<std::optional<answer>> try_to_put(const jobs::put& record, condition when);
  task<std::optional<answer>> try_to_remove(const std::string& tube, condition when);

  authorized_client& client_;
  policies_in_force& in_force_;
  std::function<void()> expect_;
};

}  // namespace foliot::program
