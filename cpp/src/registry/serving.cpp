#include <roofslate/declare.hpp>
#include <roofslate/quantities/serving.hpp>

ROOFSLATE_DECLARE(serving)
