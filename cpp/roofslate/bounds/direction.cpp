#include "roofslate/bounds/direction.hpp"

namespace roofslate
{
    Direction direction_along(const View& view, const std::vector<std::size_t>& shape, int axis)
    {
        std::array<std::size_t, most_axes> at{};
        const std::ptrdiff_t step = view.stride[std::size_t(axis)];
        bool rises = true, falls = true; // or stays
        for (bool more = true; more && (rises || falls);)
        {
            std::ptrdiff_t offset = 0;
            for (std::size_t k = 0; k < shape.size(); ++k)
                offset += (view.axes >> k & 1) ? std::ptrdiff_t(at[k]) * view.stride[k] : 0;
            for (std::size_t i = 1; i < shape[std::size_t(axis)]; ++i, offset += step)
                rises = rises && view.data[offset] <= view.data[offset + step],
                falls = falls && view.data[offset] >= view.data[offset + step];
            more = false;
            for (std::size_t k = shape.size(); k-- > 0 && !more;)
                if (int(k) != axis && (view.axes >> k & 1))
                    more = ++at[k] < shape[k], at[k] = more ? at[k] : 0;
        }
        return rises && falls ? Direction::constant
            : rises           ? Direction::nondecreasing
            : falls
            ? Direction::nonincreasing
            : Direction::unknown;
    }
}
