# foliot's libraries, from this checkout: vcpkg install foliot --overlay-ports=packaging/vcpkg
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS FEATURES
  postgresql FOLIOT_POSTGRESQL
  rocksdb FOLIOT_ROCKSDB
  tls FOLIOT_TLS)

vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DFOLIOT_BUILD_PROGRAMS=OFF -DFOLIOT_BUILD_TESTS=OFF -DFOLIOT_INSTALL=ON ${FEATURE_OPTIONS})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/foliot)
vcpkg_fixup_pkgconfig()

# The check of coroutines, which CMake finds beside the package.
vcpkg_copy_tools(TOOL_NAMES foliot-check-coroutines AUTO_CLEAN)
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
