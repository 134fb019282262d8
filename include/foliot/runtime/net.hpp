// Sockets for tasks: all of foliot/runtime/net.
#pragma once

#include <foliot/runtime/net/address.hpp>
#include <foliot/runtime/net/buffered_reader.hpp>
#include <foliot/runtime/net/connection.hpp>
#include <foliot/runtime/net/deadlines.hpp>
#include <foliot/runtime/net/io_error.hpp>
#include <foliot/runtime/net/listener.hpp>
#include <foliot/runtime/net/name_error.hpp>
#include <foliot/runtime/net/names.hpp>
#include <foliot/runtime/net/stream.hpp>
#include <foliot/runtime/net/udp_socket.hpp>
#include <foliot/runtime/net/watched_descriptor.hpp>
