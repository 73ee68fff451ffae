# roofslate::xtensor, from what is installed (Debian, conda-forge, Homebrew, vcpkg) or from a pinned download.
include_guard(GLOBAL)

option(ROOFSLATE_FETCH_XTENSOR "Download xtensor when it is not installed" ON)

add_library(roofslate_xtensor INTERFACE)
add_library(roofslate::xtensor ALIAS roofslate_xtensor)

find_package(xtensor 0.24.3 CONFIG QUIET)
if(TARGET xtensor)
  target_link_libraries(roofslate_xtensor INTERFACE xtensor)
elseif(ROOFSLATE_FETCH_XTENSOR)
  # xtl of the same age: an installed older one does not fit.
  include(download)
  roofslate_download(xtensor-stack xtl 0.8.2 8fb38d6a5856aab5740d2ccb3d791d289f648d4cc506b94a1338fe5fce100c11 "libxtensor-dev libxsimd-dev")
  roofslate_download(xtensor-stack xtensor 0.27.1 117c192ae3b7c37c0156dedaa88038e0599a6b264666c3c6c2553154b500fe23 "libxtensor-dev libxsimd-dev")
  set(xtensor_VERSION 0.27.1)
  target_include_directories(roofslate_xtensor SYSTEM INTERFACE "${roofslate_xtl_SOURCE}/include" "${roofslate_xtensor_SOURCE}/include")
else()
  message(FATAL_ERROR "xtensor 0.24.3 or newer was not found: install libxtensor-dev (Debian, Ubuntu) or allow the download with -DROOFSLATE_FETCH_XTENSOR=ON.")
endif()
message(STATUS "xtensor ${xtensor_VERSION}")

# xtensor 0.27 needs C++20. Older releases compile as C++20, but their reducers then crash at run time.
if(xtensor_VERSION VERSION_LESS 0.27)
  set(CMAKE_CXX_STANDARD 17)
else()
  set(CMAKE_CXX_STANDARD 20)
endif()
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
