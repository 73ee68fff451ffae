#include <roofslate/declare.hpp>
#include <roofslate/quantities/racks.hpp>

ROOFSLATE_DECLARE(racks)
