#include <foliot/jobs/postgresql_store.hpp>

#include "postgresql_node.hpp"
#include "routing/database_router.hpp"
#include "schema.hpp"

namespace foliot::jobs {

postgresql_store::postgresql_store(const postgresql_options& options)
    : postgresql_store(std::make_unique<detail::postgresql_node>(options)) {}
postgresql_store::postgresql_store(std::unique_ptr<detail::postgresql_node> first) {
  const postgresql_options options = first->options();
  all_ = std::make_unique<detail::database_router>(options, std::move(first));
}
postgresql_store::~postgresql_store() = default;

execution postgresql_store::execute(std::span<operation> batch) { return all_->execute(batch); }
next_change postgresql_store::next() const noexcept { return all_->next(); }
check_result postgresql_store::check() { return all_->check(); }
void postgresql_store::close() { all_->close(); }
other_nodes* postgresql_store::others() noexcept { return all_->others(); }
std::string postgresql_store::place() const { return all_->place(); }
std::vector<std::string> postgresql_store::places() const { return all_->places(); }

postgresql_store::migration postgresql_store::migrate(const std::string& database) {
  return detail::migrate_schema(database);
}

}  // namespace foliot::jobs
