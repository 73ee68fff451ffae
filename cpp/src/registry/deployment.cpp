#include <roofslate/declare.hpp>
#include <roofslate/quantities/deployment.hpp>

ROOFSLATE_DECLARE(deployment)
