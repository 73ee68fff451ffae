#include "roofslate/run/inspector.hpp"
#include "roofslate/language/error.hpp"
#include "roofslate/simd/instructions.hpp"
#include <algorithm>

namespace roofslate
{
    Inspector::Inspector(
        const Registry& registry,
        const std::vector<Supplied>& supplied,
        const std::vector<std::size_t>& shape,
        const std::vector<std::string>& columns)
    {
        const auto view_of_column = [&](int quantity) -> const View* {
            for (const Supplied& s : supplied)
                if (s.quantity == quantity && s.view.axes
                    && std::find(columns.begin(), columns.end(), registry[quantity].name) != columns.end())
                    return &s.view;
            return nullptr;
        };
        for (const std::string& column : columns)
        {
            const Entry& e = registry[registry.at(column)];
            const View* const view = view_of_column(registry.at(column));
            if (shape.size() != 1 || !view || (shape[0] > 1 && view->stride[0] != 1))
                throw axis_error("column '" + column + "' is not one contiguous axis");
            columns_.push_back({e.spec, view->data});
            if (const View* const limit = e.bound < 0 ? nullptr : view_of_column(e.bound))
                bounds_.push_back({view->data, limit->data});
        }
    }
    void Inspector::operator()(std::size_t begin, std::size_t end)
    {
        const InstructionSet& set = instruction_set();
        std::size_t outside = 0;
        for (const auto& [spec, data] : columns_)
            outside += set.outside(data + begin, end - begin, spec->low, spec->high, spec->above_low);
        for (const auto& [value, limit] : bounds_)
            outside += set.above(value + begin, limit + begin, end - begin);
        outside_ += outside;
    }
}
