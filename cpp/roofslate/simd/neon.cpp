// 64-bit ARM.
#define ROOFSLATE_SET neon
#define ROOFSLATE_ARCH neon64
#define ROOFSLATE_STRIP 8
#include "roofslate/simd/interpreter.hpp"
