#include <roofslate/declare.hpp>
#include <roofslate/quantities/training_run.hpp>

ROOFSLATE_DECLARE(training_run)
