# roofslate::xsimd, from what is installed or from a pinned download.
include_guard(GLOBAL)

option(ROOFSLATE_FETCH_XSIMD "Download xsimd when it is not installed" ON)

add_library(roofslate_xsimd INTERFACE)
add_library(roofslate::xsimd ALIAS roofslate_xsimd)

if(NOT CMAKE_DISABLE_FIND_PACKAGE_xsimd) # Debian's package of xtensor makes the target by itself
  find_package(xsimd 8.0.3 CONFIG QUIET)
endif()
if(TARGET xsimd AND NOT CMAKE_DISABLE_FIND_PACKAGE_xsimd)
  target_link_libraries(roofslate_xsimd INTERFACE xsimd)
elseif(ROOFSLATE_FETCH_XSIMD)
  include(download)
  roofslate_download(xtensor-stack xsimd 14.3.0 b3d50e7a73fbf4642ceef30131c93414901d69eee41c2a5302db650b03e2c792 "libxtensor-dev libxsimd-dev")
  set(xsimd_VERSION 14.3.0)
  target_include_directories(roofslate_xsimd SYSTEM INTERFACE "${roofslate_xsimd_SOURCE}/include")
else()
  message(FATAL_ERROR "xsimd 8.0.3 or newer was not found: install libxsimd-dev (Debian, Ubuntu) or allow the download with -DROOFSLATE_FETCH_XSIMD=ON.")
endif()
message(STATUS "xsimd ${xsimd_VERSION}")
