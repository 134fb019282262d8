#include <foliot/jobs/embedded_store.hpp>

#include <utility>

#include "engine.hpp"

namespace foliot::jobs {

embedded_store::embedded_store(const embedded_options& options)
    : engine_(std::make_unique<detail::embedded_engine>(options, nullptr)) {}

embedded_store::embedded_store(std::unique_ptr<detail::embedded_engine> engine) noexcept : engine_(std::move(engine)) {}

embedded_store::~embedded_store() = default;

execution embedded_store::execute(std::span<operation> batch) { return engine_->execute(batch); }

next_change embedded_store::next() const noexcept { return engine_->next(); }

check_result embedded_store::check() { return engine_->check(); }

void embedded_store::close() { engine_->close(); }

void embedded_store::back_up(const std::string& to) { engine_->back_up(to); }

}  // namespace foliot::jobs
