// The news of several databases as those of one: see other_nodes.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>

#include <foliot/core/annotations.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/seam/poller.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/jobs/other_nodes.hpp>

#include "jobs/postgresql/tube_map.hpp"

namespace foliot::jobs::detail {

class listener_set final : public other_nodes {
 public:
  /// Throws std::system_error if the system has no descriptor left.
  explicit listener_set(duration scan_every) : scan_every_(scan_every) {}

  /// Adds the news of this database. They must live until they are removed, or as long as this.
  void add(int database, other_nodes& news) FOLIOT_EXCLUDES(lock_);
  void remove(int database, const other_nodes& news) noexcept FOLIOT_EXCLUDES(lock_);
  /// Where tubes are told from now on.
  void set_map(std::shared_ptr<const tube_map> map) FOLIOT_EXCLUDES(lock_);

  void tell(std::span<const std::string> tubes) noexcept override FOLIOT_EXCLUDES(lock_);
  [[nodiscard]] int descriptor() const noexcept override { return any_.descriptor(); }
  [[nodiscard]] news take_news() override FOLIOT_EXCLUDES(lock_);
  [[nodiscard]] duration scan_every() const noexcept override { return scan_every_; }

 private:
  const duration scan_every_;
  seam::poller any_;  // of all descriptors
  mutable mutex lock_{lock_rank::engine};
  std::map<int, other_nodes*> all_ FOLIOT_GUARDED_BY(lock_);
  std::shared_ptr<const tube_map> map_ FOLIOT_GUARDED_BY(lock_) = std::make_shared<const tube_map>();
};

}  // namespace foliot::jobs::detail
