# What `cmake --install` places, and the package behind find_package(attnc).
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/attnc)
install(TARGETS attnc EXPORT attncTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/attnc DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT attncTargets NAMESPACE attnc:: DESTINATION ${package_dir})
configure_package_config_file(attncConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/attncConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/attncConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/attncConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/attncConfigVersion.cmake
        DESTINATION ${package_dir})
