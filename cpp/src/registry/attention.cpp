#include <roofslate/declare.hpp>
#include <roofslate/quantities/attention.hpp>

ROOFSLATE_DECLARE(attention)
