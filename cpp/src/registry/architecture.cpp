#include <roofslate/declare.hpp>
#include <roofslate/quantities/architecture.hpp>

ROOFSLATE_DECLARE(architecture)
