#include <roofslate/declare.hpp>
#include <roofslate/quantities/reversible.hpp>

ROOFSLATE_DECLARE(reversible)
