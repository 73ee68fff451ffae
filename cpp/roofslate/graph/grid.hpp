// The C++ interface: arrays with named axes in and out. Everything with a shape is xtensor's.
#pragma once
#include "roofslate/run/options.hpp"
#include "roofslate/graph/xt.hpp"
#include <map>
#include <string>
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

    // The quantities over the grid of all axes that the inputs have, each on its own axes only, in the order in which the axes come.
    std::vector<Labelled> evaluate(const std::vector<std::string>& quantities, const Inputs& inputs, const Options& options = {});
    // One value; the inputs are numbers.
    double value(const std::string& quantity, const std::map<std::string, double>& inputs);
}
