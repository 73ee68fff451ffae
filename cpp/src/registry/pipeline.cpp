#include <roofslate/declare.hpp>
#include <roofslate/quantities/pipeline.hpp>

ROOFSLATE_DECLARE(pipeline)
