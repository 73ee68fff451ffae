// The C++ interface: arrays with named axes in and out.
#pragma once
#include "roofslate/graph/grid.hpp"
#include "roofslate/run/options.hpp"
#include <map>

namespace roofslate
{
    // The quantities on the grid of all axes of the inputs, each only on its axes, in the order of the axes.
    std::vector<Labelled> evaluate(
        const std::vector<std::string>& quantities,
        const Inputs& inputs,
        const Options& options = {});
    // One value; the inputs are numbers.
    double value(const std::string& quantity, const std::map<std::string, double>& inputs);
}
