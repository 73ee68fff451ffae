#include <roofslate/declare.hpp>
#include <roofslate/quantities/economics.hpp>

ROOFSLATE_DECLARE(economics)
