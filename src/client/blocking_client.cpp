#include <foliot/client/blocking_client.hpp>

#include <new>

#include <foliot/runtime/run_options.hpp>
#include <foliot/runtime/runtime_ended.hpp>

namespace foliot::client {

namespace {

runtime::run_options one_processor() {
  runtime::run_options options;
  options.processors = 1;
  return options;
}

}  // namespace

blocking_client::blocking_client(client_options options)
    : background_(one_processor()),
      handle_(background_.handle()),
      client_(std::make_unique<job_client>(std::move(options))) {}

blocking_client::~blocking_client() {
  try {
    handle_.call([this] { client_->close(); });
  } catch (const runtime::runtime_ended&) {
    static_cast<void>(client_.release());  // the child of a fork has the memory, and not the runtime
  } catch (const std::bad_alloc&) {        // the connection ends with the client, as well
  }
}

bool blocking_client::holds(const jobs::reservation& token) const {
  return handle_.call([this, token] { return client_->holds(token); });
}

}  // namespace foliot::client
