#include <roofslate/declare.hpp>
#include <roofslate/quantities/speculation.hpp>

ROOFSLATE_DECLARE(speculation)
