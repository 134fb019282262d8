// Places in sources as reports name them.
#include "place_text.hpp"

#include <gtest/gtest.h>

namespace foliot::detail {
namespace {

TEST(PlaceText, KnowsTheHeadersOfTheStandardLibrary) {
  EXPECT_TRUE(is_in_standard_library("/usr/include/c++/12/tuple"));
  EXPECT_TRUE(is_in_standard_library("/usr/lib/gcc/x86_64-linux-gnu/12/../../../../include/c++/12/bits/stl_pair.h"));
  EXPECT_TRUE(is_in_standard_library("/opt/gcc/include/c++/12.2.0/tuple"));
  EXPECT_TRUE(is_in_standard_library("/opt/conda/x86_64-conda-linux-gnu/include/c++/12.3.0/tuple"));
  EXPECT_TRUE(is_in_standard_library("/opt/conda/lib/gcc/x86_64-conda-linux-gnu/12.3.0/include/c++/tuple"));
  EXPECT_TRUE(is_in_standard_library("/opt/conda/lib/gcc/x86_64-conda-linux-gnu/12.3.0/include/c++/bits/stl_pair.h"));
  EXPECT_TRUE(is_in_standard_library("/usr/lib/gcc/x86_64-pc-linux-gnu/12/include/g++-v12/tuple"));
  EXPECT_TRUE(is_in_standard_library("/usr/lib/llvm-19/bin/../include/c++/v1/__memory/construct_at.h"));
}

TEST(PlaceText, AFolderOfTheUsersIsNone) {
  EXPECT_FALSE(is_in_standard_library("/opt/shop/include/c++/server.hpp"));
  EXPECT_FALSE(is_in_standard_library("/opt/shop/include/c++/video/server.hpp"));
  EXPECT_FALSE(is_in_standard_library("/opt/shop/include/c++/2fast.hpp"));
  EXPECT_FALSE(is_in_standard_library("/opt/shop/include/c++/12"));
  EXPECT_FALSE(is_in_standard_library("/opt/shop/include/g++-v12"));
  EXPECT_FALSE(is_in_standard_library("/opt/shop/include/g++-video/server.hpp"));
  EXPECT_FALSE(is_in_standard_library("/opt/shop/12/include/c++/server.hpp"));
  EXPECT_FALSE(is_in_standard_library("/gcc/shop/include/c++/server.hpp"));
  EXPECT_FALSE(is_in_standard_library("/include/c++/server.hpp"));
  EXPECT_FALSE(is_in_standard_library("server.cpp"));
  EXPECT_FALSE(is_in_standard_library(""));
}

}  // namespace
}  // namespace foliot::detail
