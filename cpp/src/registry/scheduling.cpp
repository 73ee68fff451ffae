#include <roofslate/declare.hpp>
#include <roofslate/quantities/scheduling.hpp>

ROOFSLATE_DECLARE(scheduling)
