# What a build by emscripten needs: one thread, the base instruction set by WebAssembly's vectors, exceptions of
# WebAssembly's own (docs/development/web-engine.md).
include_guard(GLOBAL)

add_compile_options(-msimd128 -msse2 -fwasm-exceptions)
# after -Wshadow of all targets: to clang, unlike gcc, a local hides a static member
set(ROOFSLATE_NO_WARNINGS -Wno-shadow)
add_link_options(-fwasm-exceptions)
include_directories(BEFORE SYSTEM "${CMAKE_CURRENT_SOURCE_DIR}/cpp/cmake/emscripten")
set(CMAKE_POSITION_INDEPENDENT_CODE OFF) # a module is loaded alone
set(CMAKE_CROSSCOMPILING_EMULATOR node) # emscripten's own adds a flag that newer ones refuse
set(memory -sALLOW_MEMORY_GROWTH=1 -sMAXIMUM_MEMORY=4GB)

# Header libraries that are installed for this machine, away from its C headers, which would hide emscripten's. Those
# that are not installed are downloaded as ever.
file(GLOB configs RELATIVE /usr /usr/lib/*/cmake/xtensor /usr/lib/*/cmake/xsimd /usr/share/cmake/xtl)
foreach(config IN LISTS configs)
  get_filename_component(package "${config}" NAME)
  get_filename_component(folder "${config}" DIRECTORY)
  file(COPY "/usr/${config}" DESTINATION "${CMAKE_BINARY_DIR}/headers/${folder}")
  file(COPY "/usr/include/${package}" DESTINATION "${CMAKE_BINARY_DIR}/headers/include")
  set(${package}_DIR "${CMAKE_BINARY_DIR}/headers/${config}" CACHE PATH "Where ${package} was copied to" FORCE)
endforeach()

# Makes engine.wasm, which imports nothing but the few functions that engine.js has.
function(roofslate_add_engine)
  add_executable(roofslate_engine $<TARGET_OBJECTS:roofslate_web>)
  target_link_libraries(roofslate_engine PRIVATE roofslate_core)
  target_link_options(roofslate_engine PRIVATE ${memory} -sSTANDALONE_WASM --no-entry)
  set_target_properties(roofslate_engine PROPERTIES OUTPUT_NAME engine SUFFIX .wasm)
endfunction()

# Makes a program that Node runs, with the files of this machine.
function(roofslate_runs_in_node target)
  target_link_options(${target} PRIVATE ${memory} -sNODERAWFS=1 -sEXIT_RUNTIME=1)
endfunction()
