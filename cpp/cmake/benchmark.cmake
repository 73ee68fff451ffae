# benchmark::benchmark_main, from what is installed or from a pinned download.
include_guard(GLOBAL)

find_package(benchmark 1.7 CONFIG QUIET)
if(NOT TARGET benchmark::benchmark_main)
  include(download)
  roofslate_download(google benchmark v1.9.5 9631341c82bac4a288bef951f8b26b41f69021794184ece969f8473977eaa340 libbenchmark-dev)
  set(BENCHMARK_ENABLE_TESTING OFF CACHE INTERNAL "")
  set(BENCHMARK_ENABLE_INSTALL OFF CACHE INTERNAL "")
  add_subdirectory("${roofslate_benchmark_SOURCE}" "${CMAKE_BINARY_DIR}/benchmark" EXCLUDE_FROM_ALL)
endif()
