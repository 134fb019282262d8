#include <foliot/runtime/statistics_socket.hpp>

#include <utility>

#include <foliot/runtime/detail/reports.hpp>
#include <foliot/runtime/statistics_text.hpp>

namespace foliot::runtime {

runtime_statistics_socket::runtime_statistics_socket(const runtime_handle& of, std::string path)
    : socket_(std::move(path), "foliot-stats", [gate = of.shared_gate()]() -> std::string {
        const detail::runtime_gate::guest inside(*gate);
        if (!inside) return {};
        return statistics_text(
            {.statistics = detail::statistics_of(*inside), .tasks = detail::task_groups_of(*inside)});
      }) {}

}  // namespace foliot::runtime
