#pragma once
#include <roofslate/quantities/economics.hpp>

namespace roofslate::quantities
{
    using routing = list<>;
}
