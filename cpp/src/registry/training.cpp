#include <roofslate/declare.hpp>
#include <roofslate/quantities/training.hpp>

ROOFSLATE_DECLARE(training)
