#include <roofslate/declare.hpp>
#include <roofslate/quantities/expert_choice.hpp>

ROOFSLATE_DECLARE(expert_choice)
