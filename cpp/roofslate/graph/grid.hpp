// Arrays with named axes, and how the engine reads them. Everything with a shape is xtensor's.
#pragma once
#include "roofslate/graph/graph.hpp"
#include "roofslate/graph/xt.hpp"
#include <string>
#include <utility>
#include <vector>

namespace roofslate
{
    // Any strided array, along the given axes of the grid, as the engine reads it: without a copy.
    template <class Array> View view_of(const Array& array, const std::vector<std::size_t>& axes)
    {
        View view;
        view.data = array.data() + array.data_offset();
        for (std::size_t d = 0; d < axes.size(); ++d)
        {
            view.axes |= AxisSet(1) << axes[d];
            view.stride[axes[d]] = array.shape()[d] > 1 ? std::ptrdiff_t(array.strides()[d]) : 0;
        }
        return view;
    }

    struct Labelled // an array and the names of its axes
    {
        xt::xarray<double> values;
        std::vector<std::string> axes;
    };
    using Inputs = std::vector<std::pair<std::string, Labelled>>;
}
