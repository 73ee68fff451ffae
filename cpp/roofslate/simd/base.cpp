// The oldest x86-64: SSE2.
#define ROOFSLATE_SET base
#define ROOFSLATE_ARCH sse2
#define ROOFSLATE_STRIP 8
#include "roofslate/simd/interpreter.hpp"
