// The part of both_asio_test.cpp that uses Boost.Asio.
#include <foliot/adapters/boost_asio_timer.hpp>

#include <boost/asio/io_context.hpp>

#include <chrono>

#include "both_asio.hpp"

namespace foliot::test {

std::vector<int> with_boost_asio() {
  std::vector<int> outcomes;
  boost::asio::io_context context;
  boost_asio_timer soon(context, std::chrono::microseconds(1));
  boost_asio_timer hour(context, std::chrono::hours(1));
  hour.async_wait([&](boost::system::error_code error) { outcomes.push_back(error ? -2 : 2); });
  soon.async_wait([&](boost::system::error_code error) {
    outcomes.push_back(error ? -1 : 1);
    hour.cancel();
  });
  context.run();
  return outcomes;
}

}  // namespace foliot::test
