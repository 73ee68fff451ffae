#include <roofslate/declare.hpp>
#include <roofslate/quantities/context.hpp>

ROOFSLATE_DECLARE(context)
