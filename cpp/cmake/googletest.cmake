# GTest::gtest_main, from what is installed or from a pinned download.
include_guard(GLOBAL)

find_package(GTest 1.12 CONFIG QUIET)
if(NOT TARGET GTest::gtest_main)
  set(roofslate_googletest_SOURCE /usr/src/googletest) # Debian's sources, for another machine than this one
  if(NOT EXISTS "${roofslate_googletest_SOURCE}/CMakeLists.txt")
    include(download)
    roofslate_download(google googletest v1.17.0 65fab701d9829d38cb77c14acdc431d2108bfdbf8979e40eb8ae567edf10b27c libgtest-dev)
  endif()
  set(INSTALL_GTEST OFF CACHE INTERNAL "")
  set(BUILD_GMOCK OFF CACHE INTERNAL "")
  add_subdirectory("${roofslate_googletest_SOURCE}" "${CMAKE_BINARY_DIR}/googletest" EXCLUDE_FROM_ALL)
endif()
