#include <roofslate/declare.hpp>
#include <roofslate/quantities/energy.hpp>

ROOFSLATE_DECLARE(energy)
