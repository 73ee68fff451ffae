#include <roofslate/declare.hpp>
#include <roofslate/quantities/hardware.hpp>

ROOFSLATE_DECLARE(hardware)
