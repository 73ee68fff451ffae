#include <roofslate/declare.hpp>
#include <roofslate/quantities/routing.hpp>

ROOFSLATE_DECLARE(routing)
