// Troubles that come at certain steps of what nodes do, in the middle of work that is more than one batch: a node
// stands still until it has been taken for dead and then goes on, it dies, a commit is lost or late and its answer does
// not come, a database is away or fails over.
//
//   class troubles_of_turns final : public step_troubles {
//     commit_fate meet(simulated_database& at, std::span<const jobs::operation> batch, http_node& by) override {
//       return is_turn(batch) && in().one_in(2) ? strike(by) : commit_fate::arrives;
//     }
//   };
//
// The world must outlive it.
#pragma once

#include <cstddef>
#include <span>

#include "node_world.hpp"

namespace foliot::program::worlds {

class step_troubles {
 public:
  step_troubles(const step_troubles&) = delete;
  step_troubles& operator=(const step_troubles&) = delete;
  virtual ~step_troubles();

 protected:
  using commit_fate = jobs::nodes::commit_fate;

  /// At most so many troubles come.
  step_troubles(node_world& in, std::size_t most);

  [[nodiscard]] node_world& in() const noexcept { return in_; }
  /// How many may still come.
  [[nodiscard]] std::size_t left() const noexcept { return left_; }
  /// A node that lives has sent this batch, which is not executed yet.
  virtual commit_fate meet(jobs::nodes::simulated_database& at, std::span<const jobs::operation> batch,
                           http_node& by) = 0;
  /// One of the troubles is something else.
  void count_one() noexcept { --left_; }
  /// Something happens to the node, or to the commit of the batch.
  commit_fate strike(http_node& node);

 private:
  commit_fate strike_any(http_node& node);
  commit_fate die(http_node& node);

  node_world& in_;
  std::size_t left_;
};

}  // namespace foliot::program::worlds
