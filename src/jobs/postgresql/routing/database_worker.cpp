#include "database_worker.hpp"

#include <utility>

namespace foliot::jobs::detail {

bool share_outcome::is_in_doubt() const {
  try {
    if (failure != nullptr) std::rethrow_exception(failure);
  } catch (const store_unavailable& error) {
    return error.is_in_doubt();
  } catch (...) {
    return false;
  }
  return false;
}

void share_outcome::rethrow_unless_down() const {
  try {
    std::rethrow_exception(failure);
  } catch (const node_name_taken&) {
    throw;
  } catch (const store_unavailable&) {
  } catch (const store_failure&) {
  }
}

database_worker::database_worker(postgresql_options options, std::unique_ptr<postgresql_node> node)
    : options_(std::move(options)), node_(std::move(node)) {}
database_worker::database_worker(postgresql_options options, std::shared_ptr<database_access> access)
    : options_(std::move(options)), access_(std::move(access)) {}

database_worker::~database_worker() {
  {
    const lock held(lock_);
    ending_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void database_worker::begin(std::span<operation> share) { begin(share, task::execute); }

void database_worker::begin_to_read_map() { begin({}, task::read_map); }

void database_worker::begin_to_close() { begin({}, task::close); }

void database_worker::begin(std::span<operation> share, task what) {
  if (!uses_thread_) {
    share_outcome made = perform(share, what);
    const lock held(lock_);
    outcome_ = std::move(made);
    return;
  }
  if (!thread_.joinable()) thread_ = seam::thread("foliot-database", [this] { run(); });
  const lock held(lock_);
  share_ = share;
  task_ = what;
  changed_.notify_all();
}

bool database_worker::is_idle() const {
  const lock held(lock_);
  return !share_.has_value();
}

void database_worker::wait_until(instant deadline) {
  const lock held(lock_);
  if (!outcome_) changed_.wait_until(lock_, deadline);
}

std::exception_ptr database_worker::wait() {
  const lock held(lock_);
  while (!outcome_) changed_.wait(lock_);
  return outcome_->failure;
}

share_outcome database_worker::take() {
  const lock held(lock_);
  while (!outcome_) changed_.wait(lock_);
  share_outcome taken = std::move(*outcome_);
  outcome_.reset();
  return taken;
}

void database_worker::connect_to(const std::string& database) {
  if (node_ != nullptr) node_->connect_to(database);
  options_.database = database;
}

void database_worker::open() {
  try {
    node_ = std::make_unique<postgresql_node>(options_, access_);
  } catch (const store_failure& error) {  // it may be right later
    throw store_unavailable(store_unavailable::kind::not_executed, error.what());
  }
}

share_outcome database_worker::execute(std::span<operation> share) noexcept {
  share_outcome made;
  try {
    if (node_ == nullptr) open();
    made.done = node_->execute(share);
    made.map = node_->map_seen();
    made.next = node_->next();
  } catch (...) {
    made.failure = std::current_exception();
  }
  return made;
}

share_outcome database_worker::read_map() noexcept {
  share_outcome made;
  try {
    made.map_read = node_->read_map();
    made.map = node_->map_seen();
    made.next = node_->next();
  } catch (...) {
    made.failure = std::current_exception();
  }
  return made;
}

share_outcome database_worker::close() noexcept {
  share_outcome made;
  try {
    if (node_ != nullptr) node_->close();
  } catch (...) {
    made.failure = std::current_exception();
  }
  return made;
}

share_outcome database_worker::perform(std::span<operation> share, task what) noexcept {
  switch (what) {
    case task::execute: return execute(share);
    case task::read_map: return read_map();
    case task::close: return close();
  }
  return {};
}

void database_worker::run() noexcept {
  for (;;) {
    std::span<operation> share;
    task what = task::execute;
    {
      const lock held(lock_);
      while (!share_ && !ending_) changed_.wait(lock_);
      if (!share_) return;
      share = *share_;
      what = task_;
    }
    share_outcome made = perform(share, what);
    const lock held(lock_);
    outcome_ = std::move(made);
    share_.reset();
    changed_.notify_all();
  }
}

}  // namespace foliot::jobs::detail
