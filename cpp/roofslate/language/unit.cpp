#include "roofslate/language/unit.hpp"
#include "roofslate/language/error.hpp"
#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace roofslate
{
    namespace
    {
        std::string text_of(double exponent)
        {
            char text[32];
            std::snprintf(text, sizeof text, "%g", exponent);
            return text;
        }
        std::string power_of(std::size_t position, int halves)
        {
            const std::string name(base_units[position].name);
            return halves == 2 ? name : name + "^" + text_of(halves / 2.0);
        }
    }

    std::string spell(const Dimension& dimension)
    {
        std::string above, below;
        std::array<std::size_t, base_unit_count> by_rank{};
        for (std::size_t i = 0; i < base_unit_count; ++i)
        {
            by_rank[std::size_t(base_units[i].rank)] = i;
            if (dimension.halves[i] > 0)
                above += (above.empty() ? "" : "*") + power_of(i, dimension.halves[i]);
        }
        for (const std::size_t i : by_rank)
            if (dimension.halves[i] < 0)
                below += "/" + power_of(i, -dimension.halves[i]);
        return (above.empty() ? "1" : above) + below;
    }
    const Dimension& require_readable(const Dimension& dimension)
    {
        int greatest = 0;
        for (const int halves : dimension.halves)
            greatest = std::max(greatest, std::abs(halves));
        if (greatest > 2 * greatest_exponent)
            throw unit_error(
                "an exponent of " + text_of(greatest / 2.0) + ", in " + spell(dimension) + ", is not supported");
        return dimension;
    }
    Dimension root(const Dimension& dimension)
    {
        const Dimension r = sqrt(dimension);
        if (r.mixed)
            throw unit_error("the square root of " + spell(dimension) + " has no unit: exponents are multiples of 1/2");
        return require_readable(r);
    }
}
