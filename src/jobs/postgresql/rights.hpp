// The rights that the role of a node needs: the one list of them. docs/serve/nodes.md grants them, and a test compares
// that page with this list.
#pragma once

#include <string>

#include <foliot/core/instant.hpp>

namespace foliot::jobs::detail {

class database_connection;

/// The rights that the role of this connection lacks, such as "DELETE on foliot.pause; EXECUTE on foliot.rotate";
/// empty: none. Objects that a schema of another version does not have are left out. One statement, which needs no
/// right itself.
[[nodiscard]] std::string missing_rights(database_connection& over, instant deadline);

}  // namespace foliot::jobs::detail
