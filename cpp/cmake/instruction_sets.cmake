# The instruction sets: the one list from which the build and the core's choice derive (docs/development/add-an-instruction-set.md).
include_guard(GLOBAL)

# Best first. Of each its name, the processors, and the features that cpp/roofslate/simd/<name>.cpp is compiled with and
# that the core asks the CPU for.
set(roofslate_instruction_sets
  "avx512 x86_64 avx512f avx512bw avx512cd avx512dq avx512vl avx2 fma"
  "avx2 x86_64 avx2 fma"
  "base x86"
  "neon arm64")

# Adds the objects of the sets for this processor to `target`, with a source that lists them.
# An object a set, without xtensor, whose inline functions the linker would merge across instruction sets. A Debug build
# has the sets without features alone: at -O0 inline functions are emitted, and AVX code could leak into the baseline in
# the same way.
function(roofslate_add_instruction_sets target)
  set(processor x86)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64|ARM64)$")
    set(processor arm64)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    set(processor x86_64)
  endif()
  set(declarations)
  set(candidates)
  foreach(line IN LISTS roofslate_instruction_sets)
    separate_arguments(features UNIX_COMMAND "${line}")
    list(POP_FRONT features name of_processors)
    if(NOT processor MATCHES "^${of_processors}")
      continue()
    endif()
    if(features AND (NOT CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang" OR CMAKE_BUILD_TYPE STREQUAL "Debug"))
      continue()
    endif()
    set(flags)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # to dispatch an instruction takes as long as a few vectors: its place in a cache line shows, by up to 20 %
      list(APPEND flags -falign-loops=64 -falign-jumps=32)
    endif()
    set(supported true)
    foreach(feature IN LISTS features)
      list(APPEND flags "-m${feature}")
      string(APPEND supported " && __builtin_cpu_supports(\"${feature}\")")
    endforeach()
    add_library(roofslate_${name} OBJECT "cpp/roofslate/simd/${name}.cpp")
    target_compile_options(roofslate_${name} PRIVATE ${flags})
    target_link_libraries(roofslate_${name} PRIVATE roofslate_flags roofslate::xsimd)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:roofslate_${name}>)
    string(APPEND declarations "    namespace ${name} { extern const InstructionSet set; }\n")
    string(APPEND candidates "            {&${name}::set, [] { return ${supported}; }},\n")
  endforeach()
  set(source "${CMAKE_CURRENT_BINARY_DIR}/instruction_sets/candidates.cpp")
  file(CONFIGURE OUTPUT "${source}" @ONLY CONTENT "#include \"roofslate/simd/candidates.hpp\"

namespace roofslate
{
${declarations}
    const std::vector<Candidate>& instruction_set_candidates()
    {
        static const std::vector<Candidate> all{
${candidates}        };
        return all;
    }
}
")
  target_sources(${target} PRIVATE "${source}")
endfunction()

# Sources of all sets, those for other processors with them, relative to the top folder.
function(roofslate_instruction_set_sources variable)
  list(TRANSFORM roofslate_instruction_sets REPLACE "^([^ ]+) .*" "cpp/roofslate/simd/\\1.cpp" OUTPUT_VARIABLE sources)
  set(${variable} "${sources}" PARENT_SCOPE)
endfunction()
