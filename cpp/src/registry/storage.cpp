#include <roofslate/declare.hpp>
#include <roofslate/quantities/storage.hpp>

ROOFSLATE_DECLARE(storage)
