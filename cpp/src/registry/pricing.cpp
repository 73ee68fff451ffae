#include <roofslate/declare.hpp>
#include <roofslate/quantities/pricing.hpp>

ROOFSLATE_DECLARE(pricing)
