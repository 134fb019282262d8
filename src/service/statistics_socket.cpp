#include <foliot/service/statistics_socket.hpp>

#include <utility>

#include <foliot/service/statistics_text.hpp>

namespace foliot::inline service {

statistics_socket::statistics_socket(const timer_service& timers, std::string path)
    : socket_(std::move(path), "foliot-stats", [&timers] {
        return statistics_text({.statistics = timers.statistics(), .slowest = timers.slowest_callbacks()});
      }) {}

}  // namespace foliot::inline service
