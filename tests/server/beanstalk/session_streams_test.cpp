// The same session in plain, and simulated without a socket. session_tls_test.cpp has it under TLS.
#include <gtest/gtest.h>

#include "server/beanstalk/session_streams.hpp"

namespace foliot::program::beanstalk {
namespace {

TEST(SessionStreams, InPlain) {
  with_shop([](shop& in) { return live_over(in, plain_ends); });
}

TEST(SessionStreams, Simulated) {
  with_shop([](shop& in) { return live_over(in, simulated_ends); });
}

TEST(SessionStreams, SlowClientsInPlain) {
  with_shop([](shop& in) { return meet_slow_clients(in, plain_ends); });
}

TEST(SessionStreams, SlowClientsSimulated) {
  with_shop([](shop& in) { return meet_slow_clients(in, simulated_ends); });
}

TEST(SessionStreams, ComeInByTheDoor) {
  with_shop([](shop& in) { return come_in(in, listener::in_plain, listener::in_plain); });
}

}  // namespace
}  // namespace foliot::program::beanstalk
