// The targets of tubes, as a client sees them by its rights: it makes, changes and removes them, and looks at them. The
// deliveries are made elsewhere (target_runner.hpp).
//
//   target_records records(client, deliveries);
//   auto putting = records.put("mail", plan, {});
//   const target_records::answer made = co_await putting;
//
// All of it needs the scope `administer`, without which a call throws access_refused, and the tube: a URL and its
// answers are for operators. A target of a tube that is out of the rights is answered as one that does not exist.
//
// A change replaces the record by its version (target_record.hpp), so where another one was quicker it is made again,
// or refused if the client has named a version.
//
// A change is applied before it is answered: the deliveries of this node go by it from then on. If the store does not
// answer a second time, so that the node cannot look, it does so as soon as it does.
//
// Thread safety: as the authorized_client, one task. Each call costs some operations; list() one for each target.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <foliot/jobs/job.hpp>
#include <foliot/runtime/task.hpp>

#include "server/access/authorized_client.hpp"
#include "target_deliveries.hpp"
#include "target_plan.hpp"
#include "target_record.hpp"

namespace foliot::program {

class target_records {
 public:
  enum class result : std::uint8_t {
    done,
    none,           ///< there is no such target for the client
    exists,         ///< condition::must_be_new: there is one
    other_version,  ///< condition::expected or must_exist: it has another one (`version`), or is not there (0)
    refused,        ///< `wrong`: the operator does not allow the plan, or it is wrong
    busy,           ///< others change it all the time
    too_many,       ///< there are most_targets already
    too_long,       ///< the plan has no room in a record
    unreadable,     ///< the record was made by another hand: `wrong`. put() and remove() replace it
    no_space,
  };
  /// When a change is wanted.
  struct condition {
    bool must_be_new = false;
    bool must_exist = false;
    jobs::job_version expected = 0;  ///< not 0: only if the target has this version
  };
  struct answer {
    result what = result::done;
    /// Of a change: that of the record that it has written; 0 where another change was quicker than the look at it.
    jobs::job_version version = 0;
    jobs::job_id record = 0;
    std::optional<target_record> seen = {};
    bool is_new = false;
    bool is_same = false;
    std::optional<target_fault> wrong = {};
  };

  /// Both must outlive it.
  target_records(authorized_client& client, target_deliveries& deliveries) : client_(client), deliveries_(deliveries) {}

  /// Makes a target, enabled, or changes its plan; a disabled one stays disabled.
  [[nodiscard]] task<answer> put(std::string tube, target_plan plan, condition when);
  [[nodiscard]] task<answer> find(std::string tube);
  /// All whose tubes begin with the prefix, in the order of the tubes.
  [[nodiscard]] task<std::vector<target_record>> list(std::string prefix);
  /// From now on clients reserve from the tube again. Its jobs stay.
  [[nodiscard]] task<answer> remove(std::string tube, condition when);
  [[nodiscard]] task<answer> enable(std::string tube, condition when);
  [[nodiscard]] task<answer> disable(std::string tube, std::string why, condition when);

 private:
  void check(const std::string& tube) const;
  [[nodiscard]] bool may_see(const std::string& tube) const;
  [[nodiscard]] std::string who() const;
  void tell(std::string_view what, const std::string& tube) const;
  task<answer> look(std::string tube);
  /// `none`, `other_version`, `exists`, or `done`.
  [[nodiscard]] static result check(const condition& when, const answer& seen) noexcept;
  task<answer> store(std::string tube, const target_plan& plan, const target_state& state, jobs::job_version expected);
  task<answer> change(std::string tube, condition when, std::function<bool(target_record&)> how, std::string told);

  authorized_client& client_;
  target_deliveries& deliveries_;
};

}  // namespace foliot::program
