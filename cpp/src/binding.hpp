// What the files of the binding share.
#pragma once
#include <roofslate/grid.hpp>
#include <roofslate/registry.hpp>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <algorithm>
#include <exception>

namespace roofslate::binding
{
    namespace py = pybind11;
    using Array = py::array_t<double>;
    using Input = std::tuple<std::string, Array, std::vector<std::size_t>>; // quantity, values, axes of the grid

    inline auto adapted(const Array& array) // as xtensor sees it, without a copy
    {
        std::vector<std::size_t> shape;
        std::vector<std::ptrdiff_t> strides;
        for (py::ssize_t d = 0; d < array.ndim(); ++d)
        {
            shape.push_back(std::size_t(array.shape(d)));
            strides.push_back(array.strides(d) / py::ssize_t(sizeof(double)));
        }
        return xt::adapt(array.data(), std::size_t(array.size()), xt::no_ownership(), shape, strides);
    }
    inline std::vector<Supplied> supplied_by(const std::vector<Input>& inputs)
    {
        std::vector<Supplied> supplied;
        for (const auto& [name, array, axes] : inputs)
            supplied.push_back({registry().at(name), view_of(adapted(array), axes)});
        return supplied;
    }

    // Progress and Ctrl-C, asked by the engine from time to time on the calling thread.
    class Reporter
    {
    public:
        explicit Reporter(const py::object& callback) : callback_(callback) {}
        bool operator()(std::size_t done, std::size_t total)
        {
            const py::gil_scoped_acquire gil;
            try
            {
                if (PyErr_CheckSignals() != 0)
                    throw py::error_already_set();
                if (!callback_.is_none())
                    callback_(std::min(done, total), total);
                return true;
            }
            catch (...)
            {
                thrown_ = std::current_exception();
                return false;
            }
        }
        void rethrow() const { std::rethrow_exception(thrown_); }

    private:
        const py::object& callback_;
        std::exception_ptr thrown_;
    };

    // Refuses what would take more memory than is free; says what to do otherwise.
    void promise_memory(double bytes, const char* otherwise);

    void bind_folds(py::module_& m);
    void bind_roots(py::module_& m);
}
