#include <foliot/jobs/embedded_store.hpp>

#include <utility>

#include "core.hpp"

namespace foliot::jobs {

embedded_store::embedded_store(const embedded_options& options)
    : core_(std::make_unique<detail::embedded_core>(options, nullptr)) {}

embedded_store::embedded_store(std::unique_ptr<detail::embedded_core> core) noexcept : core_(std::move(core)) {}

embedded_store::~embedded_store() = default;

execution embedded_store::execute(std::span<operation> batch) { return core_->execute(batch); }

next_change embedded_store::next() const noexcept { return core_->next(); }

check_result embedded_store::check() { return core_->check(); }

void embedded_store::close() { core_->close(); }

void embedded_store::back_up(const std::string& to) { core_->back_up(to); }

}  // namespace foliot::jobs
