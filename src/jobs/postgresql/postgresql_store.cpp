#include <foliot/jobs/postgresql_store.hpp>

#include "engine.hpp"
#include "schema.hpp"

namespace foliot::jobs {

postgresql_store::postgresql_store(const postgresql_options& options)
    : engine_(std::make_unique<detail::postgresql_engine>(options)) {}
postgresql_store::postgresql_store(std::unique_ptr<detail::postgresql_engine> engine) noexcept
    : engine_(std::move(engine)) {}
postgresql_store::~postgresql_store() = default;

execution postgresql_store::execute(std::span<operation> batch) { return engine_->execute(batch); }
next_change postgresql_store::next() const noexcept { return engine_->next(); }
check_result postgresql_store::check() { return engine_->check(); }
void postgresql_store::close() { engine_->close(); }
other_nodes* postgresql_store::others() noexcept { return engine_->others(); }
std::string postgresql_store::place() const { return engine_->place(); }

postgresql_store::migration postgresql_store::migrate(const std::string& database) {
  return detail::migrate_schema(database);
}

}  // namespace foliot::jobs
