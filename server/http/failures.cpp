#include "failures.hpp"

#include <stdexcept>

#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/job_store.hpp>

#include "inputs.hpp"

namespace foliot::program::http {

namespace {

problem problem_of_store(const jobs::store_unavailable& why) {
  if (!why.is_in_doubt()) return {503, "the store does not answer at present, and nothing has changed: try again"};
  return {500, "the store does not answer, and it is not known whether the request was executed", where::nothing, "",
          problem_outcome::unknown};
}

}  // namespace

problem problem_of_exception() {
  try {
    throw;
  } catch (const wrong_input& error) {
    return error.why();
  } catch (const jobs::broker_full& error) {
    return {503, error.what()};
  } catch (const jobs::broker_closed&) {
    return {503, "the server ends"};
  } catch (const jobs::store_unavailable& error) {
    return problem_of_store(error);
  } catch (const std::invalid_argument& error) {
    return {400, error.what()};
  }
}

}  // namespace foliot::program::http
