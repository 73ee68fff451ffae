// The C++ interface: arrays with named axes in and out.
#pragma once
#include "roofslate/graph/grid.hpp"
#include "roofslate/run/options.hpp"
#include <map>

namespace roofslate
{
    // The quantities over the grid of all axes that the inputs have, each on its own axes only, in the order in which
    // the axes come.
    std::vector<Labelled> evaluate(
        const std::vector<std::string>& quantities,
        const Inputs& inputs,
        const Options& options = {});
    // One value; the inputs are numbers.
    double value(const std::string& quantity, const std::map<std::string, double>& inputs);
}
